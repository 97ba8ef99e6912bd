//! `capdeck capsule verify [NAME]`: is everything there, and is it what was written?

use capdeck_host::CapsuleOperation;
use serde_json::{Value, json};

use super::facts::{items, number, text};
use crate::{
    capsule_desk::{told, with_desk},
    completion::capsules,
    context::Context,
    errors::{ExitStatus, Failure},
    plain_text::{counted, one_line},
    printer::{Printer, Style},
};

/// Check every file of a capsule, or of all of them
///
/// Reads all entries, versions, blobs, signals and the audit. Exits with 1 when something is damaged or missing.
#[derive(Debug, clap::Args)]
pub(crate) struct VerifyArgs {
    /// The capsule; all of them by default.
    #[arg(value_name = "NAME", add = capsules())]
    name: Option<String>,
}

pub(crate) fn run(args: &VerifyArgs, context: &Context<'_>) -> Result<ExitStatus, Failure> {
    let printer = context.printer;
    let reports = each(args.name.as_deref(), &CapsuleOperation::Verify, context)?;
    let all_clean = reports.iter().all(is_clean);
    if printer.wants_json() {
        printer.json(&json!({ "items": reports, "clean": all_clean }));
    } else {
        if reports.is_empty() {
            printer.note("there are no capsules");
        }
        reports.iter().for_each(|report| show(report, printer));
    }
    Ok(if all_clean { ExitStatus::Done } else { ExitStatus::RequestFailed })
}

/// Asks the same of one capsule, or of each there is. Of all, one that cannot answer costs only its own answer, which is
/// `{capsule, failure}` then.
pub(in crate::commands) fn each(
    name: Option<&str>,
    operation: &CapsuleOperation,
    context: &Context<'_>,
) -> Result<Vec<Value>, Failure> {
    with_desk(context, async |desk| {
        let names: Vec<String> = match name {
            Some(name) => vec![name.to_owned()],
            None => {
                let list = CapsuleOperation::ListCapsules { with_counts: false };
                let listed = desk.ask(None, list).await?;
                items(&listed, "capsules").iter().map(|one| text(one, "id").to_owned()).collect()
            }
        };
        let mut answers = Vec::new();
        for id in names {
            answers.push(match desk.try_ask(Some(&id), operation.clone()).await {
                Ok(answer) => answer,
                Err(failure) if name.is_some() => return Err(told(failure, name)),
                Err(failure) => json!({ "capsule": id, "failure": failure.message }),
            });
        }
        Ok(answers)
    })
}

fn is_clean(report: &Value) -> bool {
    report.get("clean").and_then(Value::as_bool).unwrap_or_default()
}

/// Where something is wrong in an audit.
pub(in crate::commands) fn problem_place(problem: &Value) -> String {
    match number(problem, "line") {
        0 => text(problem, "file").to_owned(),
        line => format!("{} line {line}", text(problem, "file")),
    }
}

/// Shows that a capsule gave no answer, if it gave none.
pub(in crate::commands) fn show_failure(answer: &Value, printer: &Printer) -> bool {
    let failure = text(answer, "failure");
    if failure.is_empty() {
        return false;
    }
    let state = printer.palette().paint(Style::Bad, "cannot be checked");
    printer.data(&format!("{}: {state}: {}", text(answer, "capsule"), one_line(failure)));
    true
}

fn show(report: &Value, printer: &Printer) {
    if show_failure(report, printer) {
        return;
    }
    let palette = printer.palette();
    let audit = report.get("audit").cloned().unwrap_or_default();
    let state = if is_clean(report) {
        palette.paint(Style::Good, "OK")
    } else {
        palette.paint(Style::Bad, "damaged")
    };
    let many = |value: &Value, field: &str, one: &str, many: &str| {
        let count = usize::try_from(number(value, field)).unwrap_or(usize::MAX);
        counted(count, one, many)
    };
    let counts = [
        many(report, "entries", "entry", "entries"),
        many(report, "versions", "version", "versions"),
        many(report, "blobs", "blob", "blobs"),
        many(report, "signals", "signal", "signals"),
        many(&audit, "lines", "audit line", "audit lines"),
    ];
    let mut lines = vec![format!("{}: {state}, {}", text(report, "capsule"), counts.join(", "))];
    for problem in items(report, "problems") {
        let what = format!("{}: {}", text(problem, "place"), text(problem, "what"));
        lines.push(format!("  {} {}", palette.paint(Style::Bad, "problem:"), one_line(&what)));
    }
    for problem in items(&audit, "problems") {
        let what = format!("audit: {}: {}", problem_place(problem), text(problem, "what"));
        lines.push(format!("  {} {}", palette.paint(Style::Bad, "problem:"), one_line(&what)));
    }
    for remark in items(report, "remarks") {
        let what = format!("{}: {}", text(remark, "place"), text(remark, "what"));
        lines.push(format!("  {} {}", palette.paint(Style::Careful, "remark:"), one_line(&what)));
    }
    printer.data(&lines.join("\n"));
}
