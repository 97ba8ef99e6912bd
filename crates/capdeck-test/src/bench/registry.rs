//! What a shared host costs: a token with every call, a thousand people watching, and the first look at the dashboard.

mod calls;
mod watchers;
mod weight;

use serde::{Deserialize, Serialize};

use super::{BenchStage, LoadFigures, MachineInfo, report::replace_between};

/// Everything between these two lines is written by the benchmark.
pub const REGISTRY_BLOCK_START: &str = "<!-- figures: written by bench/registry -->";
/// The end of the block.
pub const REGISTRY_BLOCK_END: &str = "<!-- end of the registry's figures -->";

/// Everything one run measured.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RegistryFigures {
    pub machine: MachineInfo,
    /// `release`, or `debug` for a trial that says little about times.
    pub build: String,
    pub calls: Vec<TokenRow>,
    pub watchers: WatcherFigures,
    pub first_paint: PaintWeight,
}

/// The same echo call over HTTP on the same host, without and with a token whose grants are asked every time.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TokenRow {
    pub callers: usize,
    pub open: LoadFigures,
    pub token: LoadFigures,
}

/// Browsers that follow the live feed while calls are made.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WatcherFigures {
    pub watchers: usize,
    /// Until the last of them is connected.
    pub connected_ms: f64,
    pub calls: usize,
    /// From sending a call until this watcher has read its event.
    pub delivered_p50_ms: f64,
    pub delivered_p99_ms: f64,
    /// The last watcher of the slowest call.
    pub delivered_longest_ms: f64,
    /// Resident memory of the host that came with them.
    pub memory_per_watcher: u64,
}

/// What a browser loads before the dashboard shows something.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PaintWeight {
    pub files: usize,
    /// As they come over the wire.
    pub gzip_bytes: usize,
    pub plain_bytes: usize,
}

/// Measures all of it.
pub fn measure_registry(stage: &BenchStage, machine: MachineInfo) -> RegistryFigures {
    RegistryFigures {
        machine,
        build: if cfg!(debug_assertions) { "debug" } else { "release" }.to_owned(),
        calls: calls::measure(stage),
        watchers: watchers::measure(stage),
        first_paint: weight::measure(stage),
    }
}

/// The figures as Markdown.
pub fn render_registry(figures: &RegistryFigures) -> String {
    let RegistryFigures { machine, build, calls, watchers, first_paint } = figures;
    let build = match build.as_str() {
        "release" => String::new(),
        other => format!(" ({other} build)"),
    };
    let mut text = format!(
        "Measured on {} ({} cores), {}{build}.\n\n| echo over HTTP | callers | without a token p50 / p99 | with a token p50 / p99 | added p50 | without, calls/s | with, calls/s |\n|---|--:|--:|--:|--:|--:|--:|\n",
        machine.processor, machine.cores, machine.capdeck
    );
    for TokenRow { callers, open, token } in calls {
        let added = (token.p50_us / open.p50_us - 1.0) * 100.0;
        text.push_str(&format!(
            "| `/mcp` | {callers} | {:.0} / {:.0} µs | {:.0} / {:.0} µs | {added:+.1} % | {:.0} | {:.0} |\n",
            open.p50_us, open.p99_us, token.p50_us, token.p99_us, open.calls_per_second, token.calls_per_second
        ));
    }
    text.push_str(&format!(
        "\n| {} watchers of the live feed | |\n|---|--:|\n| all connected after | {:.0} ms |\n| from sending a call to a watcher's event, p50 / p99 ({} calls) | {:.1} / {:.1} ms |\n| the last watcher of the slowest call | {:.1} ms |\n| memory of the host for each | {:.1} KB |\n",
        watchers.watchers,
        watchers.connected_ms,
        watchers.calls,
        watchers.delivered_p50_ms,
        watchers.delivered_p99_ms,
        watchers.delivered_longest_ms,
        watchers.memory_per_watcher as f64 / 1000.0
    ));
    text.push_str(&format!(
        "\nThe dashboard's first paint takes {} files: {:.1} KB over the wire, {:.1} KB unpacked.",
        first_paint.files,
        first_paint.gzip_bytes as f64 / 1000.0,
        first_paint.plain_bytes as f64 / 1000.0
    ));
    text
}

/// The document with these figures, if it has a place for them.
pub fn replace_registry_block(document: &str, block: &str) -> Option<String> {
    replace_between(document, REGISTRY_BLOCK_START, REGISTRY_BLOCK_END, block)
}
