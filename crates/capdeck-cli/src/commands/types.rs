//! `capdeck types [ID]`: what code can call, as TypeScript.

use capdeck_host::{CallContext, Session, code_mode};
use serde_json::{Value, json};

use crate::{
    completion::{ids_and_tools, tools_of_id},
    context::CommandContext,
    errors::{CommandFailure, CommandResult, ExitStatus},
    plain_text,
    runtime::with_operator,
    tool_target,
};

/// Show what code can call, as TypeScript declarations
///
/// Of one capability or one tool, asking for its tools if they are not known; without an ID, of everything that is known.
#[derive(Debug, clap::Args)]
pub(crate) struct TypesArgs {
    /// The capability's id, or `ID.TOOL`.
    #[arg(value_name = "ID", add = ids_and_tools())]
    id: Option<String>,
    /// Only this tool.
    #[arg(value_name = "TOOL", add = tools_of_id())]
    tool: Option<String>,
}

pub(crate) fn run(args: &TypesArgs, context: &CommandContext<'_>) -> CommandResult {
    let printer = context.printer;
    let items = with_operator(context, async |session, call| match &args.id {
        Some(id) => {
            let _progress = printer.progress(&format!("asking {id} for its tools"));
            let (id, tool) = tool_target::split_words(id, args.tool.as_ref())?;
            let types = code_mode::types_of(&session.request(call), &id, tool.as_deref()).await?;
            Ok(vec![json!({ "id": id, "typeScript": types })])
        }
        None => known_types(session, call).await,
    })?;
    if printer.wants_json() {
        printer.json(&json!({ "items": items }));
        return Ok(ExitStatus::Done);
    }
    for item in &items {
        let text = match item["typeScript"].as_str() {
            Some(types) => types.to_owned(),
            None => {
                let id = item["id"].as_str().unwrap_or_default();
                format!("// the tools of `{id}` are not known yet: capdeck types {id}")
            }
        };
        printer.data(&plain_text::lines(&text));
    }
    if items.is_empty() {
        printer.note("there are no capabilities; add one with: capdeck add");
    }
    Ok(ExitStatus::Done)
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
