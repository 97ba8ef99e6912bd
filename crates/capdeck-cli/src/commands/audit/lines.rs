//! Audit lines of one capsule or of all of them, and how they are shown.

use capdeck_host::{AuditFilter, AuditLine, AuditOutcome, CapsuleCall, RegistryAuditFilter};
use serde_json::json;

use crate::{
    capsule_client::ask,
    commands::capsule::{CapsuleReport, each, time},
    context::Context,
    errors::Failure,
    plain_text::one_line,
    printer::Style,
    table::{Cell, Table},
};

/// The last lines that fit, oldest first, each with its capsule.
pub(super) fn lines(
    name: Option<&str>,
    filter: AuditFilter,
    context: &Context<'_>,
) -> Result<Vec<AuditLine>, Failure> {
    let limit = filter.limit;
    let of_registry = RegistryAuditFilter(filter.clone());
    let mut lines = Vec::new();
    for report in trails(name, &filter, of_registry, context)? {
        match report {
            CapsuleReport::Response(response) => {
                // Lines about capsules as a whole name theirs themselves.
                lines.extend(response.lines.into_iter().map(|line| AuditLine {
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
pub(super) fn trails<C: CapsuleCall + Clone>(
    name: Option<&str>,
    of_capsule: &C,
    of_registry: impl CapsuleCall<Response = C::Response>,
    context: &Context<'_>,
) -> Result<Vec<CapsuleReport<C::Response>>, Failure> {
    let mut reports = each(name, of_capsule, context)?;
    if name.is_none() {
        reports.push(CapsuleReport::Response(ask(context, None, of_registry)?));
    }
    Ok(reports)
}

/// Prints them: as text, or as `{items}`.
pub(super) fn show(lines: &[AuditLine], context: &Context<'_>) {
    let printer = context.printer;
    if printer.wants_json() {
        printer.json(&json!({ "items": lines }));
        return;
    }
    if lines.is_empty() {
        printer.note("no lines");
        return;
    }
    let mut table = Table::new(["AT", "CAPSULE", "SEQ", "AGENT", "ACTION", "OUTCOME", "ENTRY"]);
    for line in lines {
        let code = line.error_code.as_deref().unwrap_or_default();
        let (outcome, style) = match line.outcome {
            AuditOutcome::Ok => ("ok".to_owned(), Style::Good),
            AuditOutcome::Denied => (format!("denied: {code}"), Style::Bad),
            AuditOutcome::Error => (format!("error: {code}"), Style::Careful),
        };
        let uri = line.uri.as_ref().map(ToString::to_string).unwrap_or_default();
        let entry = match line.version {
            None => uri,
            Some(version) => format!("{uri} version {version}"),
        };
        table.row([
            Cell::plain(time(line.ts)),
            Cell::plain(line.capsule.as_deref().unwrap_or_default()),
            Cell::plain(line.seq.to_string()),
            Cell::plain(line.agent.as_str()),
            Cell::plain(line.action.as_str()),
            Cell::styled(style, outcome),
            Cell::plain(entry),
        ]);
    }
    table.print(printer);
}
