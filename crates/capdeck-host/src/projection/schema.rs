//! Whether an output schema can have a path: through references, combinations, arrays and tuples.

use std::collections::HashSet;

use percent_encoding::percent_decode_str;
use serde_json::Value;

use super::field_picker::segments;

/// Keywords whose schemas describe the same value, or the items of an array.
const TRANSPARENT_KEYWORDS: [&str; 13] = [
    "allOf",
    "anyOf",
    "oneOf",
    "if",
    "then",
    "else",
    "items",
    "prefixItems",
    "additionalItems",
    "unevaluatedItems",
    "contains",
    "$ref",
    "$dynamicRef",
];

/// Those of them whose schemas may only add conditions to a schema that names its members, such as
/// `{"required": ["uri"]}`.
const CONDITION_KEYWORDS: [&str; 6] = ["allOf", "anyOf", "oneOf", "if", "then", "else"];

const MEMBER_KEYWORDS: [&str; 4] =
    ["properties", "patternProperties", "additionalProperties", "unevaluatedProperties"];

/// The available names where a path fails; `None` when the schema can have the path.
pub(super) fn missing(path: &str, schema: &Value) -> Option<Vec<String>> {
    let mut places = SchemaCandidates::from_schemas([schema], schema);
    for name in segments(path) {
        if places.is_anything {
            return None;
        }
        let next = places.step(&name, schema);
        if next.schemas.is_empty() && !next.is_anything {
            return Some(places.names());
        }
        places = next;
    }
    None
}

#[derive(Default)]
struct SchemaCandidates<'a> {
    schemas: Vec<&'a Value>,
    is_anything: bool,
}

impl<'a> SchemaCandidates<'a> {
    fn from_schemas(schemas: impl IntoIterator<Item = &'a Value>, root: &'a Value) -> Self {
        let mut places = Self::default();
        let mut seen: HashSet<*const Value> = HashSet::new();
        // With each schema, whether it only adds conditions to one that names its members.
        let mut waiting: Vec<(&Value, bool)> =
            schemas.into_iter().map(|schema| (schema, false)).collect();
        while let Some((schema, is_condition)) = waiting.pop() {
            if !seen.insert(std::ptr::from_ref(schema)) {
                continue;
            }
            if !is_condition && is_open(schema) {
                places.is_anything = true;
            }
            places.schemas.push(schema);
            let names_members = is_condition || schema.get("properties").is_some();
            for keyword in TRANSPARENT_KEYWORDS {
                let adds = names_members && CONDITION_KEYWORDS.contains(&keyword);
                match schema.get(keyword) {
                    Some(Value::Array(several)) => {
                        waiting.extend(several.iter().map(|one| (one, adds)));
                    }
                    Some(Value::String(reference)) => match resolve(root, reference) {
                        Some(target) => waiting.push((target, false)),
                        // A schema in another document may allow anything.
                        None => places.is_anything = true,
                    },
                    Some(one) => waiting.push((one, adds)),
                    None => {}
                }
            }
            let dependent = schema.get("dependentSchemas").and_then(Value::as_object);
            let dependent = dependent.into_iter().flat_map(|schemas| schemas.values());
            waiting.extend(dependent.map(|one| (one, names_members)));
        }
        places
    }

    fn step(&self, name: &str, root: &'a Value) -> Self {
        let mut found = Vec::new();
        let mut is_anything = false;
        for schema in &self.schemas {
            let properties = schema.get("properties");
            if let Some(property) = properties.and_then(|all| all.get(name)) {
                found.push(property);
                continue;
            }
            let patterns = schema.get("patternProperties").and_then(Value::as_object);
            found.extend(patterns.into_iter().flat_map(|patterns| patterns.values()));
            for open in ["additionalProperties", "unevaluatedProperties"] {
                match schema.get(open) {
                    Some(Value::Bool(allowed)) => is_anything |= allowed,
                    Some(schema) => found.push(schema),
                    None => {}
                }
            }
        }
        let mut places = Self::from_schemas(found, root);
        places.is_anything |= is_anything;
        places
    }

    fn names(&self) -> Vec<String> {
        let properties = self.schemas.iter().filter_map(|schema| schema.get("properties"));
        let names = properties.filter_map(Value::as_object).flat_map(|members| members.keys());
        let mut names: Vec<String> = names.cloned().collect();
        names.sort_unstable();
        names.dedup();
        names
    }
}

/// True for a schema that may describe an object and does not define its members.
fn is_open(schema: &Value) -> bool {
    let Value::Object(keywords) = schema else { return schema == &Value::Bool(true) };
    let says_more = TRANSPARENT_KEYWORDS
        .iter()
        .chain(&MEMBER_KEYWORDS)
        .chain(&["enum", "const"])
        .any(|keyword| keywords.contains_key(*keyword));
    let may_be_object = match keywords.get("type") {
        None => true,
        Some(Value::String(kind)) => kind == "object" || kind == "array",
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "object" || kind == "array"),
        Some(_) => false,
    };
    may_be_object && !says_more
}

fn resolve<'a>(root: &'a Value, reference: &str) -> Option<&'a Value> {
    let (document, fragment) = reference.split_once('#').unwrap_or((reference, ""));
    let fragment = percent_decode_str(fragment).decode_utf8().ok()?;
    let document = match document {
        "" => root,
        id => find(root, &|schema| schema.get("$id").and_then(Value::as_str) == Some(id), 0)?,
    };
    match fragment.as_ref() {
        "" => Some(document),
        pointer if pointer.starts_with('/') => document.pointer(pointer),
        name => {
            let is_named = |schema: &Value| {
                ["$anchor", "$dynamicAnchor"]
                    .iter()
                    .any(|keyword| schema.get(*keyword).and_then(Value::as_str) == Some(name))
            };
            find(document, &is_named, 0)
        }
    }
}

fn find<'a>(schema: &'a Value, is_it: &dyn Fn(&Value) -> bool, depth: usize) -> Option<&'a Value> {
    if depth > 64 {
        return None;
    }
    if is_it(schema) {
        return Some(schema);
    }
    match schema {
        Value::Object(members) => members.values().find_map(|one| find(one, is_it, depth + 1)),
        Value::Array(items) => items.iter().find_map(|one| find(one, is_it, depth + 1)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(schema: &Value, good: &[&str], wrong: &[&str]) {
        for path in good {
            assert_eq!(missing(path, schema), None, "{path}");
        }
        for path in wrong {
            assert!(missing(path, schema).is_some(), "{path}");
        }
    }

    #[test]
    fn paths_reach_through_arrays_references_and_unions() {
        let schema = json!({
            "type": "object",
            "properties": {
                "items": {"type": "array", "items": {"$ref": "#/$defs/item"}},
                "total": {"type": "integer"},
                "slash": {"$ref": "#/$defs/a~1b%20c"},
                "anchored": {"$ref": "#here"},
                "named": {"$ref": "https://example.com/other"},
            },
            "$defs": {
                "item": {"anyOf": [
                    {"properties": {"id": {"type": "string"}, "next": {"$ref": "#/$defs/item"}}},
                    {"oneOf": [{"allOf": [{"properties": {"name": {"type": "string"}}}]}]},
                ]},
                "a/b c": {"properties": {"deep": {"type": "null"}}},
                "anchor": {"$anchor": "here", "properties": {"x": {"type": "string"}}},
                "other": {"$id": "https://example.com/other", "properties": {"y": {"type": "string"}}},
            }
        });
        check(
            &schema,
            &["items.id", "items.next.next.name", "total", "slash.deep", "anchored.x", "named.y"],
            &["items.nope", "items.id.x", "total.x", "slash.nope", "anchored.y", "nope"],
        );
        assert_eq!(missing("items.nope", &schema).unwrap(), ["id", "name", "next"]);
    }

    #[test]
    fn open_places_have_any_member_and_closed_ones_none() {
        let schema = json!({
            "properties": {
                "map": {"additionalProperties": {"properties": {"n": {"type": "integer"}}}},
                "any": true,
                "bare": {"type": "object"},
                "never": false,
                "closed": {"properties": {"a": {"type": "string"}}, "additionalProperties": false},
                "open": {"properties": {"a": {"type": "string"}}, "additionalProperties": true},
                "patterned": {"patternProperties": {"^x": {"properties": {"p": {"type": "string"}}}}},
                "elsewhere": {"$ref": "other.json#/x"},
            }
        });
        check(
            &schema,
            &[
                "map.k.n",
                "any.x.y",
                "bare.x",
                "closed.a",
                "open.z.z",
                "patterned.x1.p",
                "elsewhere.q",
            ],
            &["map.k.m", "never.x", "closed.b", "patterned.x1.q"],
        );
    }

    #[test]
    fn tuples_and_conditions_are_passed_through() {
        let schema = json!({
            "properties": {
                "pair": {"type": "array", "prefixItems": [
                    {"properties": {"left": {"type": "string"}}},
                    {"properties": {"right": {"type": "string"}}},
                ], "items": false},
                "old": {"items": [{"properties": {"o": {"type": "string"}}}], "additionalItems": {"properties": {"m": {"type": "string"}}}},
            },
            "if": {"properties": {"kind": {"const": "a"}}},
            "then": {"properties": {"a": {"type": "string"}}},
            "else": {"properties": {"b": {"type": "string"}}},
            "dependentSchemas": {"x": {"properties": {"c": {"type": "string"}}}},
        });
        check(
            &schema,
            &["pair.left", "pair.right", "old.o", "old.m", "a", "b", "c", "kind"],
            &["pair.up", "d"],
        );
    }

    #[test]
    fn schemas_that_lead_back_to_themselves_end() {
        let schema = json!({"$ref": "#", "allOf": [{"$ref": "#/allOf/0"}, {"properties": {"a": {"$ref": "#"}}}]});
        check(&schema, &["a.a.a.a"], &["a.b"]);
    }
}
