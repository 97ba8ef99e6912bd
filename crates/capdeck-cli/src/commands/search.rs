//! `capdeck search QUERY`: tools by what they do.

use capdeck_catalog::{RawObject, SearchHit, shell_word, signature};
use capdeck_host::{EntryHit, SearchAnswer, ToolQuery, found_tool, search};
use serde_json::{Value, json};

use super::tools::first_sentence;
use crate::{
    completion::ids,
    context::Context,
    errors::{ExitStatus, Failure},
    plain_text::one_line,
    runtime::with_operator,
    table::{Cell, Table},
};

/// Find tools by what they do, in plain words
///
/// Searches the whole deck, asking capabilities whose tools are not known yet, and the entries of capsules.
#[derive(Debug, clap::Args)]
pub(crate) struct SearchArgs {
    /// What the tool should do. Several words need no quotes.
    #[arg(value_name = "QUERY", required = true)]
    query: Vec<String>,
    /// Search only this capability.
    #[arg(long = "in", value_name = "ID", add = ids())]
    within: Option<String>,
    /// How many results to show.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    limit: Option<u32>,
    /// Continue after the page that gave this cursor.
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,
}

pub(crate) fn run(args: &SearchArgs, context: &Context<'_>) -> Result<ExitStatus, Failure> {
    let SearchArgs { query, within, limit, cursor } = args;
    let printer = context.printer;
    let query = query.join(" ");
    let limit = limit.map(|limit| limit as usize);
    let answer = with_operator(context, async |session, call| {
        let _progress = printer.progress("searching");
        Ok(search::find(
            &session.request(call),
            ToolQuery {
                words: &query,
                within: within.as_deref(),
                limit,
                cursor: cursor.as_deref(),
            },
        )
        .await?)
    })?;
    if printer.wants_json() {
        printer.json(&to_json(&answer));
        return Ok(ExitStatus::Done);
    }
    if answer.hits.is_empty() && answer.entries.is_empty() {
        printer.note("no tool matches; try other words for what it should do");
    } else if !answer.hits.is_empty() {
        table(&answer.hits).print(printer);
    }
    if !answer.entries.is_empty() {
        entries(&answer.entries).print(printer);
    }
    for (id, error) in &answer.unavailable {
        printer.warn(&format!("`{id}` was not searched: {}", one_line(&error.to_string())));
    }
    if let Some(cursor) = &answer.next_cursor {
        let shown = answer.hits.len();
        printer.note(&format!("{shown} of {} shown; more with: --cursor {cursor}", answer.total));
    }
    Ok(ExitStatus::Done)
}

fn table(hits: &[SearchHit]) -> Table {
    let mut table = Table::new(["CAPABILITY", "TOOL", "DESCRIPTION"]);
    for hit in hits {
        let (tool, description) = match &hit.tool {
            Some(tool) => (signature(&shell_word(tool.name()), tool), first_sentence(tool)),
            None => ("(not known yet)".to_owned(), String::new()),
        };
        table.row([
            Cell::plain(hit.capability.as_str()),
            Cell::plain(tool),
            Cell::plain(description),
        ]);
    }
    table
}

fn entries(hits: &[EntryHit]) -> Table {
    let mut table = Table::new(["CAPSULE", "ENTRY", "TITLE"]);
    for hit in hits {
        let title = one_line(&hit.title);
        let title = if hit.is_stale { format!("{title} (stale)") } else { title };
        table.row([
            Cell::plain(hit.capsule.as_str()),
            Cell::plain(hit.uri.as_str()),
            Cell::plain(title),
        ]);
    }
    table
}

fn to_json(answer: &SearchAnswer) -> Value {
    let items: Vec<RawObject> = answer.hits.iter().map(found_tool).collect();
    let mut page = json!({ "items": items, "total": answer.total });
    if let Some(cursor) = &answer.next_cursor {
        page["nextCursor"] = json!(cursor);
    }
    if !answer.entries.is_empty() {
        page["entries"] = answer.entries.iter().map(EntryHit::facts).collect();
    }
    if !answer.unavailable.is_empty() {
        let rows = answer.unavailable.iter();
        page["unavailable"] = rows
            .map(|(id, error)| json!({ "capability": id, "reason": error.to_string() }))
            .collect();
    }
    page
}
