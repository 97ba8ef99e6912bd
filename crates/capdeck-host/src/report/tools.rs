//! Tools in listings: the backend's own definitions, with the host's additions.

use capdeck_catalog::{RawMembers, Tool, ToolSearchMatch};
use serde_json::{Value, value::to_raw_value};

/// The backend's own definition, always with a description.
pub fn tool_item(tool: &Tool) -> RawMembers {
    let mut item = tool.raw().clone();
    if !item.contains_key("description")
        && let Ok(empty) = to_raw_value("")
    {
        item.insert("description".to_owned(), empty);
    }
    item
}

/// One tool with its schemas, its capability and the shape of its results so far.
pub fn described_tool(capability: &str, tool: &Tool, shape: Option<&Value>) -> RawMembers {
    let mut item = RawMembers::new();
    if let Ok(id) = to_raw_value(capability) {
        item.insert("capability".to_owned(), id);
    }
    item.extend(tool_item(tool));
    if let Some(shape) = shape.and_then(|shape| to_raw_value(shape).ok()) {
        item.insert("observedOutputShape".to_owned(), shape);
    }
    item
}

/// A search result; its name is null where the capability's tools are not known.
pub fn found_tool(hit: &ToolSearchMatch) -> RawMembers {
    let mut item = hit.tool.as_ref().map(|tool| tool_item(tool)).unwrap_or_default();
    if hit.tool.is_none()
        && let Ok(nothing) = to_raw_value(&Value::Null)
    {
        item.insert("name".to_owned(), nothing);
    }
    if let Ok(id) = to_raw_value(hit.capability.as_str()) {
        item.insert("capability".to_owned(), id);
    }
    if let Ok(score) = to_raw_value(&hit.score) {
        item.insert("score".to_owned(), score);
    }
    item
}
