//! `capdeck capsule verify [NAME]`: is everything there, and is it what was written?

use capdeck_host::{AuditProblem, CapsuleCall, ListCapsulesRequest, VerifyRequest, VerifyResponse};
use serde::Serialize;
use serde_json::json;

use crate::{
    capsule_client::{CommandCapsules, into_failure, with_capsules},
    commands::CommandContext,
    completion::capsules,
    errors::{CommandFailure, CommandResult, ExitStatus},
    plain_text::{counted, one_line},
    printer::{Printer, TextStyle},
};

/// Check every file of a capsule, or of all of them
///
/// Reads all entries, versions, blobs, signals and the audit. Exits with 1 when something is damaged or missing.
#[derive(Debug, clap::Args)]
pub(crate) struct CapsuleVerifyArgs {
    /// The capsule; all of them by default.
    #[arg(value_name = "NAME", add = capsules())]
    name: Option<String>,
}

pub(super) fn run(args: &CapsuleVerifyArgs, context: &CommandContext<'_>) -> CommandResult {
    let printer = context.printer;
    let reports = each(args.name.as_deref(), &VerifyRequest, context)?;
    let all_clean = reports.iter().all(|report| report.holds(|response| response.clean));
    printer.json_or(&json!({ "items": reports, "clean": all_clean }), || {
        if reports.is_empty() {
            printer.note("there are no capsules");
        }
        reports.iter().for_each(|report| show(report, printer));
    })?;
    Ok(ExitStatus::done_unless(!all_clean))
}

/// What one of several capsules responded.
#[derive(Serialize)]
#[serde(untagged)]
pub(in crate::commands) enum CapsuleReport<T> {
    Response(T),
    Failed { capsule: String, failure: String },
}

impl<T> CapsuleReport<T> {
    /// Whether there is a response and it passes a check.
    pub(in crate::commands) fn holds(&self, check: impl FnOnce(&T) -> bool) -> bool {
        match self {
            Self::Response(response) => check(response),
            Self::Failed { .. } => false,
        }
    }

    /// The response. Without one, prints that there is none.
    pub(in crate::commands) fn or_show_failure(&self, printer: &Printer) -> Option<&T> {
        match self {
            Self::Response(response) => Some(response),
            Self::Failed { capsule, failure } => {
                let state = printer.palette.paint(TextStyle::Bad, "cannot be checked");
                printer.data(&format!("{capsule}: {state}: {}", one_line(failure)));
                None
            }
        }
    }
}

/// Asks the same of one capsule, or of each there is. Of all, one that fails costs only its own response.
pub(in crate::commands) fn each<C: CapsuleCall + Clone>(
    name: Option<&str>,
    call: &C,
    context: &CommandContext<'_>,
) -> Result<Vec<CapsuleReport<C::Response>>, CommandFailure> {
    with_capsules(context, async |capsules| {
        let mut reports = Vec::new();
        for id in names(name, capsules).await? {
            reports.push(match capsules.try_ask(Some(&id), call.clone()).await {
                Ok(response) => CapsuleReport::Response(response),
                Err(error) if name.is_some() => return Err(into_failure(error, name)),
                Err(error) => CapsuleReport::Failed { capsule: id, failure: error.message },
            });
        }
        Ok(reports)
    })
}

/// The capsule that was named, or all there are.
pub(super) async fn names(
    name: Option<&str>,
    capsules: &CommandCapsules,
) -> Result<Vec<String>, CommandFailure> {
    if let Some(name) = name {
        return Ok(vec![name.to_owned()]);
    }
    let listed = capsules.ask(None, ListCapsulesRequest::default()).await?.capsules;
    Ok(listed.into_iter().map(|one| one.info.id).collect())
}

/// Where something is wrong in an audit.
pub(in crate::commands) fn problem_place(problem: &AuditProblem) -> String {
    match problem.line {
        0 => problem.file.clone(),
        line => format!("{} line {line}", problem.file),
    }
}

fn show(report: &CapsuleReport<VerifyResponse>, printer: &Printer) {
    let Some(VerifyResponse { capsule, report, clean }) = report.or_show_failure(printer) else {
        return;
    };
    let palette = printer.palette;
    let state = match clean {
        true => palette.paint(TextStyle::Good, "OK"),
        false => palette.paint(TextStyle::Bad, "damaged"),
    };
    let counts = [
        counted(report.entries, "entry", "entries"),
        counted(report.versions, "version", "versions"),
        counted(report.blobs, "blob", "blobs"),
        counted(report.signals, "signal", "signals"),
        counted(report.audit.lines, "audit line", "audit lines"),
    ];
    let mut lines = vec![format!("{capsule}: {state}, {}", counts.join(", "))];
    let mut add = |style: TextStyle, kind: &str, what: String| {
        lines.push(format!("  {} {}", palette.paint(style, kind), one_line(&what)));
    };
    for problem in &report.problems {
        add(TextStyle::Bad, "problem:", format!("{}: {}", problem.place, problem.what));
    }
    for problem in &report.audit.problems {
        let what = format!("audit: {}: {}", problem_place(problem), problem.what);
        add(TextStyle::Bad, "problem:", what);
    }
    for remark in &report.remarks {
        add(TextStyle::Careful, "remark:", format!("{}: {}", remark.place, remark.what));
    }
    printer.data(&lines.join("\n"));
}
