//! `capdeck audit prune [NAME] --before DAY`: removes old days.

use capdeck_host::{AuditPruneRequest, RegistryAuditPruneRequest};
use jiff::civil::Date;
use serde_json::json;

use super::lines::trails;
use crate::{
    completion::capsules,
    context::Context,
    errors::{ExitStatus, Failure},
    plain_text::counted,
};

/// Remove the record of old days
///
/// Whole days are removed, never the newest one. What is removed like this is not missed by `capdeck audit verify`; files that are
/// deleted by hand are.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  capdeck audit prune --before 2026-01-01
  capdeck audit prune team --before 2026-01-01")]
pub(crate) struct PruneArgs {
    /// The capsule; all of them if left out, and what happened to capsules as a whole and to shares.
    #[arg(value_name = "NAME", add = capsules())]
    name: Option<String>,
    /// The first day that is kept, as YYYY-MM-DD in UTC.
    #[arg(long, value_name = "DAY")]
    before: Date,
}

pub(crate) fn run(args: &PruneArgs, context: &Context<'_>) -> Result<ExitStatus, Failure> {
    let PruneArgs { name, before } = args;
    let of_capsule = AuditPruneRequest { before: *before };
    let of_registry = RegistryAuditPruneRequest { before: *before };
    let reports = trails(name.as_deref(), &of_capsule, of_registry, context)?;
    let has_failed = !reports.iter().all(|report| report.holds(|_| true));
    let printer = context.printer;
    if printer.wants_json() {
        printer.json(&json!({ "items": reports }));
    } else {
        for response in reports.iter().filter_map(|report| report.or_show_failure(printer)) {
            let name = response.capsule.as_deref().unwrap_or("all capsules");
            let lines = usize::try_from(response.pruned.lines).unwrap_or(usize::MAX);
            let (lines, files) =
                (counted(lines, "line", "lines"), counted(response.pruned.files, "file", "files"));
            printer.note(&format!("{name}: removed {lines} in {files}"));
        }
    }
    Ok(if has_failed { ExitStatus::RequestFailed } else { ExitStatus::Done })
}
