//! Tools compared with their pins, one by one.

use std::collections::BTreeMap;

use capdeck_catalog::{Capability, Discovery, HiddenText, HoldReason, definition_digest};
use capdeck_definition::PinMode;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use crate::PinReview;

/// One tool. The names are a public shape.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PinItem {
    pub capability: String,
    pub tool: String,
    /// `pinned`, `added`, `changed`, `renamed`, `removed`, or `unpinned` for what is never pinned.
    pub status: &'static str,
    pub mode: PinMode,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// Why it is blocked, if it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub held: Option<HoldReason>,
    /// Invisible text in its definition.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<Value>")]
    pub hidden_text: Vec<HiddenText>,
}

/// Every known tool of a capability, and the removed ones.
pub fn pin_items(
    capability: &Capability,
    offered: Option<&Discovery>,
    review: &PinReview,
) -> Vec<PinItem> {
    let kinds: BTreeMap<&str, &'static str> =
        review.changes.iter().map(|change| (change.tool(), change.kind())).collect();
    let item = |tool: &str, digest: Option<String>| {
        let unchanged = if review.book.is_some() { "pinned" } else { "unpinned" };
        PinItem {
            capability: capability.definition.id.to_string(),
            tool: tool.to_owned(),
            status: kinds.get(tool).copied().unwrap_or(unchanged),
            mode: capability.pins,
            digest,
            held: review.held.get(tool).copied(),
            hidden_text: review.hidden.get(tool).cloned().unwrap_or_default(),
        }
    };
    let known = offered.into_iter().flat_map(|known| &known.tools);
    let mut items: Vec<PinItem> =
        known.map(|tool| item(tool.name(), Some(definition_digest(tool)))).collect();
    let removed = kinds.iter().filter(|(_, kind)| **kind == "removed");
    items.extend(removed.map(|(tool, _)| item(tool, None)));
    items
}

/// The changes since a capability's tools were pinned, or those of one tool: `{capability, change,
/// tool?, …}` each.
pub fn pin_changes(id: &str, review: &PinReview, only: Option<&str>) -> Vec<Value> {
    let wants = |tool: &str| only.is_none_or(|only| only == tool);
    let with_id = |mut value: Value| {
        value["capability"] = json!(id);
        value
    };
    let mut items: Vec<Value> = Vec::new();
    if only.is_none() && review.book.as_ref().is_some_and(|book| book.is_repointed) {
        items.push(with_id(json!({ "change": "repointed" })));
    }
    let changes = review.changes.iter().filter(|change| wants(change.tool()));
    items.extend(changes.map(|change| with_id(json!(change))));
    for (tool, found) in review.hidden.iter().filter(|(tool, _)| wants(tool)) {
        items.push(with_id(json!({ "change": "hiddenText", "tool": tool, "places": found })));
    }
    items
}
