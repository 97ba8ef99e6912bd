//! `capdeck capsule list [NAME]`: all capsules, or the entries of one.

use capdeck_host::{CapsuleVisibility, ListCapsulesRequest, ListQuery};
use jiff::Timestamp;

use super::display::{ListingPage, entries_table, more};
use crate::{
    capsule_client::ask,
    completion::{capsules, entry_prefixes},
    context::CommandContext,
    errors::{CommandFailure, ExitStatus},
    plain_text::one_line,
    printer::TextStyle,
    table::{TableCell, TextTable},
};

/// List the capsules, or the entries of one
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  capdeck capsule list
  capdeck capsule list team --prefix docs://api --latest")]
pub(crate) struct CapsuleListArgs {
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

pub(crate) fn run(
    args: &CapsuleListArgs,
    context: &CommandContext<'_>,
) -> Result<ExitStatus, CommandFailure> {
    let CapsuleListArgs { name, scheme, prefix, tag, since, latest, limit, cursor } = args;
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
    let answer = ask(context, Some(name), query)?;
    let printer = context.printer;
    if printer.wants_json() {
        let page = ListingPage::whole(Some(&answer.capsule), &answer.entries);
        printer.json(&ListingPage { next_cursor: answer.next_cursor.as_deref(), ..page });
        return Ok(ExitStatus::Done);
    }
    if answer.entries.is_empty() {
        printer.note("no entries");
        return Ok(ExitStatus::Done);
    }
    entries_table(&answer.entries).print(printer);
    more(answer.next_cursor.as_deref(), printer);
    Ok(ExitStatus::Done)
}

fn list_capsules(context: &CommandContext<'_>) -> Result<ExitStatus, CommandFailure> {
    let capsules = ask(context, None, ListCapsulesRequest { with_counts: true })?.capsules;
    let printer = context.printer;
    if printer.wants_json() {
        printer.json(&ListingPage::whole(None, &capsules));
        return Ok(ExitStatus::Done);
    }
    if capsules.is_empty() {
        printer.note("there are no capsules; make one with: capdeck capsule new NAME");
        return Ok(ExitStatus::Done);
    }
    let mut table = TextTable::new(["ID", "NAME", "ENTRIES", "VISIBILITY", "DESCRIPTION"]);
    for capsule in &capsules {
        let entries = match &capsule.problem {
            None => TableCell::plain(capsule.entries.unwrap_or_default().to_string()),
            Some(_) => TableCell::styled(TextStyle::Bad, "unreadable"),
        };
        let visibility = match capsule.info.visibility {
            CapsuleVisibility::Private => "private",
            CapsuleVisibility::Team => "team",
            CapsuleVisibility::Discoverable => "discoverable",
        };
        table.row([
            TableCell::styled(TextStyle::Strong, capsule.info.id.as_str()),
            TableCell::plain(capsule.info.name.as_str()),
            entries,
            TableCell::plain(visibility),
            TableCell::plain(capsule.info.description.as_str()),
        ]);
    }
    table.print(printer);
    for capsule in &capsules {
        if let Some(problem) = &capsule.problem {
            printer.note(&one_line(&format!("{}: {problem}", capsule.info.id)));
        }
    }
    Ok(ExitStatus::Done)
}
