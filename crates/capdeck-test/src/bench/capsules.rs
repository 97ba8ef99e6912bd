//! The numbers of `bench/capsules`, as written to `bench/results/capsules.json`, and how they are shown.

use std::fs;

use serde::{Deserialize, Serialize};

use super::report::{grouped, micros, replace_between};

/// Everything between these two lines is written by the benchmark.
pub const CAPSULE_BLOCK_START: &str = "<!-- figures: written by bench/capsules -->";
/// The end of the block.
pub const CAPSULE_BLOCK_END: &str = "<!-- end of the capsules' figures -->";

/// Everything one run measured.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CapsuleFigures {
    pub processor: String,
    pub cores: usize,
    /// `release`, or `debug` for a trial that says little about times.
    pub build: String,
    pub entries: usize,
    /// Every write is on the disk before it is answered.
    pub writes: Vec<CapsuleRow>,
    /// An entry with what is known about it.
    pub reads: Vec<CapsuleRow>,
    /// The same for a caller: with its bands, and a line in the audit.
    pub recorded_reads: Vec<CapsuleRow>,
    pub search: CapsuleComparison,
    pub open: OpenFigures,
}

/// One kind of work by some callers at once.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CapsuleRow {
    pub callers: usize,
    #[serde(flatten)]
    pub sides: CapsuleComparison,
}

/// The same work done by both.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CapsuleComparison {
    pub capsule: ClosedLoop,
    pub sqlite: ClosedLoop,
}

/// A closed loop of calls.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClosedLoop {
    pub calls: usize,
    pub per_second: f64,
    pub p50_us: f64,
    pub p99_us: f64,
}

/// Milliseconds until all entries can be asked for.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OpenFigures {
    pub capsule_ms: f64,
    /// The first search makes the index.
    pub first_search_ms: f64,
    pub sqlite_ms: f64,
}

impl CapsuleFigures {
    /// What the machine calls its processor.
    pub fn processor_name() -> String {
        let processors = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let model = processors.lines().find(|line| line.starts_with("model name"));
        let name = model.and_then(|line| line.split_once(':')).map(|(_, name)| name.trim());
        name.unwrap_or("an unknown processor").to_owned()
    }
}

/// The figures as Markdown.
pub fn render_capsules(figures: &CapsuleFigures) -> String {
    let build = match figures.build.as_str() {
        "release" => String::new(),
        other => format!(" ({other} build)"),
    };
    let mut text = format!(
        "Measured on {} ({} cores){build}, {} entries.\n\n| | callers | capsule p50 / p99 | SQLite p50 / p99 | capsule calls/s | SQLite calls/s |\n|---|--:|--:|--:|--:|--:|\n",
        figures.processor,
        figures.cores,
        grouped(figures.entries),
    );
    for (what, rows) in [
        ("write, on the disk", &figures.writes),
        ("read", &figures.reads),
        ("read with bands, recorded", &figures.recorded_reads),
    ] {
        for row in rows {
            text.push_str(&line(what, row.callers, &row.sides));
        }
    }
    text.push_str(&line("search", 1, &figures.search));
    let OpenFigures { capsule_ms, first_search_ms, sqlite_ms } = figures.open;
    text.push_str(&format!(
        "\nFrom opening to the first answer: capsule {capsule_ms:.0} ms, SQLite {sqlite_ms:.0} ms. The first search makes the capsule's index: {first_search_ms:.0} ms."
    ));
    text
}

fn line(what: &str, callers: usize, sides: &CapsuleComparison) -> String {
    let times = |side: &ClosedLoop| format!("{} / {}", micros(side.p50_us), micros(side.p99_us));
    let rate = |side: &ClosedLoop| grouped(side.per_second.round() as usize);
    let CapsuleComparison { capsule, sqlite } = sides;
    format!(
        "| {what} | {callers} | {} | {} | {} | {} |\n",
        times(capsule),
        times(sqlite),
        rate(capsule),
        rate(sqlite)
    )
}

/// The document with these figures, if it has a place for them.
pub fn replace_capsule_block(document: &str, block: &str) -> Option<String> {
    replace_between(document, CAPSULE_BLOCK_START, CAPSULE_BLOCK_END, block)
}
