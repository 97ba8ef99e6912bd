//! `capdeck pins approve ID [TOOL]`: takes definitions as they are now.

use capdeck_catalog::{PinChange, shell_word};
use capdeck_host::known_capability;
use serde_json::json;

use crate::{
    completion::{ids, tools_of_id},
    context::Context,
    errors::{ExitStatus, Failure},
};

/// Approve a capability's definitions as they are now
///
/// What was held is offered again; a running host notices by itself. Look first: capdeck pins diff ID
#[derive(Debug, clap::Args)]
pub(crate) struct ApproveArgs {
    /// The capability's id.
    #[arg(value_name = "ID", add = ids())]
    id: String,
    /// Only this tool.
    #[arg(value_name = "TOOL", add = tools_of_id())]
    tool: Option<String>,
}

pub(super) fn run(args: &ApproveArgs, context: &Context<'_>) -> Result<ExitStatus, Failure> {
    let ApproveArgs { id, tool } = args;
    let printer = context.printer;
    let host = context.open_host()?;
    let capability = known_capability(&host, id)?;
    let unknown = || {
        Failure::request("NOT_KNOWN", format!("the tools of `{id}` are not known yet"))
            .hint(format!("ask for them with: capdeck tools {id}"))
    };
    let offered = host.offered_to_anyone(&capability).ok_or_else(unknown)?;
    let changes = host.review_pins(&capability).map(|review| review.changes).unwrap_or_default();
    if let Some(name) = tool {
        let is_gone =
            |change: &PinChange| matches!(change, PinChange::Removed { tool } if tool == name);
        let exists = offered.tools.iter().any(|tool| tool.name() == name);
        if !exists && !changes.iter().any(is_gone) {
            let failure =
                Failure::request("TOOL_NOT_FOUND", format!("`{id}` has no tool `{name}`"));
            return Err(match host.catalog().nearest_tool(id, name) {
                Some(near) => failure.hint(format!("did you mean `{}`?", shell_word(near))),
                None => failure.hint(format!("see them with: capdeck pins list {id}")),
            });
        }
    }
    let count = host
        .approve_pins(&capability, tool.as_deref())
        .map_err(|error| Failure::request("FILE_ERROR", format!("cannot save the pins: {error}")))?
        .ok_or_else(unknown)?;
    if printer.wants_json() {
        printer.json(&json!({ "id": id, "tool": tool, "approved": count }));
    } else {
        let what = tool.as_deref().map_or_else(|| id.clone(), |tool| format!("{id}.{tool}"));
        printer.note(&format!("approved as it is now: {what}"));
    }
    Ok(ExitStatus::Done)
}
