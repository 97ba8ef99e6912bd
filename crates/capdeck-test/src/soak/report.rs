//! What a soak showed, and whether that is good.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::bench::replace_between;

use super::{HostSample, KindFigures, SoakSettings, tally::SoakTally};

/// Everything one soak found. Written to `bench/results/soak.json`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SoakFigures {
    pub seconds: u64,
    pub clients: usize,
    pub children: usize,
    pub profile: String,
    /// Rounds of misbehaviour by all clients.
    pub rounds: u64,
    pub kinds: BTreeMap<String, KindFigures>,
    pub baseline: HostSample,
    pub peak: HostSample,
    pub after: HostSample,
    pub resident: FigureGrowth,
    /// What was not as it should be; empty when all is well.
    pub violations: Vec<String>,
}

/// A figure in the first and in the last third of the run, after a tenth for warming up.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FigureGrowth {
    pub first_third: u64,
    pub last_third: u64,
}

/// Shorter runs say nothing about memory: buffers and caches are still filling.
const SHORTEST_FOR_MEMORY: u64 = 120;

/// Memory is flat within this share and this many bytes.
const FLAT_SHARE: u64 = 10;
const FLAT_BYTES: u64 = 4_000_000;

pub(super) fn judge(
    settings: SoakSettings,
    tally: &SoakTally,
    baseline: HostSample,
    samples: &[HostSample],
    after: HostSample,
) -> SoakFigures {
    let kinds = tally.figures();
    let mut violations = Vec::new();
    for (kind, figures) in &kinds {
        if figures.late > 0 {
            violations.push(format!("{kind}: {} answers were late", figures.late));
        }
        if figures.wrong > 0 {
            violations.push(format!("{kind}: {} answers were wrong", figures.wrong));
        }
    }
    for (what, before, now) in [
        ("processes", baseline.processes, after.processes),
        ("descriptors", baseline.descriptors, after.descriptors),
        ("threads", baseline.threads, after.threads),
        ("connections", baseline.connections, after.connections),
        ("sessions", baseline.sessions, after.sessions),
        ("requests", baseline.requests, after.requests),
        ("streams", baseline.streams, after.streams),
        ("suspended calls", baseline.suspended_calls, after.suspended_calls),
    ] {
        if now > before {
            violations.push(format!("{what}: {before} before, {now} afterwards"));
        }
    }
    if settings.judges_memory && !after.has_memory_of(&baseline) {
        violations.push(format!(
            "memory: {} bytes before, {} afterwards",
            baseline.proportional_bytes, after.proportional_bytes
        ));
    }
    let resident = growth(samples);
    let seconds = settings.duration.as_secs();
    let allowed = resident.first_third + resident.first_third / FLAT_SHARE + FLAT_BYTES;
    if seconds >= SHORTEST_FOR_MEMORY && resident.last_third > allowed {
        violations.push(format!(
            "memory grew from {} to {} bytes",
            resident.first_third, resident.last_third
        ));
    }
    SoakFigures {
        seconds,
        clients: settings.clients,
        children: super::children::COUNT,
        profile: if cfg!(debug_assertions) { "debug" } else { "release" }.to_owned(),
        rounds: kinds.values().map(|figures| figures.rounds).sum(),
        kinds,
        baseline,
        peak: peak(samples),
        after,
        resident,
        violations,
    }
}

fn growth(samples: &[HostSample]) -> FigureGrowth {
    let warm = samples.get(samples.len() / 10..).unwrap_or_default();
    let third = warm.len() / 3;
    let median = |part: &[HostSample]| {
        let mut sizes: Vec<u64> = part.iter().map(|sample| sample.resident_bytes).collect();
        sizes.sort_unstable();
        sizes.get(sizes.len() / 2).copied().unwrap_or_default()
    };
    FigureGrowth {
        first_third: median(warm.get(..third).unwrap_or_default()),
        last_third: median(warm.get(warm.len() - third..).unwrap_or_default()),
    }
}

fn peak(samples: &[HostSample]) -> HostSample {
    samples.iter().fold(HostSample::default(), |peak, sample| HostSample {
        processes: peak.processes.max(sample.processes),
        descriptors: peak.descriptors.max(sample.descriptors),
        threads: peak.threads.max(sample.threads),
        resident_bytes: peak.resident_bytes.max(sample.resident_bytes),
        proportional_bytes: peak.proportional_bytes.max(sample.proportional_bytes),
        connections: peak.connections.max(sample.connections),
        sessions: peak.sessions.max(sample.sessions),
        requests: peak.requests.max(sample.requests),
        streams: peak.streams.max(sample.streams),
        suspended_calls: peak.suspended_calls.max(sample.suspended_calls),
    })
}

/// The document with its block of soak figures replaced. `None` when it has none.
pub fn replace_soak_block(document: &str, block: &str) -> Option<String> {
    const START: &str = "<!-- figures: written by bench/soak -->";
    const END: &str = "<!-- end of the soak's figures -->";
    replace_between(document, START, END, block)
}

/// The figures as Markdown. The same figures always give the same text.
pub fn render_soak(figures: &SoakFigures) -> String {
    let mut text = format!(
        "{} badly behaved clients and {} children for {}, with a reload every two seconds ({} build): {} rounds, {}.\n\n\
         | | before | at most | afterwards |\n|---|--:|--:|--:|\n",
        figures.clients,
        figures.children,
        match figures.seconds % 60 {
            0 => format!("{} minutes", figures.seconds / 60),
            _ => format!("{} seconds", figures.seconds),
        },
        figures.profile,
        figures.rounds,
        match figures.violations.len() {
            0 => "no violation".to_owned(),
            count => format!("{count} violations"),
        }
    );
    for (what, read) in [
        ("processes", (|sample| sample.processes) as fn(&HostSample) -> u64),
        ("descriptors", |sample| sample.descriptors),
        ("threads", |sample| sample.threads),
        ("connections", |sample| sample.connections),
        ("sessions", |sample| sample.sessions),
        ("requests under way", |sample| sample.requests),
        ("event streams", |sample| sample.streams),
        ("suspended calls", |sample| sample.suspended_calls),
        ("resident memory, MB", |sample| sample.resident_bytes / 1_000_000),
        ("memory of all processes (PSS), MB", |sample| sample.proportional_bytes / 1_000_000),
    ] {
        let [before, most, after] = [&figures.baseline, &figures.peak, &figures.after].map(read);
        text.push_str(&format!("| {what} | {before} | {most} | {after} |\n"));
    }
    text.push_str(&format!(
        "\nResident memory, median of the first and of the last third: {} MB and {} MB.\n\n\
         | misbehaviour | rounds | answers | p50 | p99 | longest |\n|---|--:|--:|--:|--:|--:|\n",
        figures.resident.first_third / 1_000_000,
        figures.resident.last_third / 1_000_000
    ));
    for (kind, row) in &figures.kinds {
        text.push_str(&format!(
            "| {kind} | {} | {} | {} ms | {} ms | {} ms |\n",
            row.rounds, row.answered, row.p50_ms, row.p99_ms, row.max_ms
        ));
    }
    text.trim_end().to_owned()
}
