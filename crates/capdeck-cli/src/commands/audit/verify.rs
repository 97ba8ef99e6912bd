//! `capdeck audit verify [NAME]`: is the record the one that was written?

use capdeck_host::{AuditVerifyRequest, AuditVerifyResponse, RegistryAuditVerifyRequest};
use serde_json::json;

use super::lines::trails;
use crate::{
    commands::capsule::{CapsuleReport, problem_place},
    completion::capsules,
    context::Context,
    errors::{ExitStatus, Failure},
    plain_text::{counted, one_line},
    printer::{Printer, Style},
};

/// Check that the record is the one that was written
///
/// Exits with 1 when a line was changed, removed or added, or when the log was cut, emptied or removed. Where it ends is kept in
/// `audit-head.json` beside it. Against those who can change both, note the head that is printed here on another machine, and look
/// later for the line that has it as `h`.
#[derive(Debug, clap::Args)]
pub(crate) struct VerifyArgs {
    /// The capsule; all of them if left out, and what happened to capsules as a whole and to shares.
    #[arg(value_name = "NAME", add = capsules())]
    name: Option<String>,
}

pub(crate) fn run(args: &VerifyArgs, context: &Context<'_>) -> Result<ExitStatus, Failure> {
    let name = args.name.as_deref();
    let reports = trails(name, &AuditVerifyRequest, RegistryAuditVerifyRequest, context)?;
    let is_sound =
        reports.iter().all(|report| report.holds(|response| response.report.problems.is_empty()));
    let printer = context.printer;
    if printer.wants_json() {
        printer.json(&json!({ "items": reports, "clean": is_sound }));
    } else {
        reports.iter().for_each(|report| show(report, printer));
    }
    Ok(if is_sound { ExitStatus::Done } else { ExitStatus::RequestFailed })
}

fn show(report: &CapsuleReport<AuditVerifyResponse>, printer: &Printer) {
    let Some(AuditVerifyResponse { capsule, report }) = report.or_show_failure(printer) else {
        return;
    };
    let palette = printer.palette();
    let state = match report.problems.is_empty() {
        true => palette.paint(Style::Good, "sound"),
        false => palette.paint(Style::Bad, "changed"),
    };
    let name = capsule.as_deref().unwrap_or("all capsules");
    let head = report.head.as_ref().map(|head| format!(", head {head}")).unwrap_or_default();
    let count = usize::try_from(report.lines).unwrap_or(usize::MAX);
    let mut lines = vec![format!("{name}: {state}, {}{head}", counted(count, "line", "lines"))];
    for problem in &report.problems {
        let what = format!("{}: {}", problem_place(problem), problem.what);
        lines.push(format!("  {} {}", palette.paint(Style::Bad, "problem:"), one_line(&what)));
    }
    printer.data(&lines.join("\n"));
}
