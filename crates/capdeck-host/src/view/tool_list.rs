//! The tools a client lists, rendered once.
//!
//! Lists of servers that break the protocol are repaired: clients parse a list as a whole, so one
//! invalid row would cost them every tool. Valid and unknown members remain byte for byte.

use capdeck_catalog::{Capability, RawMembers, Tool, estimate_tokens};
use serde_json::{
    Value, json,
    value::{RawValue, to_raw_value},
};

use super::{View, direct, on_demand::CALL_TOOL, resource_uri, search_tools::search_tools};
use crate::{operations::wrapper_tool, raw};

/// Names that capabilities cannot take: the host's own tools, now and later.
pub const META_TOOLS: [&str; 7] =
    ["search", "describe", "call_tool", "call_read_only", "setup_tools", "code_mode", "capdeck"];

/// The first character of a member's JSON by its type in the protocol. The same in every kind of
/// list.
const FIELD_STARTS: [(&str, char); 8] = [
    ("title", '"'),
    ("description", '"'),
    ("mimeType", '"'),
    ("annotations", '{'),
    ("execution", '{'),
    ("_meta", '{'),
    ("icons", '['),
    ("arguments", '['),
];

/// All listed tools: `code_mode`, the search tools, those for setting up, then wrappers, then
/// direct tools, each in a fixed order.
pub(super) fn render_tools(view: &View) -> Box<RawValue> {
    let mut listed: Vec<Box<RawValue>> = Vec::new();
    listed.extend(view.code_mode.clone());
    if !view.searchable.is_empty() {
        listed.extend(search_tools(view, view.names_room));
    }
    if let Some((setup, _)) = &view.setup_tools {
        listed.push(setup.clone());
        // One tool calls what was found or set up.
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
        let schemas = match view.brief.contains(&capability.definition.id) {
            true => OutputSchemas::LeftOut,
            false => OutputSchemas::Listed,
        };
        for tool in capability.discovery.iter().flat_map(|known| &known.tools) {
            // Two servers may use the same URI for a page; then each tool names its own.
            let page = direct::page_of(tool)
                .filter(|uri| view.originals().is_ambiguous(uri))
                .map(|uri| resource_uri(id, &uri));
            let name = view.name_of(id, tool.name());
            listed.extend(direct_tool(&name, id, tool, page.as_deref(), schemas));
        }
    }
    raw::text(&listed).unwrap_or_default()
}

/// A backend's tool under its deck name, with another page if it needs one. Other valid members
/// remain byte for byte.
fn direct_tool(
    name: &str,
    id: &str,
    tool: &Tool,
    page: Option<&str>,
    schemas: OutputSchemas,
) -> Option<Box<RawValue>> {
    let mut listed: RawMembers = tool.raw().clone();
    repair_tool(&mut listed);
    if schemas == OutputSchemas::LeftOut {
        listed.shift_remove("outputSchema");
    }
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

/// Whether a list of tools says what they answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OutputSchemas {
    Listed,
    LeftOut,
}

/// Tokens of the capability's tools when each is listed, as an upper bound.
pub fn direct_tokens(capability: &Capability) -> usize {
    direct_cost(capability, OutputSchemas::Listed)
}

pub(super) fn direct_cost(capability: &Capability, schemas: OutputSchemas) -> usize {
    let id = capability.definition.id.as_str();
    let tools = capability.discovery.iter().flat_map(|known| &known.tools);
    tools
        .filter_map(|tool| direct_tool(&format!("{id}__{}", tool.name()), id, tool, None, schemas))
        .map(|tool| estimate_tokens(tool.get()))
        .sum()
}

pub(super) fn wrapper_tokens(capability: &Capability) -> usize {
    wrapper_tool(capability.definition.id.as_str(), &capability.definition)
        .and_then(|tool| serde_json::to_string(&tool).ok())
        .map_or(0, |text| estimate_tokens(&text))
}

/// Omits the members of a row whose type breaks the protocol, such as a `null`.
pub(super) fn drop_invalid_fields(row: &mut RawMembers) {
    row.retain(|key, value| {
        let start = FIELD_STARTS.iter().find(|(known, _)| known == key);
        start.is_none_or(|(_, start)| value.get().starts_with(*start))
    });
}

/// The same for a tool, whose input schema must describe an object.
fn repair_tool(tool: &mut RawMembers) {
    drop_invalid_fields(tool);
    match tool.get("inputSchema").map(|schema| repair_schema(schema)) {
        Some(None) => {}
        Some(Some(schema)) => drop(tool.insert("inputSchema".to_owned(), schema)),
        None => drop(tool.insert("inputSchema".to_owned(), any_object())),
    }
    if tool.get("outputSchema").is_some_and(|schema| !schema.get().starts_with('{')) {
        tool.shift_remove("outputSchema");
    }
}

/// A replacement for a schema that clients reject. `None` when it is valid.
fn repair_schema(schema: &RawValue) -> Option<Box<RawValue>> {
    let Ok(mut members) = serde_json::from_str::<RawMembers>(schema.get()) else {
        return Some(any_object());
    };
    let mut is_changed = false;
    if members.get("type").is_none_or(|kind| kind.get() != r#""object""#) {
        members.insert("type".to_owned(), to_raw_value("object").ok()?);
        is_changed = true;
    }
    if let Some(properties) = members.get("properties") {
        match serde_json::from_str::<RawMembers>(properties.get()) {
            Err(_) => {
                members.shift_remove("properties");
                is_changed = true;
            }
            Ok(mut properties) => {
                let unlawful = properties.values_mut().filter(|one| !one.get().starts_with('{'));
                let mut count = 0;
                for property in unlawful {
                    // `true` and `false` are schemas, too, only not in the protocol.
                    let same = if property.get() == "false" { r#"{"not":{}}"# } else { "{}" };
                    *property = RawValue::from_string(same.to_owned()).ok()?;
                    count += 1;
                }
                if count > 0 {
                    members.insert("properties".to_owned(), to_raw_value(&properties).ok()?);
                    is_changed = true;
                }
            }
        }
    }
    let required = members.get("required");
    if required.is_some_and(|names| serde_json::from_str::<Vec<String>>(names.get()).is_err()) {
        members.shift_remove("required");
        is_changed = true;
    }
    is_changed.then(|| to_raw_value(&members).ok()).flatten()
}

fn any_object() -> Box<RawValue> {
    RawValue::from_string(r#"{"type":"object"}"#.to_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(sent: &str, listed: &str) {
        let mut tool: RawMembers = serde_json::from_str(sent).unwrap();
        repair_tool(&mut tool);
        assert_eq!(serde_json::to_string(&tool).unwrap(), listed);
    }

    #[test]
    fn a_sound_tool_stays_as_it_is() {
        let sound = r#"{"name":"t","x":null,"inputSchema":{"type":"object","properties":{"a":{"const":1.0}},"required":["a"],"$defs":{"x":true}},"outputSchema":{"type":"array"}}"#;
        check(sound, sound);
    }

    #[test]
    fn a_schema_is_that_of_an_object() {
        for (sent, listed) in [
            (r#""x":1"#, r#""x":1,"inputSchema":{"type":"object"}"#),
            (r#""inputSchema":null"#, r#""inputSchema":{"type":"object"}"#),
            (r#""inputSchema":{}"#, r#""inputSchema":{"type":"object"}"#),
            (r#""inputSchema":{"type":"string"}"#, r#""inputSchema":{"type":"object"}"#),
            (
                r#""inputSchema":{"properties":{"a":true,"b":false,"c":5,"d":{}}}"#,
                r#""inputSchema":{"properties":{"a":{},"b":{"not":{}},"c":{},"d":{}},"type":"object"}"#,
            ),
            (
                r#""inputSchema":{"type":["object","null"],"properties":[1],"required":true,"x":1.0}"#,
                r#""inputSchema":{"type":"object","x":1.0}"#,
            ),
        ] {
            check(&format!(r#"{{"name":"t",{sent}}}"#), &format!(r#"{{"name":"t",{listed}}}"#));
        }
    }

    #[test]
    fn members_of_the_wrong_kind_are_left_out() {
        check(
            r#"{"name":"t","title":null,"description":7,"annotations":null,"_meta":[],"icons":{},"outputSchema":true,"inputSchema":{"type":"object"}}"#,
            r#"{"name":"t","inputSchema":{"type":"object"}}"#,
        );
    }
}
