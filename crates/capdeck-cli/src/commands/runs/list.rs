//! `capdeck runs list`.

use capdeck_host::{RunRecord, RunState};
use serde_json::{Value, json};

use crate::{
    context::Context,
    errors::{ExitStatus, Failure},
    printer::Style,
    table::{Cell, Table},
};

/// Show recorded runs, the newest first
#[derive(Debug, clap::Args)]
pub(crate) struct ListArgs {
    /// Only runs that wait for a person.
    #[arg(long)]
    paused: bool,
}

pub(crate) fn run(args: &ListArgs, context: &Context<'_>) -> Result<ExitStatus, Failure> {
    let printer = context.printer;
    let listing = context.settings()?.runs().list()?;
    let wanted = |run: &&RunRecord| !args.paused || run.state == RunState::Paused;
    let runs: Vec<&RunRecord> = listing.runs.iter().filter(wanted).collect();
    let problems: Vec<String> = listing.problems.iter().map(ToString::to_string).collect();
    if printer.wants_json() {
        let items: Vec<Value> = runs.iter().map(|run| run.summary()).collect();
        printer.json(&json!({ "items": items, "problems": problems }));
        return Ok(ExitStatus::Done);
    }
    for problem in &problems {
        printer.warn(problem);
    }
    if runs.is_empty() {
        printer.note("no runs are recorded");
        return Ok(ExitStatus::Done);
    }
    let mut table = Table::new(["ID", "AT", "STATE", "CALLS", "CLIENT", "CODE"]);
    for run in &runs {
        table.row([
            Cell::styled(Style::Strong, &run.id),
            Cell::plain(run.at.strftime("%Y-%m-%d %H:%M:%S UTC").to_string()),
            Cell::styled(style(run.state), run.state.as_str()),
            Cell::plain(run.calls.len().to_string()),
            Cell::plain(&run.client),
            Cell::plain(run.headline()),
        ]);
    }
    table.print(printer);
    if runs.iter().any(|run| run.state == RunState::Paused) {
        printer.note("go on with a paused one: capdeck runs resume ID");
    }
    Ok(ExitStatus::Done)
}

pub(super) fn style(state: RunState) -> Style {
    match state {
        RunState::Done => Style::Good,
        RunState::Paused | RunState::Resuming => Style::Careful,
        RunState::Failed => Style::Bad,
        RunState::Cancelled => Style::Dim,
    }
}
