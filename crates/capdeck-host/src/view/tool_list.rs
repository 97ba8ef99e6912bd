//! The tools a client lists, rendered once.

use capdeck_catalog::{Capability, RawMembers, Tool, estimate_tokens};
use serde_json::{Value, json, value::RawValue};

use super::{View, direct, list_repair::repair_tool, on_demand::CALL_TOOL, resource_uri};
use crate::{operations::wrapper_tool, raw};

/// Names that capabilities cannot take: the host's own tools, now and later.
pub const META_TOOLS: [&str; 6] =
    ["search", "describe", "call_tool", "setup_tools", "code_mode", "capdeck"];

/// The three tools that reach everything. Short, because this is the whole cost of a deck of any
/// size.
pub(super) const META_TOOL_DEFINITIONS: &str = r#"[{"name":"search","description":"Find tools by what they do, in plain words. Returns names, signatures and descriptions.","inputSchema":{"type":"object","properties":{"query":{"type":"string"},"capability":{"type":"string","description":"Search only this one"},"limit":{"type":"integer","minimum":1,"maximum":50},"cursor":{"type":"string","description":"nextCursor of the last page"}},"required":["query"]},"annotations":{"readOnlyHint":true}},{"name":"describe","description":"Full definition and schemas of one tool.","inputSchema":{"type":"object","properties":{"name":{"type":"string","description":"Name from search"}},"required":["name"]},"annotations":{"readOnlyHint":true}},{"name":"call_tool","description":"Run a tool. Wrong arguments answer with its schema.","inputSchema":{"type":"object","properties":{"name":{"type":"string","description":"Name from search"},"data":{"type":"object","description":"Its arguments"}},"required":["name"]}}]"#;

/// All listed tools: `code_mode`, the search tools, those for setting up, then wrappers, then
/// direct tools, each in a fixed order.
pub(super) fn render_tools(view: &View) -> Box<RawValue> {
    let mut listed: Vec<Box<RawValue>> = Vec::new();
    listed.extend(view.code_mode.clone());
    if !view.searchable.is_empty() {
        let meta: Vec<Box<RawValue>> =
            serde_json::from_str(META_TOOL_DEFINITIONS).unwrap_or_default();
        listed.extend(meta);
    }
    if let Some((setup, _)) = &view.setup_tools {
        listed.push(setup.clone());
        // One tool calls whatever was found or set up.
        let call = view.searchable.is_empty().then(|| RawValue::from_string(CALL_TOOL.to_owned()));
        listed.extend(call.and_then(Result::ok));
    }
    for capability in &view.progressive {
        let id = capability.definition.id.as_str();
        let name = view.names().wrapper_name(id).unwrap_or(id);
        let tool = wrapper_tool(name, &capability.definition);
        listed.extend(tool.and_then(|tool| raw::text(&tool).ok()));
    }
    for capability in &view.direct {
        let id = capability.definition.id.as_str();
        for tool in capability.discovery.iter().flat_map(|known| &known.tools) {
            // Two servers may use the same URI for a page; then each tool names its own.
            let page = direct::page_of(tool)
                .filter(|uri| view.originals().is_ambiguous(uri))
                .map(|uri| resource_uri(id, &uri));
            let name = view.name_of(id, tool.name());
            listed.extend(direct_tool(&name, id, tool, page.as_deref()));
        }
    }
    raw::text(&listed).unwrap_or_default()
}

/// A backend's tool under its deck name, with another page if it needs one. Other valid members
/// remain byte for byte.
fn direct_tool(name: &str, id: &str, tool: &Tool, page: Option<&str>) -> Option<Box<RawValue>> {
    let mut listed: RawMembers = tool.raw().clone();
    repair_tool(&mut listed);
    raw::set(&mut listed, "name", name);
    add_origin(
        &mut listed,
        json!({ "capletId": id, "downstreamName": tool.name(), "exposure": "direct" }),
    );
    if let Some(page) = page {
        direct::set_page(&mut listed, page)?;
    }
    raw::text(&listed).ok()
}

/// Says in `_meta.caplets` where a row or a result comes from.
pub(crate) fn add_origin(object: &mut RawMembers, origin: Value) {
    let mut meta: RawMembers = raw::get(object, "_meta").unwrap_or_default();
    raw::set(&mut meta, "caplets", &origin);
    raw::set(object, "_meta", &meta);
}

/// Tokens of the capability's tools when each is listed, as an upper bound.
pub fn direct_tokens(capability: &Capability) -> usize {
    let id = capability.definition.id.as_str();
    let tools = capability.discovery.iter().flat_map(|known| &known.tools);
    tools
        .filter_map(|tool| direct_tool(&format!("{id}__{}", tool.name()), id, tool, None))
        .map(|tool| estimate_tokens(tool.get()))
        .sum()
}

pub(super) fn wrapper_tokens(capability: &Capability) -> usize {
    wrapper_tool(capability.definition.id.as_str(), &capability.definition)
        .and_then(|tool| serde_json::to_string(&tool).ok())
        .map_or(0, |text| estimate_tokens(&text))
}
