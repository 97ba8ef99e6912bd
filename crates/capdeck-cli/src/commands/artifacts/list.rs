//! `capdeck artifacts list`.

use capdeck_host::StoredArtifact;
use jiff::Timestamp;
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
    let found: Vec<StoredArtifact> =
        context.open_host()?.operator().artifacts().into_iter().filter(wanted).collect();
    let printer = context.printer;
    if printer.wants_json() {
        let items: Vec<Value> = found.iter().map(item).collect();
        printer.json(&json!({ "items": items }));
    } else if found.is_empty() {
        printer.note("no large results are kept");
    } else {
        let mut table = Table::new(["CREATED", "SIZE", "URI", "TYPE"]);
        for one in &found {
            table.row([
                Cell::plain(created(one)),
                Cell::plain(size(one.artifact.byte_length)),
                Cell::plain(&one.artifact.uri),
                Cell::plain(one.artifact.mime_type.as_deref().unwrap_or("-")),
            ]);
        }
        table.print(printer);
    }
    Ok(ExitStatus::Done)
}

/// `{uri, filename, mimeType?, byteLength, sha256, capability, createdAt}`.
fn item(one: &StoredArtifact) -> Value {
    let mut item = json!(one.artifact);
    item["capability"] = json!(one.capability);
    item["createdAt"] = json!(created(one));
    item
}

/// To the second.
fn created(one: &StoredArtifact) -> String {
    let second = Timestamp::try_from(one.created).map(Timestamp::as_second);
    second.and_then(Timestamp::from_second).map_or_else(|_| "-".to_owned(), |at| at.to_string())
}
