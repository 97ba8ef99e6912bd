//! The details of one capability in any status.

use std::sync::Arc;

use capdeck_backend::CallError;
use capdeck_catalog::{Capability, Catalog, hidden_text};
use serde_json::{Value, json};

use crate::{Host, ListItem, card, raw};

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
    let item = ListItem::of(capability, host.health(capability));
    let known = capability.discovery.as_ref();
    let mut shown = card(capability);
    shown["exposure"] = json!(item.exposure);
    shown["status"] = json!(item.status);
    shown["health"] = json!(item.health);
    raw::put_some(&mut shown, "reason", item.reason);
    shown["source"] = json!(item.source);
    shown["shadows"] = json!(item.shadows);
    shown["tokens"] = json!(item.tokens);
    raw::put_some(&mut shown, "chaos", item.chaos);
    let names = known.map(|known| known.tools.iter().map(|tool| tool.name()).collect::<Vec<_>>());
    shown["tools"] = json!(names);
    let server = known.and_then(|known| known.server.as_ref());
    let instructions = server.and_then(|server| server.instructions.as_ref());
    raw::put_some(&mut shown, "instructions", instructions);
    let scopes = known.map(|known| &known.scopes).filter(|scopes| !scopes.is_empty());
    raw::put_some(&mut shown, "scopes", scopes);
    let problems = known.map(|known| &known.problems).filter(|problems| !problems.is_empty());
    raw::put_some(&mut shown, "leftOut", problems);
    shown["pins"] = json!(capability.pins);
    let hidden = Some(tools_with_hidden_text(capability)).filter(|hidden| !hidden.is_empty());
    raw::put_some(&mut shown, "hiddenText", hidden);
    shown
}

/// The tools whose definitions have invisible text.
pub fn tools_with_hidden_text(capability: &Capability) -> Vec<&str> {
    let tools = capability.discovery.iter().flat_map(|known| &known.tools);
    tools.filter(|tool| !hidden_text(tool).is_empty()).map(|tool| tool.name()).collect()
}
