//! `capdeck tools ID`: the tools of one capability.

use std::sync::Arc;

use capdeck_catalog::{Discovery, RawObject, Tool, shell_word, signature};
use capdeck_host::{CallContext, Session, check, tool_item};
use serde_json::json;

use crate::{
    completion::ids,
    context::Context,
    errors::{ExitStatus, Failure},
    plain_text::one_line,
    runtime::with_operator,
    table::{Cell, Table},
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

pub(crate) fn run(args: &ToolsArgs, context: &Context<'_>) -> Result<ExitStatus, Failure> {
    let ToolsArgs { id, refresh } = args;
    let printer = context.printer;
    let discovery = with_operator(context, async |session, call| {
        let _progress = printer.progress(&format!("asking {id} for its tools"));
        discover(session, id, *refresh, call).await
    })?;
    if printer.wants_json() {
        let items: Vec<RawObject> = discovery.tools.iter().map(|tool| tool_item(tool)).collect();
        printer.json(&json!({ "items": items }));
    } else if discovery.tools.is_empty() {
        printer.note(&format!("`{id}` offers no tools"));
    } else {
        let mut table = Table::new(["TOOL", "DESCRIPTION"]);
        for tool in &discovery.tools {
            let call = signature(&shell_word(tool.name()), tool);
            table.row([Cell::plain(call), Cell::plain(first_sentence(tool))]);
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
) -> Result<Arc<Discovery>, Failure> {
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
