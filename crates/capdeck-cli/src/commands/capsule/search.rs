//! `capdeck capsule search NAME WORDS`: entries by what they say.

use capdeck_host::SearchQuery;
use jiff::Timestamp;

use super::{
    display::{ListingPage, more},
    write::RiskClassArg,
};
use crate::{
    capsule_client::ask,
    completion::{capsules, entry_prefixes},
    context::CommandContext,
    errors::{CommandFailure, ExitStatus},
    printer::TextStyle,
    table::{TableCell, TextTable},
};

/// Find entries by what they say
///
/// Plain words, typing errors allowed; "…" is a phrase that must occur, begin* stands for longer words.
#[derive(Debug, clap::Args)]
pub(crate) struct CapsuleSearchArgs {
    /// The capsule.
    #[arg(value_name = "NAME", add = capsules())]
    name: String,
    /// What to look for. Several words need no quotes.
    #[arg(value_name = "QUERY", required = true)]
    query: Vec<String>,
    /// Only entries of this scheme.
    #[arg(long, value_name = "SCHEME")]
    scheme: Option<String>,
    /// Only entries at or below this address.
    #[arg(long, value_name = "PREFIX", add = entry_prefixes())]
    prefix: Option<String>,
    /// Only entries with this tag. Can be repeated: all of them.
    #[arg(long = "tag", value_name = "TAG")]
    tags: Vec<String>,
    /// Only entries whose writer's name begins so.
    #[arg(long, value_name = "WRITER")]
    author: Option<String>,
    /// Only entries of this class.
    #[arg(long, value_name = "CLASS")]
    risk_class: Option<RiskClassArg>,
    /// Only entries written after a time, a day or a span such as 7d.
    #[arg(long, value_name = "WHEN", value_parser = super::past)]
    since: Option<Timestamp>,
    /// Only entries written before a time, a day or a span such as 7d.
    #[arg(long, value_name = "WHEN", value_parser = super::past)]
    until: Option<Timestamp>,
    /// How many results to show, at most 50.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=50))]
    limit: Option<u32>,
    /// Continue after the page that gave this cursor.
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,
}

pub(crate) fn run(
    args: &CapsuleSearchArgs,
    context: &CommandContext<'_>,
) -> Result<ExitStatus, CommandFailure> {
    let CapsuleSearchArgs {
        name,
        query,
        scheme,
        prefix,
        tags,
        author,
        risk_class,
        since,
        until,
        limit,
        cursor,
    } = args;
    let question = SearchQuery {
        query: query.join(" "),
        scheme: scheme.clone(),
        prefix: prefix.clone(),
        tags: tags.clone(),
        author: author.clone(),
        risk_class: risk_class.map(RiskClassArg::value),
        written_after: *since,
        written_before: *until,
        limit: limit.map_or(0, |limit| limit as usize),
        cursor: cursor.clone(),
    };
    let answer = ask(context, Some(name), question)?;
    let printer = context.printer;
    if printer.wants_json() {
        let page = ListingPage::whole(Some(&answer.capsule), &answer.hits);
        let next_cursor = answer.next_cursor.as_deref();
        printer.json(&ListingPage { total: Some(answer.total), next_cursor, ..page });
        return Ok(ExitStatus::Done);
    }
    if answer.hits.is_empty() {
        printer.note("nothing matches; try other words");
        return Ok(ExitStatus::Done);
    }
    let mut table = TextTable::new(["URI", "FOUND"]);
    for hit in &answer.hits {
        let mark = if hit.stale { "(stale) " } else { "" };
        table.row([
            TableCell::styled(TextStyle::Strong, hit.info.uri.as_str()),
            TableCell::plain(format!("{mark}{}", hit.snippet)),
        ]);
    }
    table.print(printer);
    more(answer.next_cursor.as_deref(), printer);
    Ok(ExitStatus::Done)
}
