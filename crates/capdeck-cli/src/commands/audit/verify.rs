//! `capdeck audit verify [NAME]`: is the record the one that was written?

use capdeck_host::CapsuleOperation;
use serde_json::{Value, json};

use super::lines::trails;
use crate::{
    commands::capsule::{items, number, problem_place, show_failure, text},
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
    let (of_capsule, of_registry) =
        (CapsuleOperation::AuditVerify, CapsuleOperation::RegistryAuditVerify);
    let reports = trails(args.name.as_deref(), &of_capsule, of_registry, context)?;
    let is_sound = reports
        .iter()
        .all(|report| items(report, "problems").is_empty() && text(report, "failure").is_empty());
    let printer = context.printer;
    if printer.wants_json() {
        printer.json(&json!({ "items": reports, "clean": is_sound }));
    } else {
        reports.iter().for_each(|report| show(report, printer));
    }
    Ok(if is_sound { ExitStatus::Done } else { ExitStatus::RequestFailed })
}

fn show(report: &Value, printer: &Printer) {
    if show_failure(report, printer) {
        return;
    }
    let palette = printer.palette();
    let problems = items(report, "problems");
    let state = if problems.is_empty() {
        palette.paint(Style::Good, "sound")
    } else {
        palette.paint(Style::Bad, "changed")
    };
    let name = match text(report, "capsule") {
        "" => "all capsules",
        name => name,
    };
    let head = match text(report, "head") {
        "" => String::new(),
        head => format!(", head {head}"),
    };
    let count = usize::try_from(number(report, "lines")).unwrap_or(usize::MAX);
    let mut lines = vec![format!("{name}: {state}, {}{head}", counted(count, "line", "lines"))];
    for problem in problems {
        let place = problem_place(problem);
        let what = format!("{place}: {}", text(problem, "what"));
        lines.push(format!("  {} {}", palette.paint(Style::Bad, "problem:"), one_line(&what)));
    }
    printer.data(&lines.join("\n"));
}
