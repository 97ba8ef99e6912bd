//! What the workflows cost in each view, as JSON and as a table.

use serde::{Deserialize, Serialize};

use super::ToolView;
use crate::bench::{grouped, replace_between};

/// Everything between these two lines is written by the benchmark.
pub const WORKFLOW_BLOCK_START: &str = "<!-- figures: written by bench/code-mode workflows -->";
/// The end of the block.
pub const WORKFLOW_BLOCK_END: &str = "<!-- end of the workflows' figures -->";

/// One workflow in every view, as written to `bench/results/workflows.json`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkflowFigures {
    pub name: String,
    pub what: String,
    pub runs: Vec<WorkflowRun>,
}

/// One workflow in one view. The facts were found, or there would be no figures.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkflowRun {
    pub way: ToolView,
    /// Tool calls that the model made.
    pub calls: usize,
    /// Tools and instructions that are part of every conversation.
    pub surface_tokens: usize,
    /// Names and arguments of calls.
    pub written_tokens: usize,
    /// Results of calls.
    pub read_tokens: usize,
    /// From the first call to the facts, without any model's time.
    pub milliseconds: f64,
}

impl WorkflowRun {
    /// All tokens that pass through the model.
    pub fn tokens(&self) -> usize {
        self.surface_tokens + self.written_tokens + self.read_tokens
    }
}

/// The figures as a Markdown table.
pub fn render_workflows(figures: &[WorkflowFigures]) -> String {
    let mut table = String::from(
        "| workflow | view | calls | tokens through the model | surface | written | read | time without a model |\n\
         |---|---|--:|--:|--:|--:|--:|--:|\n",
    );
    for workflow in figures {
        for run in &workflow.runs {
            table.push_str(&format!(
                "| {} | `{}` | {} | {} | {} | {} | {} | {:.0} ms |\n",
                workflow.name,
                run.way.exposure(),
                run.calls,
                grouped(run.tokens()),
                grouped(run.surface_tokens),
                grouped(run.written_tokens),
                grouped(run.read_tokens),
                run.milliseconds,
            ));
        }
    }
    table.push('\n');
    for workflow in figures {
        table.push_str(&format!("- {}: {}\n", workflow.name, workflow.what));
    }
    table.trim_end().to_owned()
}

/// The document with its block replaced. `None` when it has no block.
pub fn replace_workflow_block(document: &str, block: &str) -> Option<String> {
    replace_between(document, WORKFLOW_BLOCK_START, WORKFLOW_BLOCK_END, block)
}
