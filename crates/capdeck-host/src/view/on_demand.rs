//! Capabilities that are set up before they are called: the `setup_tools` tool and its names.

use std::sync::Arc;

use capdeck_catalog::{Capability, CatalogSelection, Tool, estimate_tokens};
use capdeck_definition::Backend;
use serde_json::{json, value::RawValue};

use super::View;
use crate::raw;

const MAX_TOKENS: usize = 200;
/// Min tokens; a smaller budget does not make it shorter.
const MIN_TOKENS: usize = 110;

/// The same as beside `search`, except where names come from.
pub(super) const CALL_TOOL: &str = r#"{"name":"call_tool","description":"Run a tool that was set up. Wrong arguments answer with its schema.","inputSchema":{"type":"object","properties":{"name":{"type":"string","description":"Name in the signature"},"data":{"type":"object","properties":{},"description":"Its arguments"}},"required":["name","data"]},"annotations":{"destructiveHint":true}}"#;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ToolBundle {
    pub(crate) id: String,
    pub(crate) tools: CatalogSelection,
}

impl View {
    /// True when the capability's tools are set up before they are called.
    pub fn is_on_demand(&self, capability: &Capability) -> bool {
        self.on_demand.contains(&capability.definition.id)
    }

    /// True when `setup_tools` is listed.
    pub fn offers_setup(&self) -> bool {
        !self.on_demand.is_empty()
    }
}

/// Everything that can be set up, skills first: they have a purpose.
pub(crate) fn bundles(view: &View) -> Vec<ToolBundle> {
    let skills = view
        .catalog
        .skills()
        .iter()
        .filter(|skill| !chosen_capabilities(view, &skill.tools).is_empty());
    let skills =
        skills.map(|skill| ToolBundle { id: skill.id.clone(), tools: skill.tools.clone() });
    let is_empty =
        |one: &Capability| one.discovery.as_ref().is_some_and(|known| known.tools.is_empty());
    let capabilities = view
        .catalog
        .capabilities()
        .filter(|one| view.is_on_demand(one) && one.definition.member_of.is_none())
        .filter(|one| !is_empty(one))
        .map(|one| {
            let id = one.definition.id.as_str();
            ToolBundle { id: format!("@{id}"), tools: CatalogSelection::whole(id) }
        });
    skills.chain(capabilities).collect()
}

pub(crate) fn bundle(view: &View, name: &str) -> Option<ToolBundle> {
    // A skill that needs no tools may be set up, too: agents do so when instructed.
    if let Some(skill) = view.catalog.skills().iter().find(|skill| skill.id == name) {
        return Some(ToolBundle { id: skill.id.clone(), tools: skill.tools.clone() });
    }
    let whole = format!("@{name}");
    bundles(view).into_iter().find(|bundle| bundle.id == name || bundle.id == whole)
}

pub(crate) fn chosen_tools(
    view: &View,
    chosen: &CatalogSelection,
) -> Vec<(Arc<Capability>, Arc<Tool>)> {
    let reached = chosen_capabilities(view, chosen);
    let of_one = |capability: &Arc<Capability>| {
        let ids = view.catalog.with_sets(capability);
        let known = capability.discovery.iter().flat_map(|known| &known.tools);
        let chosen = known.filter(|tool| chosen.has(&ids, tool.name()));
        chosen.map(|tool| (capability.clone(), tool.clone())).collect::<Vec<_>>()
    };
    reached.iter().flat_map(of_one).collect()
}

/// The selected capabilities that this client reaches. A set's own tools only forward to its
/// members, which are included.
pub(crate) fn chosen_capabilities(view: &View, chosen: &CatalogSelection) -> Vec<Arc<Capability>> {
    let is_set = |one: &Capability| matches!(one.definition.backend, Backend::Caplets(_));
    let all = view.catalog.capabilities();
    let reached = all.filter(|one| view.reaches(one) && !is_set(one));
    reached.filter(|one| chosen.has_some_of(&view.catalog.with_sets(one))).cloned().collect()
}

/// The `setup_tools` tool with as many names as there is room for, and the number of omitted
/// ones.
pub(super) fn setup_tool(view: &View, room: usize) -> Option<(Box<RawValue>, usize)> {
    let names: Vec<String> = bundles(view).into_iter().map(|bundle| bundle.id).collect();
    let room = room.clamp(MIN_TOKENS, MAX_TOKENS);
    let mut named = names.len();
    loop {
        let tool = rendered(&names, named)?;
        if named == 0 || estimate_tokens(tool.get()) <= room {
            return Some((tool, names.len() - named));
        }
        named -= 1;
    }
}

fn rendered(names: &[String], named: usize) -> Option<Box<RawValue>> {
    let mut text =
        "Set up the tools of skills, or of `@capability`. Returns signatures for `call_tool`."
            .to_owned();
    let shown: Vec<&str> = names.iter().take(named).map(String::as_str).collect();
    if !shown.is_empty() {
        text.push_str(&format!(" Here: {}", shown.join(", ")));
        if named < names.len() {
            text.push_str(&format!(" and {} more", names.len() - named));
        }
        text.push('.');
    }
    if named < names.len() {
        text.push_str(" `[]` lists all.");
    }
    let tool = raw::object([
        ("name", json!("setup_tools")),
        ("description", json!(text)),
        (
            "inputSchema",
            json!({
                "type": "object",
                "properties": { "skills": { "type": "array", "items": { "type": "string" } } },
                "required": ["skills"],
            }),
        ),
        ("annotations", json!({ "readOnlyHint": true })),
    ]);
    serde_json::value::to_raw_value(&tool).ok()
}
