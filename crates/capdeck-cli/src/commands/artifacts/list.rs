//! `capdeck artifacts list`.

use capdeck_host::{StoredArtifact, artifact_created, artifact_item, artifacts};
use serde_json::{Value, json};

use super::size;
use crate::{
    completion::ids,
    context::Context,
    errors::{ExitStatus, Failure},
    table::{Cell, Table},
};

/// Show large results that are kept, the newest first
#[derive(Debug, clap::Args)]
pub(crate) struct ListArgs {
    /// Only those of this capability.
    #[arg(value_name = "ID", add = ids())]
    id: Option<String>,
}

pub(crate) fn run(args: &ListArgs, context: &Context<'_>) -> Result<ExitStatus, Failure> {
    let ListArgs { id } = args;
    let wanted = |one: &StoredArtifact| id.as_ref().is_none_or(|id| one.capability.as_str() == id);
    let session = context.open_host()?.operator();
    let found: Vec<StoredArtifact> =
        artifacts::list(&session.snapshot()).into_iter().filter(wanted).collect();
    let printer = context.printer;
    if printer.wants_json() {
        let items: Vec<Value> = found.iter().map(artifact_item).collect();
        printer.json(&json!({ "items": items }));
    } else if found.is_empty() {
        printer.note("no large results are kept");
    } else {
        let mut table = Table::new(["CREATED", "SIZE", "URI", "TYPE"]);
        for one in &found {
            table.row([
                Cell::plain(artifact_created(one)),
                Cell::plain(size(one.artifact.byte_length)),
                Cell::plain(&one.artifact.uri),
                Cell::plain(one.artifact.mime_type.as_deref().unwrap_or("-")),
            ]);
        }
        table.print(printer);
    }
    Ok(ExitStatus::Done)
}
