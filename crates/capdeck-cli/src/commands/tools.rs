//! `capdeck tools ID`: the tools of one capability.

use std::sync::Arc;

use capdeck_catalog::{Discovery, RawMembers, Tool, ToolSearchMatch, shell_word, signature};
use capdeck_host::{
    CallContext, CallError, ClientProfile, DeckSearchResults, EntryHit, ErrorCode, NoCaller,
    Session, ToolQuery, calls, check, described_tool, found_tool, search, tool_item,
};
use serde_json::{Value, json, value::RawValue};

use crate::{
    completion::{ids, ids_and_tools, tools_of_id},
    context::CommandContext,
    errors::{CommandFailure, CommandResult, ExitStatus},
    plain_text::{lines, one_line},
    printer::{ColorPalette, TextStyle},
    runtime::{with_caller, with_operator},
    table::{TableCell, TextTable},
    tool_target::ToolTarget,
};

/// Show the tools of one capability
///
/// Connects only when they are not known yet.
#[derive(Debug, clap::Args)]
pub(crate) struct ToolsArgs {
    /// The capability's id.
    #[arg(value_name = "ID", add = ids())]
    id: String,
    /// Ask the capability again instead of using what it said last.
    #[arg(long)]
    refresh: bool,
}

pub(crate) fn list(args: &ToolsArgs, context: &CommandContext<'_>) -> CommandResult {
    let ToolsArgs { id, refresh } = args;
    let printer = context.printer;
    let discovery = with_operator(context, async |session, call| {
        let _progress = printer.progress(&format!("asking {id} for its tools"));
        discover(session, id, *refresh, call).await
    })?;
    if printer.wants_json() {
        let items: Vec<RawMembers> = discovery.tools.iter().map(|tool| tool_item(tool)).collect();
        printer.json(&json!({ "items": items }));
    } else if discovery.tools.is_empty() {
        printer.note(&format!("`{id}` offers no tools"));
    } else {
        let mut table = TextTable::new(["TOOL", "DESCRIPTION"]);
        for tool in &discovery.tools {
            let call = signature(&shell_word(tool.name()), tool);
            table.row([TableCell::plain(call), TableCell::plain(first_sentence(tool))]);
        }
        table.print(printer);
    }
    Ok(ExitStatus::Done)
}

/// What the capability offers: as known, or asked now.
pub(crate) async fn discover(
    session: &Session,
    id: &str,
    refresh: bool,
    call: &CallContext,
) -> Result<Arc<Discovery>, CommandFailure> {
    let capability = session.snapshot().capability(id)?;
    match &capability.discovery {
        Some(known) if !refresh => Ok(known.clone()),
        _ => Ok(check::check(&session.request(call), id).await.outcome?),
    }
}

/// The first line of a description, which usually is its summary.
pub(crate) fn first_sentence(tool: &Tool) -> String {
    let description = tool.description().or_else(|| tool.title()).unwrap_or_default();
    one_line(description.trim().lines().next().unwrap_or_default())
}

/// Show one tool with its schemas
///
/// Of a tool that does not say what it answers, what its results looked like so far is shown: types and names of fields.
#[derive(Debug, clap::Args)]
pub(crate) struct DescribeArgs {
    /// The capability's id, or `ID.TOOL`.
    #[arg(value_name = "ID", add = ids_and_tools())]
    id: String,
    /// The tool's name.
    #[arg(value_name = "TOOL", add = tools_of_id())]
    tool: Option<String>,
}

pub(crate) fn describe(args: &DescribeArgs, context: &CommandContext<'_>) -> CommandResult {
    let words: Vec<String> = args.tool.iter().cloned().collect();
    let host = context.open_host()?;
    let file = host.deck().capability_file.clone();
    let (target, rest) = ToolTarget::take_from(file.as_deref(), &args.id, &words)?;
    if let Some(word) = rest.first() {
        return Err(CommandFailure::usage(format!("there is one word too many: `{word}`")));
    }
    let printer = context.printer;
    let (tool, shape) =
        with_caller(host, ClientProfile::default(), Arc::new(NoCaller), async |session, call| {
            let _progress = printer.progress(&format!("asking {} for its tools", target.id));
            let capability = session.snapshot().capability(&target.id)?;
            let found = calls::find_tool(&session.request(call), &capability, &target.tool).await?;
            let tool = found.ok_or_else(|| {
                let ToolTarget { id, tool } = &target;
                CallError::new(ErrorCode::ToolNotFound, format!("`{id}` has no tool `{tool}`"))
            })?;
            let shape = session.host().observed_shape(&capability.definition, &tool);
            Ok((tool, shape))
        })?;
    if printer.wants_json() {
        printer.json(&described_tool(&target.id, &tool, shape.as_ref()));
    } else {
        let mut text = to_text(&target.id, &tool, printer.palette());
        if let Some(seen) = shape.as_ref().and_then(|shape| shape["typeScript"].as_str()) {
            let title =
                printer.palette().paint(TextStyle::Dim, "output, as its results looked so far");
            text.push_str(&format!("\n{title}\n{}\n", lines(seen)));
        }
        printer.data(&text);
    }
    Ok(ExitStatus::Done)
}

fn to_text(id: &str, tool: &Tool, palette: ColorPalette) -> String {
    let mut text = format!(
        "{} {}\n",
        palette.paint(TextStyle::Dim, id),
        palette.paint(TextStyle::Strong, &one_line(&signature(&shell_word(tool.name()), tool)))
    );
    if let Some(title) = tool.title() {
        text.push_str(&format!("{}\n", one_line(&title)));
    }
    if let Some(description) = tool.description() {
        text.push_str(&format!("\n{}\n", lines(description.trim())));
    }
    for (title, schema) in [("input", tool.input_schema()), ("output", tool.output_schema())] {
        if let Some(schema) = schema {
            text.push_str(&format!(
                "\n{}\n{}\n",
                palette.paint(TextStyle::Dim, title),
                indented(schema)
            ));
        }
    }
    if let Some(annotations) = tool.raw().get("annotations") {
        text.push_str(&format!("\n{}\n", palette.paint(TextStyle::Dim, "annotations")));
        text.push_str(&format!("{}\n", indented(annotations)));
    }
    text
}

fn indented(json: &RawValue) -> String {
    let value: Value = serde_json::from_str(json.get()).unwrap_or_default();
    lines(&serde_json::to_string_pretty(&value).unwrap_or_default())
}

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

pub(crate) fn search(args: &SearchArgs, context: &CommandContext<'_>) -> CommandResult {
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
        printer.json(&answer_to_json(&answer));
        return Ok(ExitStatus::Done);
    }
    if answer.hits.is_empty() && answer.entries.is_empty() {
        printer.note("no tool matches; try other words for what it should do");
    } else if !answer.hits.is_empty() {
        tool_table(&answer.hits).print(printer);
    }
    if !answer.entries.is_empty() {
        entry_table(&answer.entries).print(printer);
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

fn tool_table(hits: &[ToolSearchMatch]) -> TextTable {
    let mut table = TextTable::new(["CAPABILITY", "TOOL", "DESCRIPTION"]);
    for hit in hits {
        let (tool, description) = match &hit.tool {
            Some(tool) => (signature(&shell_word(tool.name()), tool), first_sentence(tool)),
            None => ("(not known yet)".to_owned(), String::new()),
        };
        table.row([
            TableCell::plain(hit.capability.as_str()),
            TableCell::plain(tool),
            TableCell::plain(description),
        ]);
    }
    table
}

fn entry_table(hits: &[EntryHit]) -> TextTable {
    let mut table = TextTable::new(["CAPSULE", "ENTRY", "TITLE"]);
    for hit in hits {
        let title = one_line(&hit.title);
        let title = if hit.is_stale { format!("{title} (stale)") } else { title };
        table.row([
            TableCell::plain(hit.capsule.as_str()),
            TableCell::plain(hit.uri.as_str()),
            TableCell::plain(title),
        ]);
    }
    table
}

fn answer_to_json(answer: &DeckSearchResults) -> Value {
    let items: Vec<RawMembers> = answer.hits.iter().map(found_tool).collect();
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
