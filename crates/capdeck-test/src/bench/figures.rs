//! The numbers of one run, as written to `bench/results/latest.json`.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Everything one run measured.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BenchFigures {
    pub machine: MachineInfo,
    pub start: Vec<StartFigures>,
    pub calls: Vec<CallFigures>,
    /// Requests of an HTTP API, beside a bare HTTP client.
    #[serde(default)]
    pub api_calls: Vec<CallFigures>,
    /// Another load generator beside ours; `null` where it could not be installed.
    #[serde(default)]
    pub load_client: Option<LoadClientFigures>,
    pub memory: MemoryFigures,
    pub surface: Vec<SurfaceFigures>,
    /// What the search example of `capdeck-catalog` printed; `null` without recorded tool lists.
    pub search: Option<Value>,
}

/// Where the run took place; figures of two machines do not compare.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MachineInfo {
    pub processor: String,
    pub cores: usize,
    pub capdeck: String,
    pub binary_bytes: u64,
}

/// From starting a program to its first `tools/list` answer, in milliseconds.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StartFigures {
    pub what: String,
    pub p50_ms: f64,
    pub p99_ms: f64,
}

/// The same call with and without Capdeck between.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallFigures {
    /// `stdio` or `http`, on both sides of Capdeck; `http, stdio server behind`, beside the same server over HTTP; `API` for
    /// a request of an HTTP API, called over stdio.
    pub transport: String,
    pub callers: usize,
    pub direct: LoadFigures,
    pub capdeck: LoadFigures,
    /// Processor time of the Capdeck process per call.
    pub capdeck_cpu_us: f64,
    /// The same through another program in the place of Capdeck.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer: Option<PeerLoad>,
}

/// One closed loop of calls through a peer.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PeerLoad {
    pub name: String,
    pub load: LoadFigures,
    /// Processor time of the peer's process per call.
    pub cpu_us: f64,
}

/// The same calls made by our load generator and by another one.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LoadClientFigures {
    pub name: String,
    pub rows: Vec<LoadClientRow>,
}

/// One kind of call and number of callers.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LoadClientRow {
    pub what: String,
    pub callers: usize,
    pub ours: LoadFigures,
    pub theirs: LoadFigures,
}

/// One closed loop of calls: each caller sends its next call when the last is answered.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LoadFigures {
    pub calls: usize,
    pub p50_us: f64,
    pub p99_us: f64,
    pub calls_per_second: f64,
}

/// Memory of `capdeck up`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MemoryFigures {
    pub empty_deck: ProcessMemory,
    pub after_first_list: ProcessMemory,
    pub after_load: ProcessMemory,
    /// The downstream server after the same load, sent to it directly.
    pub direct_after_load: ProcessMemory,
    /// All processes of the host at the same moments, and at the largest under the load.
    #[serde(default)]
    pub trees: Vec<TreeMoment>,
}

/// All processes of the host at one moment.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TreeMoment {
    pub when: String,
    #[serde(flatten)]
    pub memory: TreeMemory,
}

/// Memory of a process and all its descendants, in bytes.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TreeMemory {
    pub processes: usize,
    /// With shared pages by share, so that none counts twice.
    pub pss: u64,
    /// With shared pages in full for every process.
    pub rss: u64,
}

/// Memory of one process, in bytes.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProcessMemory {
    /// Everything that is mapped and present, the program's file included. How much of the file that is, is up to the
    /// kernel, which shares it between processes and gives it back when memory is short.
    pub resident: u64,
    /// What the process has for itself.
    pub own: u64,
}

/// Tokens (o200k) of everything `tools/list` answers, for a deck with this many tools.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SurfaceFigures {
    pub tools: usize,
    pub capabilities: usize,
    /// What clients connected to every server themselves would list.
    pub without_capdeck: usize,
    pub direct: usize,
    pub progressive: usize,
    pub search: usize,
}
