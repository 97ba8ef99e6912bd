//! The smallest arguments a tool accepts, with placeholders where values go.

use serde_json::{Map, Value, json};

use crate::input_shape::InputShape;

/// More required arguments than this are better read from the schema.
const MAX_REQUIRED_ARGUMENTS: usize = 4;
/// Without required arguments, all are shown when there are no more than this.
const MAX_OPTIONAL_ARGUMENTS: usize = 3;

/// Placeholders for the required arguments, or for all when none is required and there are few.
/// `None` when there is nothing to show, too much, or one whose type is unknown.
pub(crate) fn template(shape: &InputShape) -> Option<Map<String, Value>> {
    let required = shape.required();
    let names = if required.is_empty() { shape.accepted() } else { required };
    let most =
        if shape.required().is_empty() { MAX_OPTIONAL_ARGUMENTS } else { MAX_REQUIRED_ARGUMENTS };
    if names.is_empty() || names.len() > most {
        return None;
    }
    names
        .into_iter()
        .map(|name| Some((name.to_owned(), placeholder(shape.argument(name)?)?)))
        .collect()
}

fn placeholder(schema: &Value) -> Option<Value> {
    let scalar = |value: &&Value| !value.is_array() && !value.is_object();
    if let Some(options) = schema.get("enum").and_then(Value::as_array)
        && let Some(first) = options.iter().find(scalar)
    {
        return Some(first.clone());
    }
    let name = match schema.get("type")? {
        Value::String(name) => name.as_str(),
        Value::Array(names) => {
            names.iter().filter_map(Value::as_str).find(|name| *name != "null")?
        }
        _ => return None,
    };
    match name {
        "string" => Some(json!("")),
        "number" | "integer" => Some(json!(0)),
        "boolean" => Some(json!(false)),
        "array" => Some(json!([])),
        "object" => Some(json!({})),
        "null" => Some(Value::Null),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(schema: Value, expected: Option<Value>) {
        assert_eq!(template(&InputShape::from_schema(schema)).map(Value::Object), expected);
    }

    #[test]
    fn the_rules_of_the_template() {
        let text = json!({"type": "string"});
        check(json!({}), None);
        check(
            json!({"properties": {"a": text, "b": {"type": "integer"}}, "required": ["b"]}),
            Some(json!({"b": 0})),
        );
        check(
            json!({"properties": {"a": text, "b": {"enum": ["x", "y"]}, "c": {"type": ["null", "boolean"]}}}),
            Some(json!({"a": "", "b": "x", "c": false})),
        );
        check(json!({"properties": {"a": text, "b": text, "c": text, "d": text}}), None);
        check(
            json!({"properties": {"a": text, "b": text, "c": text, "d": text, "e": text},
                   "required": ["a", "b", "c", "d", "e"]}),
            None,
        );
        check(json!({"properties": {"a": {"anyOf": [text]}}, "required": ["a"]}), None);
        check(
            json!({"properties": {"a": {"$ref": "#/$defs/list"}}, "required": ["a"],
                   "$defs": {"list": {"type": "array"}}}),
            Some(json!({"a": []})),
        );
    }
}
