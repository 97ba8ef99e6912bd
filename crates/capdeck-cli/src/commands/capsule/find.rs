//! `capdeck capsule list`, `search`, `show`, `history` and `deleted`: what there is, and what is known about it.

use capdeck_host::{
    AnchorState, DeletedRequest, HistoryRequest, ListCapsulesRequest, ListQuery, OverviewRequest,
    OverviewResponse, ReadBody, ReadRequest, ReadResponse, RiskClass, SearchQuery,
};
use jiff::Timestamp;
use serde_json::json;

use super::{
    CapsuleEntryArgs, CapsuleNameArg,
    display::{RISK_CLASSES, entries_table, more, past},
};
use crate::{
    args::choice,
    capsule_client::{ask, ask_and_show},
    commands::CommandContext,
    completion::{capsules, entries},
    errors::CommandResult,
    plain_text::{one_line, time, without_nulls, written},
    printer::{Printer, TextStyle},
    table::{TextTable, cell, styled},
};

/// List the capsules, or the entries of one
#[derive(Debug, Default, clap::Args)]
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
    #[arg(long, value_name = "PREFIX", requires = "name", add = entries())]
    prefix: Option<String>,
    /// Only entries with this tag.
    #[arg(long, value_name = "TAG", requires = "name")]
    tag: Option<String>,
    /// Only entries written after a time, a day or a span such as 7d.
    #[arg(long, value_name = "WHEN", requires = "name", value_parser = past)]
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

pub(super) fn list(args: &CapsuleListArgs, context: &CommandContext<'_>) -> CommandResult {
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
    let found = ask(context, Some(name), query)?;
    let printer = context.printer;
    let page = json!({ "items": found.entries, "capsule": found.capsule, "nextCursor": found.next_cursor });
    printer.json_or(&without_nulls(page), || {
        entries_table(&found.entries).print_or("no entries", printer);
        more(found.next_cursor.as_deref(), printer);
    })
}

fn list_capsules(context: &CommandContext<'_>) -> CommandResult {
    let capsules = ask(context, None, ListCapsulesRequest { with_counts: true })?.capsules;
    let printer = context.printer;
    printer.json_or(&json!({ "items": capsules }), || {
        let heading = ["ID", "NAME", "ENTRIES", "VISIBILITY", "DESCRIPTION"];
        let table = TextTable::new(heading, &capsules, |capsule| {
            let entries = match &capsule.problem {
                None => cell(capsule.entries.unwrap_or_default()),
                Some(_) => styled(TextStyle::Bad, "unreadable"),
            };
            let info = &capsule.info;
            [
                styled(TextStyle::Strong, &info.id),
                cell(&info.name),
                entries,
                cell(written(info.visibility)),
                cell(&info.description),
            ]
        });
        table.print_or("there are no capsules; make one with: capdeck capsule new NAME", printer);
        for capsule in &capsules {
            if let Some(problem) = &capsule.problem {
                printer.note(&one_line(&format!("{}: {problem}", capsule.info.id)));
            }
        }
    })
}

/// Find entries by what they say
///
/// Plain words, typing errors allowed; "…" is a phrase that must occur, begin* matches longer words.
#[derive(Debug, clap::Args)]
pub(crate) struct CapsuleSearchArgs {
    #[command(flatten)]
    capsule: CapsuleNameArg,
    /// What to look for. Several words need no quotes.
    #[arg(value_name = "QUERY", required = true)]
    query: Vec<String>,
    /// Only entries of this scheme.
    #[arg(long, value_name = "SCHEME")]
    scheme: Option<String>,
    /// Only entries at or below this address.
    #[arg(long, value_name = "PREFIX", add = entries())]
    prefix: Option<String>,
    /// Only entries with this tag. Can be repeated: all of them.
    #[arg(long = "tag", value_name = "TAG")]
    tags: Vec<String>,
    /// Only entries whose writer's name begins so.
    #[arg(long, value_name = "WRITER")]
    author: Option<String>,
    /// Only entries of this class.
    #[arg(long, value_name = "CLASS", value_parser = choice(RISK_CLASSES))]
    risk_class: Option<RiskClass>,
    /// Only entries written after a time, a day or a span such as 7d.
    #[arg(long, value_name = "WHEN", value_parser = past)]
    since: Option<Timestamp>,
    /// Only entries written before a time, a day or a span such as 7d.
    #[arg(long, value_name = "WHEN", value_parser = past)]
    until: Option<Timestamp>,
    /// How many results to show, at most 50.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=50))]
    limit: Option<u32>,
    /// Continue after the page that gave this cursor.
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,
}

pub(super) fn search(args: &CapsuleSearchArgs, context: &CommandContext<'_>) -> CommandResult {
    let question = SearchQuery {
        query: args.query.join(" "),
        scheme: args.scheme.clone(),
        prefix: args.prefix.clone(),
        tags: args.tags.clone(),
        author: args.author.clone(),
        risk_class: args.risk_class,
        written_after: args.since,
        written_before: args.until,
        limit: args.limit.map_or(0, |limit| limit as usize),
        cursor: args.cursor.clone(),
    };
    let found = ask(context, Some(&args.capsule.name), question)?;
    let printer = context.printer;
    let page = json!({
        "items": found.hits,
        "capsule": found.capsule,
        "total": found.total,
        "nextCursor": found.next_cursor,
    });
    printer.json_or(&without_nulls(page), || {
        let table = TextTable::new(["URI", "FOUND"], &found.hits, |hit| {
            let mark = if hit.stale { "(stale) " } else { "" };
            let snippet = format!("{mark}{}", hit.snippet);
            [styled(TextStyle::Strong, &hit.info.uri), cell(snippet)]
        });
        table.print_or("nothing matches; try other words", printer);
        more(found.next_cursor.as_deref(), printer);
    })
}

/// List all versions of an entry, the latest first
#[derive(Debug, clap::Args)]
pub(crate) struct CapsuleHistoryArgs {
    #[command(flatten)]
    entry: CapsuleEntryArgs,
}

pub(super) fn history(args: &CapsuleHistoryArgs, context: &CommandContext<'_>) -> CommandResult {
    let CapsuleEntryArgs { name, uri } = &args.entry;
    let mut found = ask(context, Some(name), HistoryRequest { uri: uri.clone() })?;
    found.versions.reverse();
    let page = json!({ "items": found.versions, "capsule": found.capsule, "uri": found.uri });
    context.printer.json_or(&page, || {
        let heading = ["VERSION", "WRITTEN", "BY", "CLASS", "BYTES"];
        let table = TextTable::new(heading, &found.versions, |info| {
            [
                cell(info.version),
                cell(time(info.written_at)),
                cell(&info.written_by),
                cell(info.risk_class.as_str()),
                cell(info.bytes),
            ]
        });
        table.print(context.printer);
    })
}

/// List entries that were deleted and can be restored
#[derive(Debug, clap::Args)]
pub(crate) struct CapsuleDeletedArgs {
    #[command(flatten)]
    capsule: CapsuleNameArg,
}

pub(super) fn deleted(args: &CapsuleDeletedArgs, context: &CommandContext<'_>) -> CommandResult {
    let found = ask(context, Some(&args.capsule.name), DeletedRequest)?;
    let page = json!({ "items": found.deleted, "capsule": found.capsule });
    context.printer.json_or(&page, || {
        let heading = ["URI", "VERSION", "DELETED", "BY"];
        let table = TextTable::new(heading, &found.deleted, |entry| {
            [
                styled(TextStyle::Strong, &entry.uri),
                cell(entry.version),
                cell(time(entry.deleted_at)),
                cell(&entry.deleted_by),
            ]
        });
        table.print_or("nothing is deleted", context.printer);
    })
}

/// Show the contents of a capsule, or what is known about one entry
#[derive(Debug, clap::Args)]
pub(crate) struct CapsuleShowArgs {
    /// The capsule.
    #[arg(value_name = "NAME", add = capsules())]
    name: String,
    /// The entry.
    #[arg(value_name = "URI", add = entries())]
    uri: Option<String>,
    /// An older version of the entry.
    #[arg(long, value_name = "N", requires = "uri")]
    version: Option<u64>,
}

pub(super) fn show(args: &CapsuleShowArgs, context: &CommandContext<'_>) -> CommandResult {
    let CapsuleShowArgs { name, uri, version } = args;
    match uri.clone() {
        None => ask_and_show(context, Some(name), OverviewRequest, show_capsule),
        Some(uri) => {
            let read = ReadRequest { uri, version: *version, body: ReadBody::Meta };
            ask_and_show(context, Some(name), read, show_entry)
        }
    }
}

fn show_capsule(overview: &OverviewResponse, printer: &Printer) {
    line(printer, "capsule", &overview.capsule);
    line(printer, "name", &overview.name);
    line(printer, "for", &overview.description);
    printer.data("\n");
    let table = TextTable::new(["SCHEME", "ENTRIES"], &overview.schemes, |count| {
        [cell(format!("{}://", count.scheme)), cell(count.entries)]
    });
    table.print(printer);
    if !overview.recent.is_empty() {
        printer.data("\n");
        entries_table(&overview.recent).print(printer);
    }
}

fn show_entry(entry: &ReadResponse, printer: &Printer) {
    let info = &entry.info;
    line(printer, "uri", info.uri.as_str());
    line(printer, "title", &info.title);
    line(printer, "version", &info.version.to_string());
    line(printer, "class", info.risk_class.as_str());
    line(printer, "because", info.promotion_reason.map_or("", |reason| reason.as_str()));
    line(printer, "by", &info.written_by);
    if let Some(client) = &info.client {
        line(printer, "client", &format!("{client} (claimed)"));
    }
    line(printer, "at", &time(info.written_at));
    let commit = info.commit_at_write.as_ref().map(ToString::to_string);
    line(printer, "commit", &commit.unwrap_or_default());
    line(printer, "tags", &info.tags.join(", "));
    line(printer, "bytes", &info.bytes.to_string());
    if let Some(blob) = &info.blob {
        line(printer, "blob", &format!("{} ({} bytes, {})", blob.sha256, blob.bytes, blob.mime));
    }
    for anchor in &entry.anchors {
        let state = match anchor.state {
            AnchorState::Unchecked => String::new(),
            state => format!(" ({})", state.as_str()),
        };
        line(printer, "cites", &format!("{}{state}", anchor.path));
    }
}

fn line(printer: &Printer, name: &str, value: &str) {
    if !value.is_empty() {
        printer.data(&format!("{name:<8}  {}\n", one_line(value)));
    }
}
