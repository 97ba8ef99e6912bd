//! A tool in few words: what it is for and how to call it, without its schemas.

use serde_json::{Map, Value, json};

use crate::{
    Tool,
    input_shape::{InputShape, template},
};

/// The compact form shown in tool listings.
pub fn compact(tool: &Tool) -> Value {
    let shape = InputShape::from_tool(tool);
    let mut compact = Map::new();
    compact.insert("name".into(), json!(tool.name()));
    for key in ["description", "useWhen", "avoidWhen"] {
        if let Some(text) = tool.text(key) {
            compact.insert(key.into(), Value::String(text));
        }
    }
    compact.insert("hasInputSchema".into(), json!(tool.input_schema().is_some()));
    compact.insert("hasOutputSchema".into(), json!(tool.output_schema().is_some()));
    compact.insert("supportsFields".into(), json!(true));

    let template = template(&shape);
    let (required, accepted) = (shape.required(), shape.accepted());
    let callable = template.is_some() || required.is_empty();
    for (key, mut names) in [("requiredArgs", required), ("acceptedArgs", accepted)] {
        if !names.is_empty() {
            names.sort_unstable();
            compact.insert(key.into(), json!(names));
        }
    }
    if callable {
        let arguments = template.clone().unwrap_or_default();
        if let Some(template) = template {
            compact.insert("argsTemplate".into(), Value::Object(template));
        }
        let call = json!({"operation": "call_tool", "name": tool.name(), "args": arguments});
        compact.insert("callTemplate".into(), call);
    }
    for hint in ["readOnlyHint", "destructiveHint"] {
        if let Some(value) = tool.annotation(hint) {
            compact.insert(hint.into(), json!(value));
        }
    }
    Value::Object(compact)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(tool: Value, expected: Value) {
        let tool: Tool = serde_json::from_value(tool).unwrap();
        assert_eq!(compact(&tool).to_string(), expected.to_string());
    }

    #[test]
    fn a_full_tool_keeps_what_helps_to_call_it() {
        check(
            json!({
                "name": "list", "description": "Lists things.", "useWhen": "many", "avoidWhen": "one",
                "inputSchema": {"properties": {"b": {"type": "string"}, "a": {"type": "integer"}}, "required": ["b"]},
                "outputSchema": {}, "annotations": {"readOnlyHint": true, "destructiveHint": false}
            }),
            json!({
                "name": "list", "description": "Lists things.", "useWhen": "many", "avoidWhen": "one",
                "hasInputSchema": true, "hasOutputSchema": true, "supportsFields": true,
                "requiredArgs": ["b"], "acceptedArgs": ["a", "b"], "argsTemplate": {"b": ""},
                "callTemplate": {"operation": "call_tool", "name": "list", "args": {"b": ""}},
                "readOnlyHint": true, "destructiveHint": false
            }),
        );
    }

    #[test]
    fn a_bare_tool_and_one_without_template() {
        check(
            json!({"name": "ping"}),
            json!({"name": "ping", "hasInputSchema": false, "hasOutputSchema": false, "supportsFields": true,
                   "callTemplate": {"operation": "call_tool", "name": "ping", "args": {}}}),
        );
        check(
            json!({"name": "odd", "inputSchema": {"properties": {"a": {}}, "required": ["a"]}}),
            json!({"name": "odd", "hasInputSchema": true, "hasOutputSchema": false, "supportsFields": true,
                   "requiredArgs": ["a"], "acceptedArgs": ["a"]}),
        );
    }
}
