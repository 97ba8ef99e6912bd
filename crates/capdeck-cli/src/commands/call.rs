//! `capdeck call ID TOOL …`: one tool call, from the shell, and the text of its result.

mod question;
mod watcher;

use std::{iter, sync::Arc, time::Duration};

use capdeck_catalog::{Capability, Tool};
use capdeck_host::{CallContext, CallError, ErrorCode, RawMembers, Session, ShellTool, calls};
use capdeck_serve::{ShellCall, ToolShell};
use serde::Deserialize;
use serde_json::{Value, value::RawValue};

use super::sh::typed_wrong;
use crate::{
    args::timeout,
    arguments::{ArgumentPair, ArgumentSource, build, parse_pairs, schema_value},
    commands::CommandContext,
    completion::{ids_and_tools, tool_or_arguments},
    errors::{CommandFailure, CommandResult, ExitStatus},
    plain_text::{self, one_line},
    printer::Printer,
    runtime::{single_thread, stop_signal},
    settings::CommandSettings,
    shell_deck::ShellDeck,
};

pub(crate) use watcher::CallWatcher;

/// Call a tool and print its result
///
/// For a person or a script that wants one call; find the tool first with `capdeck search` or `capdeck tools`. Prints the text
/// of the result, or with --json the whole MCP result. The tool is `ID TOOL`, `ID.TOOL`, or the name that an agent shows for
/// it, such as `mcp__capdeck__github__create_issue`.
///
/// Arguments are read by the types of the tool's schema: `key=value`; `key.inner=value` for a member of an object; `key:=JSON`
/// for any type; a key given several times makes a list. Or all at once as one JSON object: `'{"key": 1}'`, `@FILE`, or `-`
/// for stdin. While `capdeck up` runs for the same deck, the call goes through it, and no server has to be started.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  capdeck call machine now zone=Europe/Berlin
  capdeck call github.create_issue '{\"title\": \"Bug\"}'
  capdeck call tracker list filter.state=open filter.labels=ui limit=5
  capdeck call files.search query=todo --field matches.path --timeout 30s")]
pub(crate) struct CallArgs {
    /// The capability's id, `ID.TOOL`, or the tool's name as an agent shows it.
    #[arg(value_name = "ID", add = ids_and_tools())]
    id: String,
    /// The tool's name, then its arguments.
    #[arg(value_name = "TOOL|KEY=VALUE|JSON", add = tool_or_arguments())]
    words: Vec<String>,
    /// All arguments as one JSON object: the text itself, `@FILE`, or `-` for stdin. Pairs override it.
    #[arg(long, value_name = "JSON", allow_hyphen_values = true)]
    args: Option<String>,
    /// Keep only this part of a structured result; may be repeated.
    #[arg(long, value_name = "PATH")]
    field: Vec<String>,
    /// End the call when the tool is silent for so long: `30s`, `2m`, `500ms`; a plain number is seconds.
    #[arg(long, value_name = "TIME", value_parser = timeout)]
    timeout: Option<Duration>,
    /// The same in milliseconds.
    #[arg(long, value_name = "N", conflicts_with = "timeout", value_parser = clap::value_parser!(u64).range(1..))]
    timeout_ms: Option<u64>,
    /// For a person at the keyboard: approve the call without being asked. Agents leave the approval to their person.
    #[arg(long, short)]
    yes: bool,
}

pub(crate) fn run(args: &CallArgs, context: &CommandContext<'_>) -> CommandResult {
    let settings = context.settings()?;
    let watcher = Arc::new(CallWatcher::unnamed(context.printer.asker()));
    single_thread()?.block_on(async {
        let mut deck = ShellDeck::open(&settings, &watcher, context.printer).await?;
        let outcome = tokio::select! {
            outcome = call(args, &settings, &watcher, &mut deck, context.printer) => outcome,
            _ = stop_signal() => Err(CommandFailure::interrupted()),
        };
        deck.close().await;
        outcome
    })
}

async fn call(
    args: &CallArgs,
    settings: &CommandSettings,
    watcher: &Arc<CallWatcher>,
    deck: &mut ShellDeck,
    printer: &Printer,
) -> CommandResult {
    let CallArgs { id, words, args: typed, field, timeout, timeout_ms, yes } = args;
    let caller = watcher.clone();
    let context = CallContext { timeout: None, caller, ..CallContext::detached(Duration::ZERO) };
    let second = words.first().filter(|word| !is_argument(word));
    let names: Vec<String> = iter::once(id).chain(second).cloned().collect();
    let progress = deck.progress(printer, &format!("starting {id}"));
    let find = async |shell: &dyn ToolShell| shell.find_call_target(&names, &context).await;
    let found = deck.ask_or_reopen(settings, watcher, printer, find).await?;
    let target = found.map_err(|error| typed_wrong(error, &[ErrorCode::RequestInvalid]))?;
    drop(progress);
    let ShellTool { capability: id, words: named, definition, asks, .. } = &target;
    let name = tool_name(definition);
    let schema = schema_value(definition.get("inputSchema").map(AsRef::as_ref));
    let arguments = read_arguments(typed.as_deref(), words.get(named - 1..).unwrap_or_default())?;
    let arguments = build(arguments.whole.as_deref(), &arguments.pairs, &schema)?;
    let is_asked = *asks && !yes && watcher.can_be_asked();
    let question = format!("`{id}.{}` requires approval. Call it?", one_line(&name));
    if is_asked && !watcher.confirm(question).await {
        return Err(CommandFailure::request("CANCELLED", "not called"));
    }
    watcher.names(id);
    watcher.show(deck.progress(printer, &format!("calling {id}.{name}")));
    let timeout = timeout.map(|timeout| u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX));
    let call = ShellCall {
        capability: id.clone(),
        tool: name.clone(),
        arguments,
        fields: field.clone(),
        consent: *yes || is_asked,
        timeout_ms: timeout.or(*timeout_ms),
        unformatted: false,
    };
    let result = deck.shell().call(&call, &context).await;
    watcher.hide();
    show_result(&result?, &name, id, printer)
}

/// Arguments as typed: all at once, and single ones over them.
struct TypedArguments {
    whole: Option<String>,
    pairs: Vec<ArgumentPair>,
}

/// Reads `--args` and the words after the tool's name, of which one may hold all arguments.
fn read_arguments(flag: Option<&str>, words: &[String]) -> Result<TypedArguments, CommandFailure> {
    let (wholes, pairs): (Vec<&String>, Vec<&String>) =
        words.iter().partition(|word| is_whole(word));
    let typed: Vec<&str> = flag.into_iter().chain(wholes.into_iter().map(String::as_str)).collect();
    let mut source = ArgumentSource::default();
    let whole = match typed.as_slice() {
        [] => None,
        [one] => Some(source.text("the arguments", one)?),
        [_, other, ..] => {
            let message = format!("all arguments are given twice: `{other}`");
            return Err(CommandFailure::usage(message).hint("give one JSON object"));
        }
    };
    Ok(TypedArguments { whole, pairs: parse_pairs(pairs)? })
}

/// True for a word that is no name.
fn is_argument(word: &str) -> bool {
    is_whole(word) || word.contains('=')
}

/// True for a word that stands for all arguments.
fn is_whole(word: &str) -> bool {
    word.starts_with('{') || word.starts_with('@') || word == "-"
}

/// The tool and its capability, which is asked where its tools are not known.
pub(super) async fn find_tool(
    session: &Session,
    call: &CallContext,
    id: &str,
    name: &str,
) -> Result<(Arc<Capability>, Arc<Tool>), CallError> {
    let capability = session.snapshot().capability(id)?;
    let found = calls::find_tool(&session.request(call), &capability, name).await?;
    let tool = found.ok_or_else(|| {
        CallError::new(ErrorCode::ToolNotFound, format!("`{id}` has no tool `{name}`"))
    })?;
    Ok((capability, tool))
}

/// The name in a tool's definition.
pub(super) fn tool_name(definition: &RawMembers) -> String {
    let name = definition.get("name");
    name.and_then(|name| serde_json::from_str(name.get()).ok()).unwrap_or_default()
}

/// Prints what a tool answered: its text, or with `--json` the whole result.
pub(super) fn show_result(
    result: &RawValue,
    name: &str,
    id: &str,
    printer: &Printer,
) -> CommandResult {
    let shown = render_result(result);
    if printer.wants_json() {
        printer.json(&result);
    } else if shown.is_error {
        let said = plain_text::lines(shown.text.trim_end());
        let message = format!("`{id}.{name}` reported a failure");
        return Err(CommandFailure::request("TOOL_ERROR", message).with_details(said));
    } else {
        printer.foreign(&shown.text);
    }
    Ok(ExitStatus::done_unless(shown.is_error))
}

/// What a result says.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ResultText {
    pub(super) text: String,
    pub(super) is_error: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ToolCallResult<'a> {
    #[serde(default)]
    content: Vec<Value>,
    #[serde(default, borrow)]
    structured_content: Option<&'a RawValue>,
    #[serde(default)]
    pub(super) is_error: bool,
}

/// Texts and links of a result; its structured content when there is no text.
pub(super) fn render_result(result: &RawValue) -> ResultText {
    let Ok(parsed) = serde_json::from_str::<ToolCallResult<'_>>(result.get()) else {
        // A server's result of another shape is still shown, as it is.
        return ResultText { text: result.get().to_owned(), is_error: false };
    };
    let mut text = String::new();
    let mut has_text = false;
    for part in &parsed.content {
        has_text |= part.get("text").is_some() || part.pointer("/resource/text").is_some();
        let shown = content_text(part);
        text.push_str(&shown);
        if !shown.is_empty() && !shown.ends_with('\n') {
            text.push('\n');
        }
    }
    if let (false, Some(structured)) = (has_text, parsed.structured_content) {
        let value: Value = serde_json::from_str(structured.get()).unwrap_or_default();
        text.push_str(&serde_json::to_string_pretty(&value).unwrap_or_default());
        text.push('\n');
    }
    ResultText { text, is_error: parsed.is_error }
}

fn content_text(part: &Value) -> String {
    let text = |pointer: &str| part.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    match text("/type") {
        "text" => text("/text").to_owned(),
        "resource_link" => {
            let size = part.get("size").map(|size| format!(", {size} bytes")).unwrap_or_default();
            format!("{}: {}{size}", text("/name"), text("/uri"))
        }
        "resource" if part.pointer("/resource/text").is_some() => text("/resource/text").to_owned(),
        "resource" => {
            binary(text("/resource/mimeType"), text("/resource/uri"), text("/resource/blob"))
        }
        kind => binary(text("/mimeType"), kind, text("/data")),
    }
}

/// A stand-in for content that is no text.
fn binary(mime_type: &str, name: &str, base64: &str) -> String {
    let bytes = base64.trim_end_matches('=').len() * 3 / 4;
    format!("[{name} {mime_type}, {bytes} bytes; use --json to get it]")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(result: Value, text: &str, is_error: bool) {
        let raw = serde_json::value::to_raw_value(&result).unwrap();
        assert_eq!(render_result(&raw), ResultText { text: text.to_owned(), is_error });
    }

    #[test]
    fn texts_links_and_media() {
        check(
            serde_json::json!({"content": [
                {"type": "text", "text": "one"},
                {"type": "text", "text": "two\n"},
                {"type": "resource_link", "name": "log", "uri": "capdeck://artifacts/1", "size": 7},
                {"type": "image", "mimeType": "image/png", "data": "AAAA"},
                {"type": "resource", "resource": {"uri": "a:b", "text": "inside"}},
            ], "structuredContent": {"a": 1}}),
            "one\ntwo\nlog: capdeck://artifacts/1, 7 bytes\n[image image/png, 3 bytes; use --json to get it]\ninside\n",
            false,
        );
    }

    #[test]
    fn structured_content_stands_in_for_missing_text() {
        check(
            serde_json::json!({"content": [], "structuredContent": {"b": 1, "a": [2]}, "isError": true}),
            "{\n  \"b\": 1,\n  \"a\": [\n    2\n  ]\n}\n",
            true,
        );
        check(serde_json::json!({}), "", false);
        check(serde_json::json!(["odd"]), "[\"odd\"]", false);
    }
}
