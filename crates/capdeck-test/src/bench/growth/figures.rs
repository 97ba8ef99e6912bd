//! The figures of growth, as written to `bench/results/growth.json`, and as tables.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::super::{
    LoadFigures, MachineInfo,
    report::{grouped, megabytes, micros, replace_between, table},
};

/// Everything between these two lines is written by the benchmark.
pub const GROWTH_BLOCK_START: &str = "<!-- figures: written by bench/growth -->";
/// The end of the block.
pub const GROWTH_BLOCK_END: &str = "<!-- end of the figures of growth -->";

/// Everything one run measured.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GrowthFigures {
    pub machine: MachineInfo,
    /// `release`, or `debug` for a trial that says little about times.
    pub build: String,
    pub tools: Vec<ToolsRow>,
    pub clients: Vec<ClientsRow>,
    pub client_memory: Vec<ClientMemory>,
    pub code_session: CodeSessionMemory,
}

/// Calls of one caller, one after the other.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallCost {
    pub p50_us: f64,
    pub p99_us: f64,
    /// Processor time of the Capdeck process per call.
    pub cpu_us: f64,
}

/// A deck with this many tools.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolsRow {
    pub tools: usize,
    pub capabilities: usize,
    /// From starting `capdeck serve` to the answer of the first `tools/list`, offering `search`.
    pub start_ms: f64,
    /// What the process has for itself then, in bytes.
    pub memory: u64,
    pub by_name: CallCost,
    pub call_tool: CallCost,
}

/// A call of one client among this many connected ones.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClientsRow {
    pub clients: usize,
    pub call: CallCost,
}

/// Memory of the host for each idle client, in bytes.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClientMemory {
    pub what: String,
    pub clients: usize,
    pub bytes: u64,
}

/// Memory of all processes of the host for each session of code mode that holds a value, in bytes.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CodeSessionMemory {
    pub sessions: usize,
    pub bytes: u64,
}

impl CallCost {
    pub(super) fn of(load: LoadFigures, used: Duration, calls: usize) -> Self {
        let LoadFigures { p50_us, p99_us, .. } = load;
        Self { p50_us, p99_us, cpu_us: used.as_secs_f64() * 1e6 / calls as f64 }
    }

    fn latency(&self) -> String {
        format!("{} / {}", micros(self.p50_us), micros(self.p99_us))
    }
}

/// The figures as Markdown.
pub fn render_growth(figures: &GrowthFigures) -> String {
    let GrowthFigures { machine, build, tools, clients, client_memory, code_session } = figures;
    let build = match build.as_str() {
        "release" => String::new(),
        other => format!(" ({other} build)"),
    };
    let mut text = format!(
        "Measured on {} ({} cores), {}{build}.\n\n",
        machine.processor, machine.cores, machine.capdeck
    );
    text.push_str(&table(
        "| tools installed | start to first `tools/list` | memory then | call by name p50 / p99 | CPU | `call_tool` p50 / p99 | CPU |\n\
         |--:|--:|--:|--:|--:|--:|--:|\n",
        tools.iter().map(tools_row),
    ));
    text.push_str(&table(
        "| connected clients | a call of one of them p50 / p99 | CPU |\n|--:|--:|--:|\n",
        clients.iter().map(|row| {
            let ClientsRow { clients, call } = row;
            format!("| {} | {} | {} |\n", grouped(*clients), call.latency(), micros(call.cpu_us))
        }),
    ));
    let memory = client_memory.iter().map(|row| {
        let kilobytes = row.bytes as f64 / 1e3;
        format!(
            "| an idle client with {} | {} | {kilobytes:.1} KB |\n",
            row.what,
            grouped(row.clients)
        )
    });
    let session = format!(
        "| a code-mode session that holds a value | {} | {} |\n",
        code_session.sessions,
        megabytes(code_session.bytes)
    );
    text.push_str(&table(
        "| memory for each (PSS) | mean of | |\n|---|--:|--:|\n",
        memory.chain([session]),
    ));
    text.trim_end().to_owned()
}

fn tools_row(row: &ToolsRow) -> String {
    let ToolsRow { tools, start_ms, memory, by_name, call_tool, .. } = row;
    format!(
        "| {} | {start_ms:.1} ms | {} | {} | {} | {} | {} |\n",
        grouped(*tools),
        megabytes(*memory),
        by_name.latency(),
        micros(by_name.cpu_us),
        call_tool.latency(),
        micros(call_tool.cpu_us),
    )
}

/// The document with these figures, if it has a place for them.
pub fn replace_growth_block(document: &str, block: &str) -> Option<String> {
    replace_between(document, GROWTH_BLOCK_START, GROWTH_BLOCK_END, block)
}
