//! `capdeck audit`: who did what in the deck and in the capsules, and whether the record of capsules is the one that was
//! written.

mod report;

use capdeck_host::{
    AuditFilter, AuditLogLine, AuditOutcome, AuditPruneRequest, AuditVerifyRequest,
    AuditVerifyResponse, CapsuleCall, RegistryAuditFilter, RegistryAuditPruneRequest,
    RegistryAuditVerifyRequest,
};
use jiff::{Timestamp, civil::Date};
use serde_json::json;

pub(crate) use self::report::{AuditArgs, run};
use super::command_table;
use crate::{
    args::{ChoiceRow, choice},
    capsule_client::ask,
    commands::{
        CommandContext,
        capsule::{CapsuleReport, each, past, problem_place},
    },
    completion::{capsules, entries},
    errors::{CommandFailure, CommandResult, ExitStatus},
    plain_text::{counted, one_line, time},
    printer::{Printer, TextStyle},
    table::{TextTable, cell, cell_or, styled},
};

command_table! {
    pub(crate) enum AuditCommand {
        Tail(AuditTailArgs) => tail,
        Query(AuditQueryArgs) => query,
        Verify(AuditVerifyArgs) => verify,
        Prune(AuditPruneArgs) => prune,
    }
}

/// Show the last calls on capsules
///
/// Every call on a capsule is one line, refused ones too, without contents, tokens or memories. Each line holds the hash of the one
/// before it, and where the log begins and ends is kept outside of it, so that a changed or missing line shows.
#[derive(Debug, clap::Args)]
pub(crate) struct AuditTailArgs {
    /// The capsule; all of them by default, and what happened to capsules as a whole and to shares.
    #[arg(value_name = "NAME", add = capsules())]
    name: Option<String>,
    /// How many lines.
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
}

fn tail(args: &AuditTailArgs, context: &CommandContext<'_>) -> CommandResult {
    let AuditTailArgs { name, limit } = args;
    let filter = AuditFilter { limit: *limit as usize, ..AuditFilter::default() };
    show_lines(&lines(name.as_deref(), filter, context)?, context)
}

/// Find calls on capsules by who made them, what they did and how they ended
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  capdeck audit query team --outcome denied --since 7d
  capdeck audit query team --action write --prefix docs://api")]
pub(crate) struct AuditQueryArgs {
    /// The capsule; all of them by default, and what happened to capsules as a whole and to shares.
    #[arg(value_name = "NAME", add = capsules())]
    name: Option<String>,
    /// Only calls of this client.
    #[arg(long, value_name = "CLIENT")]
    agent: Option<String>,
    /// Only calls with the credential of this principal.
    #[arg(long, value_name = "PRINCIPAL")]
    principal: Option<String>,
    /// Only this action, or all that begin with it: `write` takes `write.create`, too.
    #[arg(long, value_name = "ACTION")]
    action: Option<String>,
    /// Only calls on entries at or below this address.
    #[arg(long, value_name = "PREFIX", add = entries())]
    prefix: Option<String>,
    /// Only calls that ended so.
    #[arg(long, value_name = "OUTCOME", value_parser = choice(OUTCOMES))]
    outcome: Option<AuditOutcome>,
    /// Only calls after a time, a day or a span such as 7d.
    #[arg(long, value_name = "WHEN", value_parser = past)]
    since: Option<Timestamp>,
    /// Only calls before a time, a day or a span such as 7d.
    #[arg(long, value_name = "WHEN", value_parser = past)]
    until: Option<Timestamp>,
    /// Only lines after this number.
    #[arg(long, value_name = "SEQ")]
    after: Option<u64>,
    /// How many lines at most, the last ones.
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
}

const OUTCOMES: [ChoiceRow<AuditOutcome>; 3] = [
    ("ok", "", AuditOutcome::Ok),
    ("denied", "Refused: the caller may not do it, or not there", AuditOutcome::Denied),
    ("error", "", AuditOutcome::Error),
];

fn query(args: &AuditQueryArgs, context: &CommandContext<'_>) -> CommandResult {
    let filter = AuditFilter {
        since: args.since,
        until: args.until,
        agent: args.agent.clone(),
        principal: args.principal.clone(),
        action: args.action.clone(),
        prefix: args.prefix.clone(),
        outcome: args.outcome,
        after_seq: args.after,
        limit: args.limit as usize,
    };
    show_lines(&lines(args.name.as_deref(), filter, context)?, context)
}

/// Check that the record of capsules is the one that was written
///
/// Exits with 1 when a line was changed, removed or added, or when the log was cut, emptied or removed. Where it ends is kept in
/// `audit-head.json` beside it. Against those who can change both, note the head that is printed here on another machine, and look
/// later for the line that has it as `h`.
#[derive(Debug, clap::Args)]
pub(crate) struct AuditVerifyArgs {
    /// The capsule; all of them by default, and what happened to capsules as a whole and to shares.
    #[arg(value_name = "NAME", add = capsules())]
    name: Option<String>,
}

fn verify(args: &AuditVerifyArgs, context: &CommandContext<'_>) -> CommandResult {
    let name = args.name.as_deref();
    let reports = trails(name, &AuditVerifyRequest, RegistryAuditVerifyRequest, context)?;
    let is_sound =
        reports.iter().all(|report| report.holds(|response| response.report.problems.is_empty()));
    context.printer.json_or(&json!({ "items": reports, "clean": is_sound }), || {
        reports.iter().for_each(|report| show_report(report, context.printer));
    })?;
    Ok(ExitStatus::done_unless(!is_sound))
}

fn show_report(report: &CapsuleReport<AuditVerifyResponse>, printer: &Printer) {
    let Some(AuditVerifyResponse { capsule, report }) = report.or_show_failure(printer) else {
        return;
    };
    let palette = printer.palette;
    let state = match report.problems.is_empty() {
        true => palette.paint(TextStyle::Good, "OK"),
        false => palette.paint(TextStyle::Bad, "changed"),
    };
    let name = capsule.as_deref().unwrap_or("all capsules");
    let head = report.head.as_ref().map(|head| format!(", head {head}")).unwrap_or_default();
    let count = counted(report.lines, "line", "lines");
    let mut lines = vec![format!("{name}: {state}, {count}{head}")];
    for problem in &report.problems {
        let what = format!("{}: {}", problem_place(problem), problem.what);
        lines.push(format!("  {} {}", palette.paint(TextStyle::Bad, "problem:"), one_line(&what)));
    }
    printer.data(&lines.join("\n"));
}

/// Remove the record of capsules of old days
///
/// Whole days are removed, never the newest one. What is removed like this is not missed by `capdeck audit verify`; files that are
/// deleted by hand are.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  capdeck audit prune --before 2026-01-01
  capdeck audit prune team --before 2026-01-01")]
pub(crate) struct AuditPruneArgs {
    /// The capsule; all of them by default, and what happened to capsules as a whole and to shares.
    #[arg(value_name = "NAME", add = capsules())]
    name: Option<String>,
    /// The first day to keep, as YYYY-MM-DD in UTC.
    #[arg(long, value_name = "DAY")]
    before: Date,
}

fn prune(args: &AuditPruneArgs, context: &CommandContext<'_>) -> CommandResult {
    let AuditPruneArgs { name, before } = args;
    let of_capsule = AuditPruneRequest { before: *before };
    let of_registry = RegistryAuditPruneRequest { before: *before };
    let reports = trails(name.as_deref(), &of_capsule, of_registry, context)?;
    let has_failed = !reports.iter().all(|report| report.holds(|_| true));
    let printer = context.printer;
    printer.json_or(&json!({ "items": reports }), || {
        for response in reports.iter().filter_map(|report| report.or_show_failure(printer)) {
            let name = response.capsule.as_deref().unwrap_or("all capsules");
            let lines = counted(response.pruned.lines, "line", "lines");
            let files = counted(response.pruned.files, "file", "files");
            printer.note(&format!("{name}: removed {lines} in {files}"));
        }
    })?;
    Ok(ExitStatus::done_unless(has_failed))
}

/// The last lines that fit, oldest first, each with its capsule.
fn lines(
    name: Option<&str>,
    filter: AuditFilter,
    context: &CommandContext<'_>,
) -> Result<Vec<AuditLogLine>, CommandFailure> {
    let limit = filter.limit;
    let of_registry = RegistryAuditFilter(filter.clone());
    let mut lines = Vec::new();
    for report in trails(name, &filter, of_registry, context)? {
        match report {
            CapsuleReport::Response(response) => {
                // Lines about capsules as a whole name theirs themselves.
                lines.extend(response.lines.into_iter().map(|line| AuditLogLine {
                    capsule: response.capsule.clone().or(line.capsule),
                    ..line
                }));
            }
            CapsuleReport::Failed { capsule, failure } => {
                context.printer.note(&one_line(&format!("{capsule}: {failure}")));
            }
        }
    }
    lines.sort_by_key(|line| line.ts);
    let first = lines.len().saturating_sub(limit);
    Ok(lines.split_off(first))
}

/// Asks the trail of one capsule, or every trail there is: those of all capsules, then the one of capsules as a whole.
fn trails<C: CapsuleCall + Clone>(
    name: Option<&str>,
    of_capsule: &C,
    of_registry: impl CapsuleCall<Response = C::Response>,
    context: &CommandContext<'_>,
) -> Result<Vec<CapsuleReport<C::Response>>, CommandFailure> {
    let mut reports = each(name, of_capsule, context)?;
    if name.is_none() {
        reports.push(CapsuleReport::Response(ask(context, None, of_registry)?));
    }
    Ok(reports)
}

/// Prints them: as text, or as `{items}`.
fn show_lines(lines: &[AuditLogLine], context: &CommandContext<'_>) -> CommandResult {
    context.printer.json_or(&json!({ "items": lines }), || {
        let heading = ["AT", "CAPSULE", "SEQ", "AGENT", "ACTION", "OUTCOME", "ENTRY"];
        let table = TextTable::new(heading, lines, |line| {
            let code = line.error_code.as_deref().unwrap_or_default();
            let (outcome, style) = match line.outcome {
                AuditOutcome::Ok => ("ok".to_owned(), TextStyle::Good),
                AuditOutcome::Denied => (format!("denied: {code}"), TextStyle::Bad),
                AuditOutcome::Error => (format!("error: {code}"), TextStyle::Careful),
            };
            let uri = line.uri.as_ref().map(ToString::to_string).unwrap_or_default();
            let entry = match line.version {
                None => uri,
                Some(version) => format!("{uri} version {version}"),
            };
            [
                cell(time(line.ts)),
                cell_or("", line.capsule.as_ref()),
                cell(line.seq),
                cell(&line.agent),
                cell(&line.action),
                styled(style, outcome),
                cell(entry),
            ]
        });
        table.print_or("no lines", context.printer);
    })
}
