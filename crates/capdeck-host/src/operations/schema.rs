//! The wrapper's own tool definition, and a set as a capability of its own: one wrapper per member.

use std::sync::Arc;

use capdeck_catalog::{Discovery, Tool};
use capdeck_definition::{BackendKind, CapabilityId, Deck, Definition};
use capdeck_sandbox::DeckOperation;
use serde_json::{Value, json};

use super::arguments::operations_of;

pub(crate) fn wrapper_tool(name: &str, definition: &Definition) -> Option<Tool> {
    let value = json!({
        "name": name,
        "title": definition.name,
        "description": wrapper_description(definition),
        "inputSchema": input_schema(definition.backend.kind()),
    });
    Tool::new(serde_json::from_str(&value.to_string()).ok()?)
}

fn wrapper_description(definition: &Definition) -> String {
    let mut text = format!("{}: {}", definition.name, definition.description.trim());
    if let Some(hint) = &definition.hints.use_when {
        text.push_str(&format!("\nUse when: {hint}"));
    }
    if let Some(hint) = &definition.hints.avoid_when {
        text.push_str(&format!("\nAvoid when: {hint}"));
    }
    text.push_str(
        "\nFind a tool with `search_tools` or `tools`, read it with `describe_tool`, \
         run it with `call_tool` and `args`.",
    );
    text
}

fn input_schema(kind: BackendKind) -> Value {
    let operations: Vec<&str> = operations_of(kind).map(DeckOperation::wrapper_name).collect();
    let mut properties = json!({
        "operation": { "type": "string", "enum": operations },
        "query": { "type": "string" },
        "limit": { "type": "integer", "minimum": 1 },
        "cursor": { "type": "string" },
        "name": { "type": "string", "description": "Tool or prompt name" },
        "args": { "type": "object", "description": "Arguments of the tool or prompt" },
        "fields": {
            "type": "array", "minItems": 1, "items": { "type": "string" },
            "description": "Dotted paths of the result to keep"
        },
    });
    let of_servers = json!({
        "uri": { "type": "string" },
        "ref": {
            "type": "object",
            "required": ["type"],
            "properties": {
                "type": { "type": "string", "enum": ["prompt", "resourceTemplate"] },
                "name": { "type": "string" },
                "uri": { "type": "string" }
            }
        },
        "argument": {
            "type": "object", "required": ["name", "value"],
            "properties": { "name": { "type": "string" }, "value": { "type": "string" } }
        },
        "context": {
            "type": "object",
            "properties": {
                "arguments": { "type": "object", "additionalProperties": { "type": "string" } }
            }
        },
    });
    if kind == BackendKind::Mcp
        && let (Some(properties), Value::Object(more)) = (properties.as_object_mut(), of_servers)
    {
        properties.extend(more);
    }
    json!({
        "type": "object",
        "properties": properties,
        "required": ["operation"],
        "additionalProperties": false,
    })
}

/// The tools of a set: one wrapper per member.
pub(crate) fn set_discovery(set: &CapabilityId, deck: &Deck) -> Discovery {
    let members = deck
        .definitions
        .iter()
        .filter(|definition| definition.member_of.as_ref() == Some(set) && !definition.disabled);
    let tools = members
        .filter_map(|definition| wrapper_tool(member_name(set, &definition.id), definition))
        .map(Arc::new)
        .collect();
    Discovery { tools, ..Discovery::default() }
}

/// A member's id without the set's: `toolkit__osv` is `osv` inside `toolkit`.
pub(crate) fn member_name<'a>(set: &CapabilityId, member: &'a CapabilityId) -> &'a str {
    let text = member.as_str();
    text.strip_prefix(set.as_str()).and_then(|rest| rest.strip_prefix("__")).unwrap_or(text)
}
