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

/// The document with its block replaced. `None` when it has no block.
pub fn replace_exposure_block(document: &str, block: &str) -> Option<String> {
    replace_between(document, EXPOSURE_BLOCK_START, EXPOSURE_BLOCK_END, block)
}
