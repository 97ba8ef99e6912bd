//! `capdeck artifacts prune`.

use serde_json::json;

use super::{counted, size};
use crate::{
    context::Context,
    errors::{ExitStatus, Failure},
};

/// Remove large results that are too old or do not fit any more
///
/// This happens by itself at each start and every hour. The limits are `artifacts` in your config: `maxAgeDays` (7) and
/// `maxMegabytes` (1024). What was made in the last ten minutes and what is being written or read stays.
#[derive(Debug, clap::Args)]
pub(crate) struct PruneArgs {
    /// Remove everything that is not being written or read.
    #[arg(long)]
    all: bool,
}

pub(crate) fn run(args: &PruneArgs, context: &Context<'_>) -> Result<ExitStatus, Failure> {
    let swept = context.open_host()?.prune_artifacts(args.all);
    let printer = context.printer;
    if printer.wants_json() {
        printer.json(&json!({
            "removed": swept.removed,
            "removedBytes": swept.removed_bytes,
            "kept": swept.kept,
            "keptBytes": swept.kept_bytes,
        }));
    } else {
        printer.note(&format!(
            "{} removed ({}); {} kept ({})",
            counted(swept.removed),
            size(swept.removed_bytes),
            swept.kept,
            size(swept.kept_bytes),
        ));
    }
    Ok(ExitStatus::Done)
}
