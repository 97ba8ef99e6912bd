//! `capdeck runs replay ID`.

use capdeck_host::Rehearsal;
use serde_json::json;

use crate::{
    context::Context,
    errors::{ExitStatus, Failure},
    runtime::single_thread,
};

/// Repeat a recorded run without calling anything, and compare
///
/// The code runs again with the same clock, the same random numbers and the recorded answers. Nothing is connected.
#[derive(Debug, clap::Args)]
pub(crate) struct ReplayArgs {
    /// The run's id, or its beginning or end.
    #[arg(value_name = "ID")]
    id: String,
}

pub(crate) fn run(args: &ReplayArgs, context: &Context<'_>) -> Result<ExitStatus, Failure> {
    let printer = context.printer;
    let settings = context.settings()?;
    let store = settings.runs();
    let run = store.find(&args.id)?;
    let id = run.id.clone();
    let chain = store.chain(run)?;
    let rehearsal = Rehearsal::new(settings.sandbox_worker()?);
    let replayed = single_thread()?.block_on(rehearsal.replay(&chain))?;
    let differences = replayed.map(|replayed| replayed.differences).unwrap_or_default();
    if printer.wants_json() {
        printer.json(&json!({
            "id": id,
            "isSame": differences.is_empty(),
            "differences": differences,
        }));
    } else if differences.is_empty() {
        printer.data("the same calls and the same outcome\n");
    } else {
        let text: String = differences.iter().map(|one| format!("{one}\n")).collect();
        return Err(Failure::request("RUN_DIVERGED", format!("run `{id}` does not repeat"))
            .said(text.trim_end()));
    }
    Ok(if differences.is_empty() { ExitStatus::Done } else { ExitStatus::RequestFailed })
}
