//! `capdeck tools`, `describe`, `search` and `types`: what can be called.

use std::sync::Arc;

use capdeck_catalog::{Discovery, RawMembers, Tool, ToolSearchMatch, shell_word, signature};
use capdeck_host::{
    CallContext, ClientProfile, DeckSearchResults, EntryHit, MissingList, NoCaller, Session,
    ToolQuery, check, code_mode, described_tool, found_tool, observed_shape, search, tool_item,
};
use serde_json::{Value, json, value::RawValue};

use super::call::find_tool;
use crate::{
    arguments::{ToolParameters, plain, schema_value},
    commands::CommandContext,
    completion::{ids, ids_and_tools, tools_of_id},
    errors::{CommandFailure, CommandResult},
    plain_text::{first_line, lines, one_line, without_nulls},
    printer::{ColorPalette, TextStyle},
    runtime::{with_caller, with_operator},
    table::{TextTable, cell},
    tool_target::{self, ToolTarget},
};

/// Show the tools of one capability
///
/// One line per tool, with its arguments; `capdeck describe ID TOOL` shows one in full. Connects only when they are not known yet.
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
        let _progress =
            printer.progress(&format!("asking {id} for its tools")).following(session.host());
        discover(session, id, *refresh, call).await
    })?;
    let items: Vec<RawMembers> = discovery.tools.iter().map(|tool| tool_item(tool)).collect();
    printer.json_or(&json!({ "items": items }), || {
        let table = TextTable::new(["TOOL", "DESCRIPTION"], &discovery.tools, |tool| {
            [cell(signature(&shell_word(tool.name()), tool)), cell(first_sentence(tool))]
        });
        table.print_or(&format!("`{id}` offers no tools"), printer);
    })
}

/// What the capability offers: as known, or asked now.
async fn discover(
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

fn first_sentence(tool: &Tool) -> String {
    first_line(&tool.description().or_else(|| tool.title()).unwrap_or_default())
}

/// Show one tool in full: what it does, its arguments and its result
///
/// For a look before a call or before you approve one. Of a tool that does not say what it answers, what its results looked like so far is shown: types and names of fields.
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
            let _progress = printer
                .progress(&format!("asking {} for its tools", target.id))
                .following(session.host());
            let (capability, tool) = find_tool(session, call, &target.id, &target.tool).await?;
            let shape = observed_shape(session.host(), &capability.definition, &tool);
            Ok((tool, shape))
        })?;
    let mut text = to_text(&target.id, &tool, printer.palette);
    if let Some(seen) = shape.as_ref().and_then(|shape| shape["typeScript"].as_str()) {
        let title = printer.palette.paint(TextStyle::Dim, "output, as its results looked so far");
        text.push_str(&format!("\n{title}\n{}\n", lines(seen)));
    }
    printer.show(&described_tool(&target.id, &tool, shape.as_ref()), &text)
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
    let parts = [
        ("input", tool.input_schema()),
        ("output", tool.output_schema()),
        ("annotations", tool.raw().get("annotations").map(AsRef::as_ref)),
    ];
    for (title, part) in parts {
        if let Some(part) = part {
            let title = palette.paint(TextStyle::Dim, title);
            text.push_str(&format!("\n{title}\n{}\n", indented(part)));
        }
    }
    text
}

fn indented(json: &RawValue) -> String {
    let value: Value = serde_json::from_str(json.get()).unwrap_or_default();
    lines(&serde_json::to_string_pretty(&value).unwrap_or_default())
}

/// Find tools by what they do, in plain words
///
/// For a tool whose name you do not know; agents search in the same way. Ends in the command line that calls the first one. Searches
/// the whole deck, asking capabilities whose tools are not known yet, and the entries of capsules.
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
    let (within, cursor) = (within.as_deref(), cursor.as_deref());
    let answer = with_operator(context, async |session, call| {
        let _progress = printer.progress("searching").following(session.host());
        let query = ToolQuery { words: &query, within, limit, cursor };
        Ok(search::find(&session.request(call), query).await?)
    })?;
    printer.json_or(&answer_to_json(&answer), || {
        let DeckSearchResults { hits, entries, .. } = &answer;
        let tools = TextTable::new(["CAPABILITY", "TOOL", "DESCRIPTION"], hits, |hit| {
            let (tool, description) = match &hit.tool {
                Some(tool) => (signature(&shell_word(tool.name()), tool), first_sentence(tool)),
                None => ("(not known yet)".to_owned(), String::new()),
            };
            [cell(&hit.capability), cell(tool), cell(description)]
        });
        if !hits.is_empty() || entries.is_empty() {
            tools.print_or("no tool matches; try other words for what it should do", printer);
        }
        if let Some(line) = hits.first().and_then(call_line) {
            printer.note(&format!("call it with: {line}"));
        }
        if !entries.is_empty() {
            let table = TextTable::new(["CAPSULE", "ENTRY", "TITLE"], entries, |hit| {
                let mark = if hit.is_stale { " (stale)" } else { "" };
                [cell(&hit.capsule), cell(&hit.uri), cell(format!("{}{mark}", hit.title))]
            });
            table.print(printer);
        }
        for MissingList { id, error, is_starting } in &answer.unavailable {
            let reason = match is_starting {
                true => format!("it is still starting; wait for it with: capdeck check {id}"),
                false => one_line(&error.to_string()),
            };
            printer.warn(&format!("`{id}` was not searched: {reason}"));
        }
        if let Some(cursor) = &answer.next_cursor {
            let (shown, total) = (hits.len(), answer.total);
            printer.note(&format!("{shown} of {total} shown; more with: --cursor {cursor}"));
        }
    })
}

/// The command line that calls a tool, with the arguments it requires.
fn call_line(hit: &ToolSearchMatch) -> Option<String> {
    let tool = hit.tool.as_ref()?;
    let schema = schema_value(tool.input_schema());
    let mut words =
        vec!["capdeck call".to_owned(), hit.capability.to_string(), shell_word(tool.name())];
    for one in ToolParameters::from_schema(&schema).iter().filter(|one| one.is_required) {
        let choice = one.words().and_then(|choices| choices.first().map(|choice| plain(choice)));
        let example = choice.map_or_else(|| "…".to_owned(), |choice| shell_word(&choice));
        words.push(format!("{}={example}", shell_word(one.name)));
    }
    Some(one_line(&words.join(" ")))
}

fn answer_to_json(answer: &DeckSearchResults) -> Value {
    let items: Vec<RawMembers> = answer.hits.iter().map(found_tool).collect();
    let entries: Vec<_> = answer.entries.iter().map(EntryHit::facts).collect();
    without_nulls(json!({
        "items": items,
        "total": answer.total,
        "nextCursor": answer.next_cursor,
        "entries": (!entries.is_empty()).then_some(entries),
        "unavailable": (!answer.unavailable.is_empty()).then(|| answer.unavailable_rows()),
    }))
}

/// Show what code can call, as TypeScript declarations
///
/// For writing code for `capdeck run`. Of one capability or one tool, asking for its tools if they are not known; without an ID, of everything that is known.
#[derive(Debug, clap::Args)]
pub(crate) struct TypesArgs {
    /// The capability's id, or `ID.TOOL`.
    #[arg(value_name = "ID", add = ids_and_tools())]
    id: Option<String>,
    /// Only this tool.
    #[arg(value_name = "TOOL", add = tools_of_id())]
    tool: Option<String>,
}

pub(crate) fn types(args: &TypesArgs, context: &CommandContext<'_>) -> CommandResult {
    let printer = context.printer;
    let items = with_operator(context, async |session, call| match &args.id {
        Some(id) => {
            let _progress =
                printer.progress(&format!("asking {id} for its tools")).following(session.host());
            let (id, tool) = tool_target::split_words(id, args.tool.as_ref())?;
            let types = code_mode::types_of(&session.request(call), &id, tool.as_deref()).await?;
            Ok(vec![json!({ "id": id, "typeScript": types })])
        }
        None => known_types(session, call).await,
    })?;
    printer.json_or(&json!({ "items": items }), || {
        for item in &items {
            let text = match item["typeScript"].as_str() {
                Some(types) => types.to_owned(),
                None => {
                    let id = item["id"].as_str().unwrap_or_default();
                    format!("// the tools of `{id}` are not known yet: capdeck types {id}")
                }
            };
            printer.data(&lines(&text));
        }
        if items.is_empty() {
            printer.note("there are no capabilities; add one with: capdeck add");
        }
    })
}

/// The declarations of everything whose tools are known; nothing is connected.
async fn known_types(session: &Session, call: &CallContext) -> Result<Vec<Value>, CommandFailure> {
    let catalog = session.catalog();
    let mut items = Vec::new();
    for capability in catalog.capabilities().filter(|capability| capability.is_usable()) {
        let id = capability.definition.id.as_str();
        let types = match capability.discovery {
            Some(_) => Some(code_mode::types_of(&session.request(call), id, None).await?),
            None => None,
        };
        items.push(json!({ "id": id, "typeScript": types }));
    }
    Ok(items)
}
