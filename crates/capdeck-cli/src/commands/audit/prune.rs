//! `capdeck audit prune [NAME] --before DAY`: removes old days.

use capdeck_host::CapsuleOperation;
use jiff::civil::Date;
use serde_json::json;

use super::lines::trails;
use crate::{
    commands::capsule::{number, show_failure, text},
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
    let of_capsule = CapsuleOperation::AuditPrune { before: *before };
    let of_registry = CapsuleOperation::RegistryAuditPrune { before: *before };
    let answers = trails(name.as_deref(), &of_capsule, of_registry, context)?;
    let has_failed = answers.iter().any(|answer| !text(answer, "failure").is_empty());
    let printer = context.printer;
    if printer.wants_json() {
        printer.json(&json!({ "items": answers }));
    } else {
        for answer in answers.iter().filter(|answer| !show_failure(answer, printer)) {
            let name = match text(answer, "capsule") {
                "" => "all capsules",
                name => name,
            };
            let count = |field| usize::try_from(number(answer, field)).unwrap_or(usize::MAX);
            let (lines, files) = (count("lines"), count("files"));
            let what = counted(lines, "line", "lines");
            printer.note(&format!("{name}: removed {what} in {}", counted(files, "file", "files")));
        }
    }
    Ok(if has_failed { ExitStatus::RequestFailed } else { ExitStatus::Done })
}
