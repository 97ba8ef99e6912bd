//! `capdeck capsule list [NAME]`: all capsules, or the entries of one.

use capdeck_host::{CapsuleOperation, ListQuery};
use jiff::Timestamp;

use super::facts::{entries_table, items, more, number, page, text};
use crate::{
    capsule_desk::ask,
    completion::{capsules, entry_prefixes},
    context::Context,
    errors::{ExitStatus, Failure},
    plain_text::one_line,
    printer::Style,
    table::{Cell, Table},
};

/// List the capsules, or the entries of one
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  capdeck capsule list
  capdeck capsule list team --prefix docs://api --latest")]
pub(crate) struct ListArgs {
    /// The capsule whose entries are listed.
    #[arg(value_name = "NAME", add = capsules())]
    name: Option<String>,
    /// Only entries of this scheme.
    #[arg(long, value_name = "SCHEME", requires = "name")]
    scheme: Option<String>,
    /// Only entries at or below this address, such as `docs://api`.
    #[arg(long, value_name = "PREFIX", requires = "name", add = entry_prefixes())]
    prefix: Option<String>,
    /// Only entries with this tag.
    #[arg(long, value_name = "TAG", requires = "name")]
    tag: Option<String>,
    /// Only entries written after a time, a day or a span such as 7d.
    #[arg(long, value_name = "WHEN", requires = "name", value_parser = super::past)]
    since: Option<Timestamp>,
    /// Latest first, instead of by address.
    #[arg(long, requires = "name")]
    latest: bool,
    /// How many entries to show, at most 200.
    #[arg(long, value_name = "N", requires = "name", value_parser = clap::value_parser!(u32).range(1..=200))]
    limit: Option<u32>,
    /// Continue after the page that gave this cursor.
    #[arg(long, value_name = "CURSOR", requires = "name")]
    cursor: Option<String>,
}

pub(crate) fn run(args: &ListArgs, context: &Context<'_>) -> Result<ExitStatus, Failure> {
    let ListArgs { name, scheme, prefix, tag, since, latest, limit, cursor } = args;
    let Some(name) = name else { return list_capsules(context) };
    let query = ListQuery {
        scheme: scheme.clone(),
        prefix: prefix.clone(),
        tag: tag.clone(),
        written_after: *since,
        latest_first: *latest,
        limit: limit.map_or(0, |limit| limit as usize),
        cursor: cursor.clone(),
    };
    let answer = ask(context, Some(name), CapsuleOperation::List(query))?;
    let printer = context.printer;
    if printer.wants_json() {
        printer.json(&page(&answer, "entries", &["capsule"]));
        return Ok(ExitStatus::Done);
    }
    let entries = items(&answer, "entries");
    if entries.is_empty() {
        printer.note("no entries");
        return Ok(ExitStatus::Done);
    }
    entries_table(entries).print(printer);
    more(&answer, printer);
    Ok(ExitStatus::Done)
}

fn list_capsules(context: &Context<'_>) -> Result<ExitStatus, Failure> {
    let answer = ask(context, None, CapsuleOperation::ListCapsules { with_counts: true })?;
    let printer = context.printer;
    if printer.wants_json() {
        printer.json(&page(&answer, "capsules", &[]));
        return Ok(ExitStatus::Done);
    }
    let capsules = items(&answer, "capsules");
    if capsules.is_empty() {
        printer.note("there are no capsules; make one with: capdeck capsule new NAME");
        return Ok(ExitStatus::Done);
    }
    let mut table = Table::new(["ID", "NAME", "ENTRIES", "VISIBILITY", "DESCRIPTION"]);
    for capsule in capsules {
        let entries = match text(capsule, "problem") {
            "" => Cell::plain(number(capsule, "entries").to_string()),
            _ => Cell::styled(Style::Bad, "unreadable"),
        };
        table.row([
            Cell::styled(Style::Strong, text(capsule, "id")),
            Cell::plain(text(capsule, "name")),
            entries,
            Cell::plain(text(capsule, "visibility")),
            Cell::plain(text(capsule, "description")),
        ]);
    }
    table.print(printer);
    for capsule in capsules.iter().filter(|capsule| !text(capsule, "problem").is_empty()) {
        let what = format!("{}: {}", text(capsule, "id"), text(capsule, "problem"));
        printer.note(&one_line(&what));
    }
    Ok(ExitStatus::Done)
}
