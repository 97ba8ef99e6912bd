//! What the ways cost, as JSON and as tables.

use serde::{Deserialize, Serialize};

use crate::bench::{grouped, replace_between};

/// Everything between these two lines is written by the benchmark.
pub const EXPOSURE_BLOCK_START: &str = "<!-- figures: written by bench/exposure -->";
/// The end of the block.
pub const EXPOSURE_BLOCK_END: &str = "<!-- end of the figures of exposures -->";

/// One scenario in every way, as written to `bench/results/exposure.json`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExposureFigures {
    pub name: String,
    pub tools: usize,
    /// What the servers list, as JSON.
    pub schema_bytes: usize,
    pub signatures: SignatureTokens,
    #[serde(default)]
    pub setup: SetupTokens,
    pub runs: Vec<ExposureRun>,
}

/// Tokens of how all tools are called.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SignatureTokens {
    /// Names of tools and arguments alone.
    pub names: usize,
    /// As `setup_tools` tells them.
    pub brief: usize,
    /// Whole input schemas.
    pub schemas: usize,
}

/// Tokens of the answer of `setup_tools`.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SetupTokens {
    pub ours: usize,
    /// An answer of the same shape with the names of tools and arguments alone, as CAPA documents its own.
    pub names_alone: usize,
}

/// What CAPA publishes for a list of this size: dollars of one run of a model, in each of its modes.
struct PublishedCosts {
    scenario: &'static str,
    expose_all: f64,
    on_demand: f64,
    cli: f64,
}

/// From the benchmarks page of CAPA, for the scenarios whose lists have these sizes.
const PUBLISHED: [PublishedCosts; 4] = [
    PublishedCosts { scenario: "13 tools", expose_all: 0.1649, on_demand: 0.1440, cli: 0.1179 },
    PublishedCosts { scenario: "23 tools", expose_all: 0.3474, on_demand: 0.2479, cli: 0.2602 },
    PublishedCosts { scenario: "108 tools", expose_all: 0.1596, on_demand: 0.1719, cli: 0.1465 },
    PublishedCosts {
        scenario: "36 tools of two servers",
        expose_all: 0.3755,
        on_demand: 0.2251,
        cli: 0.2783,
    },
];

/// One scenario in one way.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExposureRun {
    pub way: String,
    /// Tools and instructions that stand in every conversation.
    pub standing: usize,
    /// Calls of tools, or commands, that the model made.
    pub calls: usize,
    /// Names and arguments of calls.
    pub written: usize,
    /// Results of calls.
    pub read: usize,
    /// The signatures among them, where they were sent alone.
    #[serde(skip)]
    pub signatures: usize,
    /// The whole answer that had them.
    #[serde(skip)]
    pub setup: usize,
}

impl ExposureRun {
    /// Each token once, as a model with a prompt cache pays for them in full.
    pub fn whole(&self) -> usize {
        self.standing + self.written + self.read
    }
}

/// The figures as Markdown tables.
pub fn render_exposure(figures: &[ExposureFigures]) -> String {
    let ways: Vec<&str> =
        figures.first().into_iter().flat_map(|one| &one.runs).map(|run| run.way.as_str()).collect();
    let header = |lead: &str| {
        let names: Vec<String> = ways.iter().map(|way| format!("`{way}`")).collect();
        let marks = "--:|".repeat(ways.len());
        format!("| {lead} | {} |\n|---|{marks}\n", names.join(" | "))
    };
    let mut text = String::new();
    for (lead, cell) in [
        ("standing tokens", (|run| run.standing) as fn(&ExposureRun) -> usize),
        ("tokens of the whole task", ExposureRun::whole),
        ("calls of the whole task", |run| run.calls),
    ] {
        text.push_str(&header(lead));
        for one in figures {
            let cells: Vec<String> = one.runs.iter().map(|run| grouped(cell(run))).collect();
            let kilobytes = one.schema_bytes / 1000;
            text.push_str(&format!("| {}, {kilobytes} KB | {} |\n", one.name, cells.join(" | ")));
        }
        text.push('\n');
    }
    text.push_str(&published(figures));
    text.push_str("| answer of `setup_tools`, tokens | with the names alone | as Capdeck tells it |\n|---|--:|--:|\n");
    for one in figures {
        let SetupTokens { ours, names_alone } = one.setup;
        let row = [one.name.clone(), grouped(names_alone), grouped(ours)];
        text.push_str(&format!("| {} |\n", row.join(" | ")));
    }
    text.push('\n');
    text.push_str("| tokens of all signatures | names alone | as `setup_tools` tells them | whole schemas |\n|---|--:|--:|--:|\n");
    for one in figures {
        let SignatureTokens { names, brief, schemas } = one.signatures;
        text.push_str(&format!(
            "| {} | {} | {} | {} |\n",
            one.name,
            grouped(names),
            grouped(brief),
            grouped(schemas)
        ));
    }
    text.trim_end().to_owned()
}

/// CAPA's published costs beside ours. Theirs are dollars of a model's whole conversation and ours tokens of a scripted agent,
/// so what can be compared is how much less than everything listed each way costs.
fn published(figures: &[ExposureFigures]) -> String {
    let mut text = "| whole task, beside everything listed | CAPA `on-demand` | CAPA `none` | `on_demand` | `search` | `code_mode` | `none` |\n|---|--:|--:|--:|--:|--:|--:|\n".to_owned();
    for costs in &PUBLISHED {
        let Some(one) = figures.iter().find(|one| one.name == costs.scenario) else { continue };
        let whole = |way: &str| {
            let run = one.runs.iter().find(|run| run.way == way);
            run.map_or(0.0, |run| run.whole() as f64)
        };
        let share = |part: f64, all: f64| format!("{:+.0} %", (part / all - 1.0) * 100.0);
        let ours = ["on_demand", "search", "code_mode", "none"]
            .map(|way| share(whole(way), whole("direct")));
        let theirs = [costs.on_demand, costs.cli].map(|part| share(part, costs.expose_all));
        let cells: Vec<String> = theirs.into_iter().chain(ours).collect();
        text.push_str(&format!("| {} | {} |\n", one.name, cells.join(" | ")));
    }
    text.push('\n');
    text
}

/// The document with its block replaced. `None` when it has no block.
pub fn replace_exposure_block(document: &str, block: &str) -> Option<String> {
    replace_between(document, EXPOSURE_BLOCK_START, EXPOSURE_BLOCK_END, block)
}
