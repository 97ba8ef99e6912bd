//! `capdeck call ID TOOL …`: one tool call, from the shell, and the text of its result.

mod question;
mod watcher;

use std::{sync::Arc, time::Duration};

use capdeck_catalog::{Capability, Tool};
use capdeck_host::{
    CallConsent, CallContext, CallError, CallForm, ErrorCode, Session, ToolRequest, calls,
};
use serde::Deserialize;
use serde_json::{Value, value::RawValue};

use crate::{
    arguments::{ArgumentSource, build, parse_pairs},
    commands::CommandContext,
    completion::{ids_and_tools, tool_or_arguments},
    errors::{CommandFailure, CommandResult, ExitStatus},
    plain_text,
    printer::Printer,
    runtime::with_caller,
    tool_target::ToolTarget,
};

pub(super) use watcher::CallWatcher;

/// Call a tool
///
/// Prints the result's text, or with --json the whole result. Arguments are given as `key=value`, read by the
/// types of the tool's schema; `key:=JSON` takes JSON for any type, and a key given several times
/// makes a list.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  capdeck call machine now zone=Europe/Berlin
  capdeck call github.create_issue --args '{\"title\": \"Bug\"}'
  capdeck call files.search query=todo limit=5 --field matches.path")]
pub(crate) struct CallArgs {
    /// The capability's id, or `ID.TOOL`.
    #[arg(value_name = "ID", add = ids_and_tools())]
    id: String,
    /// The tool's name, then its arguments.
    #[arg(value_name = "TOOL|KEY=VALUE", add = tool_or_arguments())]
    words: Vec<String>,
    /// All arguments as one JSON object: the text itself, `@FILE`, or `-` for stdin.
    #[arg(long, value_name = "JSON", allow_hyphen_values = true)]
    args: Option<String>,
    /// Keep only this part of a structured result; may be repeated.
    #[arg(long, value_name = "PATH")]
    field: Vec<String>,
    /// Idle timeout of the tool, in milliseconds.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    timeout_ms: Option<u64>,
    /// For a person at the keyboard: approve the call without being asked. Agents leave the approval to their person.
    #[arg(long, short)]
    yes: bool,
}

pub(crate) fn run(args: &CallArgs, context: &CommandContext<'_>) -> CommandResult {
    let CallArgs { id, words, args, field, timeout_ms, yes } = args;
    let printer = context.printer;
    let host = context.open_host()?;
    let file = host.deck().capability_file.clone();
    let (ToolTarget { id, tool: name }, pairs) = ToolTarget::take_from(file.as_deref(), id, words)?;
    let mut source = ArgumentSource::default();
    let given = args.as_deref().map(|typed| source.text("--args", typed)).transpose()?;
    let pairs = parse_pairs(pairs)?;
    let watcher = Arc::new(CallWatcher::new(&id, printer.asker()));
    let (client, caller) = (watcher.profile(), watcher.clone());
    let result = with_caller(host, client, caller, async |session, call| {
        let progress = printer.progress(&format!("starting {id}"));
        let (capability, tool) = find_tool(session, call, &id, &name).await?;
        let arguments = build(given.as_deref(), &pairs, &tool)?;
        drop(progress);
        let consent = match yes {
            true => CallConsent::Given,
            false => watcher.consent(session, &capability, &tool).await?,
        };
        watcher.show(printer.progress(&format!("calling {id}.{name}")));
        let request = ToolRequest {
            capability: id.clone(),
            tool: name.clone(),
            arguments: Some(arguments),
            fields: field.clone(),
            consent,
            form: CallForm::CommandLine,
            ..ToolRequest::default()
        };
        let call = CallContext { timeout: timeout_ms.map(Duration::from_millis), ..call.clone() };
        let result = calls::call(session.request(&call), &request).await;
        watcher.hide();
        Ok(result?)
    })?;
    show_result(&result, &name, &id, printer)
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
