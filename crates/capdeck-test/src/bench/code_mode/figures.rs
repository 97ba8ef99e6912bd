//! The figures of code mode, as written to `bench/results/code-mode.json`, and as tables.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::super::{MachineInfo, load::percentile, report::grouped, report::replace_between};

/// Everything between these two lines is written by the benchmark.
pub const CODE_BLOCK_START: &str = "<!-- figures: written by bench/code-mode -->";
/// The end of the block.
pub const CODE_BLOCK_END: &str = "<!-- end of the code mode figures -->";

/// Everything one run measured.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CodeModeFigures {
    pub machine: MachineInfo,
    /// `release`, or `debug` for a trial that says little about times.
    pub build: String,
    pub peer: Option<String>,
    pub runs: Vec<RunFigures>,
    #[serde(default)]
    pub many_callers: Vec<CallersFigures>,
    pub footprint: MemoryFootprint,
    pub surface: Vec<SurfaceTokens>,
    pub peer_surface_tokens: Option<usize>,
    pub attacks: Vec<AttackFigures>,
}

/// One kind of run, as a client on pipes sees it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunFigures {
    pub what: String,
    /// The same calls made by name, through the same host.
    pub direct: Option<DurationSpread>,
    pub capdeck: DurationSpread,
    pub peer: Option<DurationSpread>,
}

/// Durations in milliseconds.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DurationSpread {
    pub p50_ms: f64,
    pub p95_ms: f64,
}

impl DurationSpread {
    pub(in crate::bench) fn of(mut samples: Vec<Duration>) -> Self {
        samples.sort_unstable();
        let at = |share| percentile(&samples, share).as_secs_f64() * 1e3;
        Self { p50_ms: at(0.5), p95_ms: at(0.95) }
    }
}

/// Runs of many callers at once, without a session id and with one call each.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallersFigures {
    pub callers: usize,
    pub runs_per_second: f64,
    pub p50_ms: f64,
    pub p99_ms: f64,
    /// Of all processes of the host afterwards, in bytes, with shared pages by share.
    pub tree_memory: u64,
}

/// Memory of a session that has run a cell, in bytes, the mean of some.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MemoryFootprint {
    pub sessions: usize,
    /// What no other process uses.
    pub private: u64,
    /// With shared pages by share.
    pub proportional: u64,
}

/// Tokens (o200k) of what `tools/list` answers with code mode alone.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SurfaceTokens {
    pub capabilities: usize,
    pub tokens: usize,
}

/// How another client's calls fare while a script misbehaves.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AttackFigures {
    pub attack: String,
    /// How the script ended.
    pub outcome: String,
    pub calls: usize,
    pub p50_ms: f64,
    pub longest_ms: f64,
}

/// The figures as Markdown.
pub fn render_code_mode(figures: &CodeModeFigures) -> String {
    let machine = &figures.machine;
    let build = match figures.build.as_str() {
        "release" => String::new(),
        other => format!(" ({other} build)"),
    };
    let mut text = format!(
        "Measured on {} ({} cores), {}{build}, over pipes, as the client sees it.\n\n",
        machine.processor, machine.cores, machine.capdeck
    );
    text.push_str(&runs(figures));
    text.push_str(&many_callers(figures));
    let footprint = &figures.footprint;
    text.push_str(&format!(
        "A session that holds something costs {:.1} MB of memory of its own ({:.1} MB with its share of shared pages; mean of {}).\n\n",
        footprint.private as f64 / 1e6,
        footprint.proportional as f64 / 1e6,
        footprint.sessions,
    ));
    text.push_str(&surface(figures));
    text.push_str(&attacks(figures));
    text.trim_end().to_owned()
}

fn runs(figures: &CodeModeFigures) -> String {
    let peer = figures.peer.as_deref().unwrap_or("no peer");
    let mut table = format!(
        "| run | the calls themselves, p50 | Capdeck p50 / p95 | over the calls | {peer} p50 / p95 |\n|---|--:|--:|--:|--:|\n"
    );
    for row in &figures.runs {
        let alone = row.direct.map_or(String::new(), |direct| format!("{:.2} ms", direct.p50_ms));
        let over = row.direct.map_or(String::new(), |direct| {
            format!("{:.2} ms", row.capdeck.p50_ms - direct.p50_ms)
        });
        let peer = row.peer.map_or(String::new(), both);
        table.push_str(&format!(
            "| {} | {alone} | {} | {over} | {peer} |\n",
            row.what,
            both(row.capdeck)
        ));
    }
    table.push('\n');
    table
}

fn many_callers(figures: &CodeModeFigures) -> String {
    if figures.many_callers.is_empty() {
        return String::new();
    }
    let mut table = String::from(
        "| callers over HTTP, without a session id, a call each | runs a second | p50 / p99 | memory of all processes |\n|--:|--:|--:|--:|\n",
    );
    for row in &figures.many_callers {
        table.push_str(&format!(
            "| {} | {} | {:.2} / {:.2} ms | {:.0} MB |\n",
            row.callers,
            grouped(row.runs_per_second as usize),
            row.p50_ms,
            row.p99_ms,
            row.tree_memory as f64 / 1e6
        ));
    }
    table.push('\n');
    table
}

fn both(spread: DurationSpread) -> String {
    format!("{:.2} / {:.2} ms", spread.p50_ms, spread.p95_ms)
}

fn surface(figures: &CodeModeFigures) -> String {
    let mut table = String::from("| standing tokens (o200k) of code mode | |\n|---|--:|\n");
    for row in &figures.surface {
        let noun = if row.capabilities == 1 { "capability" } else { "capabilities" };
        table.push_str(&format!("| {} {noun} | {} |\n", grouped(row.capabilities), row.tokens));
    }
    if let (Some(peer), Some(tokens)) = (&figures.peer, figures.peer_surface_tokens) {
        table.push_str(&format!("| {peer} | {tokens} |\n"));
    }
    table.push('\n');
    table
}

fn attacks(figures: &CodeModeFigures) -> String {
    let mut table = String::from(
        "| while a script of one client does this | another client's calls p50 | longest | the script ends with |\n|---|--:|--:|---|\n",
    );
    for row in &figures.attacks {
        table.push_str(&format!(
            "| {} | {:.2} ms | {:.1} ms | {} |\n",
            row.attack, row.p50_ms, row.longest_ms, row.outcome
        ));
    }
    table.push('\n');
    table
}

/// The document with its block replaced. `None` when it has no block.
pub fn replace_code_block(document: &str, block: &str) -> Option<String> {
    replace_between(document, CODE_BLOCK_START, CODE_BLOCK_END, block)
}
