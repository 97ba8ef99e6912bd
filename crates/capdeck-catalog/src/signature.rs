//! A tool's call in one line of TypeScript-like text: `read_file(path: string, limit?: number)`.
//!
//! The name in front is the caller's: the name, command or expression by which its surface reaches the tool.

mod brief;
mod schema_walk;

use serde_json::{Map, Value};

pub use brief::brief_signature;

use self::schema_walk::{SchemaBudget, SchemaWalk};
use crate::{
    Tool,
    input_shape::{InputShape, object},
};

/// Arguments named in a signature; optional ones beyond this become `…`.
const MAX_ARGUMENTS: usize = 12;
/// Alternatives named in a union; more become `…`.
const MAX_ALTERNATIVES: usize = 6;
/// Object levels that are spelled out; deeper ones read `object`.
const MAX_OBJECT_DEPTH: usize = 2;

/// The call of a tool under the name that the caller uses, required arguments first.
pub fn signature(name: &str, tool: &Tool) -> String {
    format!("{name}({})", argument_list(tool))
}

/// The arguments of a tool, required ones first: `path: string, limit?: number`.
pub fn argument_list(tool: &Tool) -> String {
    render(&InputShape::of(tool))
}

pub(crate) fn render(shape: &InputShape) -> String {
    let required = shape.required();
    let optional = shape.accepted().into_iter().filter(|argument| !shape.is_required(argument));
    let room = MAX_ARGUMENTS.max(required.len());
    let named: Vec<&str> = required.into_iter().chain(optional).collect();
    let budget = SchemaBudget::default();
    let walk = SchemaWalk::new(shape.root(), &budget);
    let mut arguments: Vec<String> = named
        .iter()
        .take(room)
        .map(|argument| {
            let mark = if shape.is_required(argument) { "" } else { "?" };
            let kind = shape
                .argument(argument)
                .map_or_else(|| "unknown".to_owned(), |schema| kind(walk, schema));
            format!("{}{mark}: {kind}", key(argument))
        })
        .collect();
    if named.len() > room {
        arguments.push("…".to_owned());
    }
    arguments.join(", ")
}

/// The TypeScript-like name of what a schema accepts.
fn kind(walk: SchemaWalk<'_>, schema: &Value) -> String {
    let Some((schema, walk)) = walk.enter(schema) else { return "unknown".to_owned() };
    if let Some(constant) = schema.get("const") {
        return constant.to_string();
    }
    if let Some(options) = schema.get("enum").and_then(Value::as_array) {
        return union(options.iter().map(Value::to_string));
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
        _ => "unknown".to_owned(),
    }
}

fn named(walk: SchemaWalk<'_>, schema: &Value, name: &str) -> String {
    match name {
        "integer" | "number" => "number".to_owned(),
        "array" => match schema.get("items") {
            Some(items) => {
                let item = kind(walk, items);
                if item.contains(" | ") { format!("({item})[]") } else { format!("{item}[]") }
            }
            None => "unknown[]".to_owned(),
        },
        "object" => match object(schema, "properties") {
            Some(properties) if walk.objects < MAX_OBJECT_DEPTH && !properties.is_empty() => {
                let members = members(schema, properties, |member, is_required, schema| {
                    let mark = if is_required { "" } else { "?" };
                    format!("{}{mark}: {}", key(member), kind(walk.in_object(), schema))
                });
                format!("{{ {} }}", members.join("; "))
            }
            _ => "object".to_owned(),
        },
        other => other.to_owned(),
    }
}

fn union(options: impl Iterator<Item = String>) -> String {
    let shown = alternatives(options);
    if shown.is_empty() { "never".to_owned() } else { shown.join(" | ") }
}

/// Each alternative once, and not too many of them.
fn alternatives(options: impl Iterator<Item = String>) -> Vec<String> {
    let mut shown: Vec<String> = Vec::new();
    for option in options {
        if shown.contains(&option) {
            continue;
        }
        if shown.len() == MAX_ALTERNATIVES {
            shown.push("…".to_owned());
            break;
        }
        shown.push(option);
    }
    shown
}

/// The members of an object that a caller can set, each written by its name, whether it must be given, and its schema.
fn members(
    schema: &Value,
    properties: &Map<String, Value>,
    write: impl Fn(&str, bool, &Value) -> String,
) -> Vec<String> {
    let required = schema.get("required").and_then(Value::as_array);
    let is_required =
        |name: &str| required.is_some_and(|names| names.iter().any(|one| one == name));
    let is_settable = |schema: &Value| schema.get("readOnly") != Some(&Value::Bool(true));
    let settable = properties.iter().filter(|(_, schema)| is_settable(schema));
    let written = settable.clone().map(|(name, schema)| write(name, is_required(name), schema));
    let mut shown: Vec<String> = written.take(MAX_ARGUMENTS).collect();
    if settable.count() > shown.len() {
        shown.push("…".to_owned());
    }
    shown
}

/// A name as it may stand in TypeScript: bare when it is an identifier, else quoted.
fn key(name: &str) -> String {
    let starts = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
    let legal = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '$';
    if starts && name.chars().all(legal) { name.to_owned() } else { Value::from(name).to_string() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(schema: Value, expected: &str) {
        assert_eq!(format!("tool({})", render(&InputShape::from_schema(schema))), expected);
    }

    #[test]
    fn arguments_read_like_a_function() {
        check(json!({}), "tool()");
        check(
            json!({"properties": {"limit": {"type": "integer"}, "path": {"type": "string"}}, "required": ["path"]}),
            "tool(path: string, limit?: number)",
        );
        check(
            json!({"properties": {"state": {"enum": ["open", "closed"]}, "ids": {"type": "array", "items": {"type": "integer"}}}}),
            "tool(state?: \"open\" | \"closed\", ids?: number[])",
        );
        check(
            json!({"properties": {"who": {"$ref": "#/$defs/Who"}}, "required": ["who"],
                   "$defs": {"Who": {"type": "object", "properties": {"name": {"type": ["string", "null"]}}, "required": ["name"]}}}),
            "tool(who: { name: string | null })",
        );
        check(
            json!({"properties": {"file": {"type": "object", "properties": {
                "name": {"type": "string"}, "id": {"readOnly": true}}}}}),
            "tool(file?: { name?: string })",
        );
        check(
            json!({"properties": {"per-page": {"type": "integer"}}}),
            "tool(\"per-page\"?: number)",
        );
        check(json!({"required": ["lost"]}), "tool(lost: unknown)");
    }

    #[test]
    fn recursive_and_wide_schemas_stay_short() {
        check(
            json!({"properties": {"tree": {"$ref": "#/$defs/Node"}},
                   "$defs": {"Node": {"type": "object", "properties": {"child": {"$ref": "#/$defs/Node"}}}}}),
            "tool(tree?: { child?: { child?: object } })",
        );
        let properties: serde_json::Map<String, Value> =
            (0..40).map(|number| (format!("a{number}"), json!({"type": "string"}))).collect();
        let text = render(&InputShape::from_schema(json!({ "properties": properties })));
        assert!(text.ends_with("a11?: string, …"), "{text}");
    }

    #[test]
    fn a_reference_to_itself_ends() {
        check(json!({"properties": {"x": {"$ref": "#/properties/x"}}}), "tool(x?: unknown)");
        let value = json!({"anyOf": [{"type": "string"}, {"type": "array", "items": {"$ref": "#/$defs/Value"}}]});
        check(
            json!({"properties": {"x": {"$ref": "#/$defs/Value"}}, "$defs": {"Value": value}}),
            "tool(x?: string | (string | (string | (string | unknown[])[])[])[])",
        );
        let only_itself = json!({"oneOf": [{"$ref": "#/$defs/A"}, {"$ref": "#/$defs/A"}]});
        check(
            json!({"properties": {"x": {"$ref": "#/$defs/A"}}, "$defs": {"A": only_itself}}),
            "tool(x?: unknown)",
        );
    }

    /// Each of twenty levels has twenty ways to the next.
    #[test]
    fn alternatives_that_multiply_end() {
        let levels: serde_json::Map<String, Value> = (0..20)
            .map(|level| {
                let next = json!({"type": "array", "items": {"anyOf": vec![json!({"$ref": format!("#/$defs/L{}", level + 1)}); 20]}});
                (format!("L{level}"), next)
            })
            .collect();
        let schema = json!({"properties": {"x": {"$ref": "#/$defs/L0"}}, "$defs": levels});
        let text = render(&InputShape::from_schema(schema));
        assert!(text.len() < 200, "{text}");
    }
}
