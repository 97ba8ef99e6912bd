//! A signature in as few words as still say how to call a tool.
//!
//! No type stands for `string`, the commonest one. Objects are spelled out one level deep, because an argument that is an
//! object says nothing by its name alone.

use serde_json::Value;

use super::{
    alternatives, key, members,
    schema_walk::{SchemaBudget, SchemaWalk},
};
use crate::{
    Tool,
    input_shape::{InputShape, object},
};

/// The call of a tool under another name: `notes.add(text, tags?: string[])`.
pub fn brief_signature(name: &str, tool: &Tool) -> String {
    brief(name, &InputShape::of(tool))
}

fn brief(name: &str, shape: &InputShape) -> String {
    let required = shape.required();
    let optional = shape.accepted().into_iter().filter(|argument| !shape.is_required(argument));
    let named = required.into_iter().chain(optional);
    let budget = SchemaBudget::default();
    let walk = SchemaWalk::new(shape.root(), &budget);
    let arguments = named.map(|argument| {
        let kind = shape.argument(argument).and_then(|schema| kind(walk, schema));
        member(argument, shape.is_required(argument), kind)
    });
    format!("{name}({})", arguments.collect::<Vec<_>>().join(", "))
}

fn member(name: &str, is_required: bool, kind: Option<String>) -> String {
    let mark = if is_required { "" } else { "?" };
    match kind {
        Some(kind) => format!("{}{mark}: {kind}", key(name)),
        None => format!("{}{mark}", key(name)),
    }
}

/// What a schema accepts; `None` for a string and for what it does not say.
fn kind(walk: SchemaWalk<'_>, schema: &Value) -> Option<String> {
    let (schema, walk) = walk.enter(schema)?;
    if let Some(constant) = schema.get("const") {
        return Some(constant.to_string());
    }
    if let Some(options) = schema.get("enum").and_then(Value::as_array) {
        return union(options.iter().map(|option| Some(option.to_string())));
    }
    for keyword in ["anyOf", "oneOf"] {
        if let Some(options) = schema.get(keyword).and_then(Value::as_array) {
            return union(options.iter().map(|option| kind(walk, option)));
        }
    }
    match schema.get("type") {
        Some(Value::String(name)) => named(walk, schema, name),
        Some(Value::Array(names)) => {
            union(names.iter().filter_map(Value::as_str).map(|name| named(walk, schema, name)))
        }
        _ if schema.get("properties").is_some() => named(walk, schema, "object"),
        _ => None,
    }
}

fn named(walk: SchemaWalk<'_>, schema: &Value, name: &str) -> Option<String> {
    match name {
        "string" => None,
        "integer" | "number" => Some("number".to_owned()),
        "array" => {
            let item = schema.get("items").map(|items| kind(walk, items));
            Some(match item {
                None => "unknown[]".to_owned(),
                Some(None) => "string[]".to_owned(),
                Some(Some(item)) if item.contains('|') => format!("({item})[]"),
                Some(Some(item)) => format!("{item}[]"),
            })
        }
        "object" => Some(match object(schema, "properties") {
            Some(properties) if walk.objects == 0 && !properties.is_empty() => {
                let members = members(schema, properties, |name, is_required, schema| {
                    member(name, is_required, kind(walk.in_object(), schema))
                });
                format!("{{{}}}", members.join(", "))
            }
            _ => "object".to_owned(),
        }),
        other => Some(other.to_owned()),
    }
}

/// Alternatives, each once. Nothing is said of `null`: such an argument may be left out.
fn union(options: impl Iterator<Item = Option<String>>) -> Option<String> {
    let named = options.map(|option| option.unwrap_or_else(|| "string".to_owned()));
    let shown = alternatives(named.filter(|option| option != "null"));
    match shown.as_slice() {
        [] => None,
        [one] if one == "string" => None,
        _ => Some(shown.join("|")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(schema: Value, expected: &str) {
        assert_eq!(brief("notes.add", &InputShape::from_schema(schema)), expected);
    }

    #[test]
    fn strings_need_no_type_and_the_rest_is_short() {
        check(json!({}), "notes.add()");
        check(
            json!({"properties": {
                "mode": {"enum": ["a", "b"]}, "limit": {"type": "integer"}, "text": {"type": "string"},
                "tags": {"type": "array", "items": {"type": "string"}}, "any": {}}, "required": ["text"]}),
            "notes.add(text, mode?: \"a\"|\"b\", limit?: number, tags?: string[], any?)",
        );
        check(
            json!({"properties": {"a": {"type": ["string", "null"]}, "b": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
                "c": {"type": ["string", "integer"]}, "d": {"type": "array"}}}),
            "notes.add(a?, b?: number, c?: string|number, d?: unknown[])",
        );
    }

    #[test]
    fn objects_are_spelled_out_once() {
        check(
            json!({"properties": {"who": {"type": "object", "required": ["name"], "properties": {
                "name": {"type": "string"}, "age": {"type": "integer"},
                "home": {"type": "object", "properties": {"street": {}}}}}}}),
            "notes.add(who?: {name, age?: number, home?: object})",
        );
        check(
            json!({"properties": {"all": {"type": "array", "items": {"$ref": "#/$defs/One"}}},
                "$defs": {"One": {"type": "object", "properties": {"next": {"$ref": "#/$defs/One"}}}}}),
            "notes.add(all?: {next?: object}[])",
        );
        check(json!({"properties": {"free": {"type": "object"}}}), "notes.add(free?: object)");
    }

    #[test]
    fn a_schema_that_contains_itself_ends() {
        let value = json!({"anyOf": [{"type": "integer"}, {"type": "array", "items": {"$ref": "#/$defs/Value"}}]});
        check(
            json!({"properties": {"x": {"$ref": "#/$defs/Value"}}, "$defs": {"Value": value}}),
            "notes.add(x?: number|(number|(number|(number|string[])[])[])[])",
        );
    }
}
