//! The walk judges like a general validator, on every fixture and on every small change to one.

use std::{fs, path::Path};

use jsonschema::Validator;
use serde_json::{Map, Value, json};

use super::check;
use crate::{
    diagnostic::TextPosition,
    document::{MapEntries, MapEntry, NodeValue, ValueNode, json as json_document, yaml},
    frontmatter, pattern,
    schema::{CAPLET, CONFIG, FileSchema},
};

/// The keywords that the walk knows, and those that need no check.
const KEYWORDS: [&str; 24] = [
    "$defs",
    "$ref",
    "$schema",
    "additionalProperties",
    "allOf",
    "anyOf",
    "const",
    "default",
    "description",
    "enum",
    "items",
    "maxLength",
    "maximum",
    "minLength",
    "minProperties",
    "minimum",
    "not",
    "oneOf",
    "pattern",
    "properties",
    "propertyNames",
    "required",
    "title",
    "type",
];

#[test]
fn the_schemas_use_no_keyword_the_walk_does_not_know() {
    fn look(schema: &Value) {
        let Some(schema) = schema.as_object() else { return };
        for (keyword, value) in schema {
            let known = KEYWORDS.contains(&keyword.as_str()) || keyword == "uniqueItems";
            assert!(known, "{keyword}");
            match keyword.as_str() {
                "properties" | "$defs" => value.as_object().unwrap().values().for_each(look),
                "items" | "additionalProperties" => look(value),
                "oneOf" | "anyOf" => value.as_array().unwrap().iter().for_each(look),
                "pattern" => assert!(pattern::find(value.as_str().unwrap()).is_some(), "{value}"),
                _ => {}
            }
        }
    }
    look(&CAPLET.schema);
    look(&CONFIG.schema);
}

#[test]
fn the_walk_agrees_with_a_general_validator() {
    let caplet = jsonschema::validator_for(&CAPLET.schema).unwrap();
    let config = jsonschema::validator_for(&CONFIG.schema).unwrap();
    let mut judged = 0;
    let mut refused = 0;
    for (name, document) in fixtures() {
        let (schema, validator): (&FileSchema, _) =
            if name.ends_with(".md") { (&CAPLET, &caplet) } else { (&CONFIG, &config) };
        let mut compare = |document: &Value| {
            judged += 1;
            refused += usize::from(!agree(&name, document, schema, validator));
        };
        compare(&document);
        // One in four still covers each kind of change at each kind of place.
        for change in changes(&document).into_iter().step_by(4) {
            compare(&change);
        }
    }
    assert!(judged > 2_000 && refused > 1_000 && refused < judged, "{refused} of {judged}");
}

fn agree(name: &str, document: &Value, schema: &FileSchema, validator: &Validator) -> bool {
    let expected = validator.is_valid(document);
    let node = node_of(document);
    assert_eq!(check(schema, &node).is_empty(), expected, "{name}: {document:#}");
    expected
}

/// Every document with one value replaced, one key removed or one key added.
fn changes(document: &Value) -> Vec<Value> {
    let mut pointers = Vec::new();
    collect_pointers(document, String::new(), &mut pointers);
    let mut changes = Vec::new();
    for pointer in pointers {
        let replacements =
            [json!(null), json!(""), json!("x y"), json!(-1), json!(1.5), json!(1e19)];
        let more = [
            json!(true),
            json!([]),
            json!({}),
            json!([1, 1]),
            json!("none"),
            json!({ "type": "none" }),
        ];
        for replacement in replacements.into_iter().chain(more) {
            let mut changed = document.clone();
            *changed.pointer_mut(&pointer).unwrap() = replacement;
            changes.push(changed);
        }
        let Some(Value::Object(keys)) = document.pointer(&pointer) else { continue };
        for key in keys.keys() {
            let mut changed = document.clone();
            changed.pointer_mut(&pointer).unwrap().as_object_mut().unwrap().shift_remove(key);
            changes.push(changed);
        }
        for key in ["unknown", "actions", "a b", ""] {
            let mut changed = document.clone();
            changed.pointer_mut(&pointer).unwrap()[key] = json!({});
            changes.push(changed);
        }
    }
    changes
}

fn collect_pointers(value: &Value, pointer: String, pointers: &mut Vec<String>) {
    match value {
        Value::Object(map) => map.iter().for_each(|(key, inner)| {
            let key = key.replace('~', "~0").replace('/', "~1");
            collect_pointers(inner, format!("{pointer}/{key}"), pointers);
        }),
        Value::Array(items) => items.iter().enumerate().for_each(|(index, inner)| {
            collect_pointers(inner, format!("{pointer}/{index}"), pointers);
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
    pointers.push(pointer);
}

fn fixtures() -> Vec<(String, Value)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let mut documents = Vec::new();
    for folder in ["valid", "warning"] {
        for entry in fs::read_dir(root.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            let Ok(text) = fs::read_to_string(&path) else { continue };
            let node = match path.extension().unwrap().to_str().unwrap() {
                "md" => frontmatter::split(&text).ok().and_then(|cut| yaml::parse(cut.0).ok()),
                "json" => json_document::parse(&text).ok(),
                "yaml" => yaml::parse(&text).ok(),
                _ => None,
            };
            documents.extend(node.map(|node| (name, node.to_json())));
        }
    }
    documents
}

fn node_of(value: &Value) -> ValueNode {
    let content = match value {
        Value::Null => NodeValue::Null,
        Value::Bool(value) => NodeValue::Bool(*value),
        Value::Number(number) => NodeValue::Number(number.clone()),
        Value::String(text) => NodeValue::Text(text.clone()),
        Value::Array(items) => NodeValue::List(items.iter().map(node_of).collect()),
        Value::Object(map) => NodeValue::Map(entries_of(map)),
    };
    ValueNode { content, place: TextPosition::default() }
}

fn entries_of(map: &Map<String, Value>) -> MapEntries {
    let entry = |(key, value): (&String, &Value)| {
        (key.clone(), MapEntry { place: TextPosition::default(), value: node_of(value) })
    };
    map.iter().map(entry).collect()
}
