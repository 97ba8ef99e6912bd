//! Reports about the deck, in the shapes that the command line and the REST API share.

mod budget;
mod capability_report;
mod inspection;
mod listing;
mod pin_items;

use capdeck_backend::StoredArtifact;
use capdeck_catalog::{RawMembers, Tool, ToolSearchMatch};
use jiff::Timestamp;
use serde_json::{Value, json};

pub use self::{
    budget::{BudgetItem, budget_items},
    capability_report::CapabilityReport,
    inspection::{capabilities_of_file, inspection, known_capability, tools_with_hidden_text},
    listing::{ItemStatus, ListItem, list_items},
    pin_items::{PinItem, pin_changes, pin_items},
};
use crate::raw;

/// The backend's own definition, always with a description.
pub fn tool_item(tool: &Tool) -> RawMembers {
    let mut item = tool.raw().clone();
    if !item.contains_key("description") {
        raw::set(&mut item, "description", "");
    }
    item
}

/// One tool with its schemas, its capability and the shape of its results so far.
pub fn described_tool(capability: &str, tool: &Tool, shape: Option<&Value>) -> RawMembers {
    let mut item = raw::object([("capability", json!(capability))]);
    item.extend(tool_item(tool));
    if let Some(shape) = shape {
        raw::set(&mut item, "observedOutputShape", shape);
    }
    item
}

/// A search result; its name is null where the capability's tools are not known.
pub fn found_tool(hit: &ToolSearchMatch) -> RawMembers {
    let unknown = || raw::object([("name", Value::Null)]);
    let mut item = hit.tool.as_ref().map_or_else(unknown, |tool| tool_item(tool));
    raw::set(&mut item, "capability", hit.capability.as_str());
    raw::set(&mut item, "score", &hit.score);
    item
}

/// `{uri, filename, mimeType?, byteLength, sha256, capability, createdAt}`.
pub fn artifact_item(one: &StoredArtifact) -> Value {
    let mut item = json!(one.artifact);
    item["capability"] = json!(one.capability);
    item["createdAt"] = json!(artifact_created(one));
    item
}

/// When it was stored, to the second.
pub fn artifact_created(one: &StoredArtifact) -> String {
    let second = Timestamp::try_from(one.created).map(Timestamp::as_second);
    second.and_then(Timestamp::from_second).map_or_else(|_| "-".to_owned(), |at| at.to_string())
}
