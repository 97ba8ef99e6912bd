//! `capdeck call ID TOOL …`: one tool call, from the shell.

mod question;
pub(super) mod result_text;
mod watcher;

use std::{sync::Arc, time::Duration};

use capdeck_host::{CallContext, CallError, CallForm, Consent, ErrorCode, ToolRequest, calls};
use serde_json::value::RawValue;

use crate::{
    arguments::{TextSource, build, parse_pairs},
    completion::{ids_and_tools, tool_or_arguments},
    context::Context,
    errors::{ExitStatus, Failure},
    plain_text,
    printer::Printer,
    runtime::with_caller,
    target::ToolTarget,
};
pub(super) use watcher::Watcher;

/// Call a tool
///
/// Prints the result's text, or with --json the whole result. Arguments are given as `key=value`, read by the
/// types of the tool's schema; `key:=JSON` takes JSON whatever the schema says, and a key given several times
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
    /// Longest silence of the tool, in milliseconds.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    timeout_ms: Option<u64>,
    /// For a person at the keyboard: approve the call without being asked. Agents leave the approval to their person.
    #[arg(long, short)]
    yes: bool,
}

pub(crate) fn run(args: &CallArgs, context: &Context<'_>) -> Result<ExitStatus, Failure> {
    let CallArgs { id, words, args, field, timeout_ms, yes } = args;
    let printer = context.printer;
    let host = context.open_host()?;
    let file = host.deck().capability_file.clone();
    let (ToolTarget { id, tool: name }, pairs) = ToolTarget::take_from(file.as_deref(), id, words)?;
    let mut source = TextSource::default();
    let given = args.as_deref().map(|typed| source.text("--args", typed)).transpose()?;
    let pairs = parse_pairs(pairs)?;
    let watcher = Arc::new(Watcher::new(&id, printer.asker()));
    let (client, caller) = (watcher.profile(), watcher.clone());
    let result = with_caller(host, client, caller, async |session, call| {
        let progress = printer.progress(&format!("starting {id}"));
        let capability = session.snapshot().capability(&id)?;
        let tool = calls::find_tool(&session.request(call), &capability, &name).await?.ok_or_else(
            || CallError::new(ErrorCode::ToolNotFound, format!("`{id}` has no tool `{name}`")),
        )?;
        let arguments = build(given.as_deref(), &pairs, &tool)?;
        drop(progress);
        let consent = match yes {
            true => Consent::Given,
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

/// Prints what a tool answered: its text, or with `--json` the whole result.
pub(super) fn show_result(
    result: &RawValue,
    name: &str,
    id: &str,
    printer: &Printer,
) -> Result<ExitStatus, Failure> {
    let shown = result_text::render(result);
    if printer.wants_json() {
        printer.json(&result);
    } else if shown.is_error {
        let said = plain_text::lines(shown.text.trim_end());
        let message = format!("`{name}` of `{id}` reported a failure");
        return Err(Failure::request("TOOL_ERROR", message).said(said));
    } else if printer.stdout_is_terminal() {
        printer.data(&plain_text::lines(&shown.text));
    } else {
        printer.data(&shown.text);
    }
    Ok(if shown.is_error { ExitStatus::RequestFailed } else { ExitStatus::Done })
}
