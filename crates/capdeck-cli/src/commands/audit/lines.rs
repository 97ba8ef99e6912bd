//! Audit lines of one capsule or of all of them, and how they are shown.

use capdeck_host::{AuditFilter, CapsuleOperation};
use serde_json::{Value, json};

use crate::{
    capsule_desk::ask,
    commands::capsule::{each, items, number, text, time},
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
) -> Result<Vec<Value>, Failure> {
    let limit = filter.limit;
    let of_registry = CapsuleOperation::RegistryAuditQuery(filter.clone());
    let answers = trails(name, &CapsuleOperation::AuditQuery(filter), of_registry, context)?;
    let mut lines = Vec::new();
    for answer in &answers {
        let failure = text(answer, "failure");
        if !failure.is_empty() {
            let what = format!("{}: {failure}", text(answer, "capsule"));
            context.printer.note(&one_line(&what));
        }
        for line in items(answer, "lines") {
            let mut line = line.clone();
            // Lines about capsules as a whole name theirs themselves.
            if let Some(capsule) = answer.get("capsule") {
                line["capsule"] = capsule.clone();
            }
            lines.push(line);
        }
    }
    // Times are written with as many digits as they need, so texts do not sort.
    lines.sort_by_key(|line| text(line, "ts").parse::<jiff::Timestamp>().ok());
    let first = lines.len().saturating_sub(limit);
    Ok(lines.split_off(first))
}

/// Asks the trail of one capsule, or every trail there is: those of all capsules, then the one of capsules as a whole.
pub(super) fn trails(
    name: Option<&str>,
    of_capsule: &CapsuleOperation,
    of_registry: CapsuleOperation,
    context: &Context<'_>,
) -> Result<Vec<Value>, Failure> {
    let mut answers = each(name, of_capsule, context)?;
    if name.is_none() {
        answers.push(ask(context, None, of_registry)?);
    }
    Ok(answers)
}

/// Prints them: as text, or as `{items}`.
pub(super) fn show(lines: &[Value], context: &Context<'_>) {
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
        let (outcome, style) = match text(line, "outcome") {
            "ok" => ("ok".to_owned(), Style::Good),
            "denied" => (format!("denied: {}", text(line, "error_code")), Style::Bad),
            other => (format!("{other}: {}", text(line, "error_code")), Style::Careful),
        };
        let entry = match number(line, "version") {
            0 => text(line, "uri").to_owned(),
            version => format!("{} version {version}", text(line, "uri")),
        };
        table.row([
            Cell::plain(time(text(line, "ts"))),
            Cell::plain(text(line, "capsule")),
            Cell::plain(number(line, "seq").to_string()),
            Cell::plain(text(line, "agent")),
            Cell::plain(text(line, "action")),
            Cell::styled(style, outcome),
            Cell::plain(entry),
        ]);
    }
    table.print(printer);
}
