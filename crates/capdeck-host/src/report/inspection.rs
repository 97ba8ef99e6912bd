//! The details of one capability in any status.

use std::sync::Arc;

use capdeck_backend::CallError;
use capdeck_catalog::{Capability, Catalog, hidden_text};
use serde_json::{Map, Value, json};

use crate::{Host, ListItem, card};

/// The capabilities of a file that declares several, when the id names such a file and nothing
/// else.
pub fn capabilities_of_file(catalog: &Catalog, id: &str) -> Vec<Arc<Capability>> {
    if find(catalog, id).is_some() {
        return Vec::new();
    }
    let is_child = |capability: &&Arc<Capability>| {
        capability.definition.parent.as_ref().is_some_and(|parent| parent.as_str() == id)
    };
    catalog.capabilities().chain(catalog.untrusted()).filter(is_child).cloned().collect()
}

/// The capability of an id in any status; an unknown or broken one gives the error of a call.
pub fn known_capability(host: &Host, id: &str) -> Result<Arc<Capability>, CallError> {
    let catalog = host.catalog();
    match find(&catalog, id) {
        Some(capability) => Ok(capability.clone()),
        None => host.operator().snapshot().capability(id),
    }
}

fn find<'a>(catalog: &'a Catalog, id: &str) -> Option<&'a Arc<Capability>> {
    let is = |capability: &&Arc<Capability>| capability.definition.id.as_str() == id;
    catalog.get(id).or_else(|| catalog.untrusted().iter().find(is))
}

/// The card of a capability with its status: the output of `capdeck inspect --json`.
pub fn inspection(host: &Host, capability: &Capability) -> Value {
    let mut shown = match card(capability) {
        Value::Object(card) => card,
        _ => Map::new(),
    };
    let item = ListItem::of(capability, host.health(capability));
    shown.insert("exposure".to_owned(), json!(item.exposure));
    shown.insert("status".to_owned(), json!(item.status));
    shown.insert("health".to_owned(), json!(item.health));
    if let Some(reason) = item.reason {
        shown.insert("reason".to_owned(), json!(reason));
    }
    shown.insert("source".to_owned(), json!(item.source));
    shown.insert("shadows".to_owned(), json!(item.shadows));
    shown.insert("tokens".to_owned(), json!(item.tokens));
    if let Some(chaos) = item.chaos {
        shown.insert("chaos".to_owned(), json!(chaos));
    }
    let tools = capability
        .discovery
        .as_ref()
        .map(|known| known.tools.iter().map(|tool| tool.name().to_owned()).collect::<Vec<_>>());
    shown.insert("tools".to_owned(), json!(tools));
    let instructions = capability
        .discovery
        .as_ref()
        .and_then(|known| known.server.as_ref())
        .and_then(|server| server.instructions.clone());
    if let Some(instructions) = instructions {
        shown.insert("instructions".to_owned(), json!(instructions));
    }
    if let Some(known) = capability.discovery.as_ref().filter(|known| !known.scopes.is_empty()) {
        shown.insert("scopes".to_owned(), json!(known.scopes));
    }
    if let Some(known) = capability.discovery.as_ref().filter(|known| !known.problems.is_empty()) {
        shown.insert("leftOut".to_owned(), json!(known.problems));
    }
    shown.insert("pins".to_owned(), json!(capability.pins));
    let hidden = tools_with_hidden_text(capability);
    if !hidden.is_empty() {
        shown.insert("hiddenText".to_owned(), json!(hidden));
    }
    Value::Object(shown)
}

/// The tools whose definitions have invisible text.
pub fn tools_with_hidden_text(capability: &Capability) -> Vec<&str> {
    let tools = capability.discovery.iter().flat_map(|known| &known.tools);
    tools.filter(|tool| !hidden_text(tool).is_empty()).map(|tool| tool.name()).collect()
}
