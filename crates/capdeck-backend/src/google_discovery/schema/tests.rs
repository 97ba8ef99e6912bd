//! Tables of schemas and what they become.

use capdeck_definition::{BackendAuth, CapabilityId};
use serde_json::json;

use super::*;
use crate::google_discovery::{DiscoveryDocument, GoogleApi, OperationFilter};

/// What a schema becomes among these types as a body or a response, with its `$defs` and the problems found.
fn written(
    schema: &Value,
    types: &Value,
    direction: GoogleSchemaDirection,
) -> (Value, Value, Vec<String>) {
    let mut method = json!({"id": "api.things.insert", "httpMethod": "POST", "path": "things"});
    let (part, place) = match direction {
        GoogleSchemaDirection::Input => ("request", "/inputSchema/properties/body"),
        GoogleSchemaDirection::Output => ("response", "/outputSchema/anyOf/0/properties/body"),
    };
    method[part] = schema.clone();
    let root = json!({"schemas": types, "methods": {"insert": method}});
    let document = DiscoveryDocument::read(root.to_string().as_bytes()).unwrap();
    let bases = document.bases(Some("https://things.example/")).unwrap();
    let (id, filter) = (CapabilityId::new("thing").unwrap(), OperationFilter::default());
    let api = GoogleApi::import(&document, bases, &id, &filter, &BackendAuth::None {}).unwrap();
    let tool = serde_json::to_value(&api.discovery.tools[0]).unwrap();
    let definitions = match direction {
        GoogleSchemaDirection::Input => tool["inputSchema"]["$defs"].clone(),
        GoogleSchemaDirection::Output => tool["outputSchema"]["$defs"].clone(),
    };
    let problems = api.discovery.problems.iter();
    let problems = problems.map(|one| format!("{}: {}", one.place, one.reason)).collect();
    (tool.pointer(place).unwrap().clone(), definitions, problems)
}

fn input(schema: Value) -> Value {
    let (written, definitions, flaws) = written(&schema, &json!({}), GoogleSchemaDirection::Input);
    assert_eq!((definitions, flaws), (Value::Null, vec![]));
    written
}

#[test]
fn scalars_keep_what_limits_them() {
    for (schema, expected) in [
        (json!({"type": "string"}), json!({"type": "string"})),
        (
            json!({"type": "string", "format": "int64"}),
            json!({"type": "string", "format": "int64"}),
        ),
        (
            json!({"type": "string", "format": "byte"}),
            json!({"type": "string", "contentEncoding": "base64"}),
        ),
        (
            json!({"type": "integer", "format": "uint32", "minimum": "1", "maximum": "500", "default": "100"}),
            json!({"type": "integer", "format": "uint32", "minimum": 1, "maximum": 500, "default": 100}),
        ),
        (json!({"type": "number", "minimum": "0.5"}), json!({"type": "number", "minimum": 0.5})),
        (
            json!({"type": "boolean", "default": "true"}),
            json!({"type": "boolean", "default": true}),
        ),
        (json!({"type": "boolean", "default": "maybe"}), json!({"type": "boolean"})),
        (json!({"type": "integer", "default": "x"}), json!({"type": "integer"})),
        (
            json!({"type": "string", "pattern": "^a/[^/]+$"}),
            json!({"type": "string", "pattern": "^a/[^/]+$"}),
        ),
        (
            json!({"type": "string", "repeated": true, "default": "a"}),
            json!({"type": "array", "items": {"type": "string"}, "default": ["a"]}),
        ),
        (json!({"type": "any"}), json!({})),
        (
            json!({"type": "string", "description": " x ", "deprecated": true}),
            json!({"type": "string", "description": "x", "deprecated": true}),
        ),
    ] {
        assert_eq!(input(schema.clone()), expected, "{schema}");
    }
}

#[test]
fn values_are_explained() {
    let schema = json!({"type": "string", "description": "How.", "enum": ["A", "B", "C"],
        "enumDescriptions": ["First.", "", "Third."], "enumDeprecated": [false, false, true]});
    assert_eq!(
        input(schema),
        json!({"type": "string", "enum": ["A", "B", "C"],
            "description": "How.\n- `A`: First.\n- `C`: deprecated. Third."})
    );
}

#[test]
fn objects_are_closed_unless_they_say_otherwise() {
    assert_eq!(
        input(json!({"type": "object", "properties": {"a": {"type": "string"}}})),
        json!({"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": false})
    );
    assert_eq!(input(json!({"type": "object"})), json!({"type": "object"}));
    assert_eq!(
        input(json!({"type": "object", "properties": {}})),
        json!({"type": "object", "additionalProperties": false})
    );
    assert_eq!(
        input(json!({"type": "object", "additionalProperties": {"type": "integer"}})),
        json!({"type": "object", "additionalProperties": {"type": "integer"}})
    );
    let open = json!({"type": "object", "properties": {"a": {"type": "string", "enum": ["x"]}}});
    let (output, ..) = written(&open, &json!({}), GoogleSchemaDirection::Output);
    assert_eq!(output, json!({"type": "object", "properties": {"a": {"type": "string"}}}));
}

#[test]
fn members_are_required_by_the_methods_that_say_so() {
    let schema = json!({"type": "object", "properties": {
        "end": {"type": "string", "annotations": {"required": ["api.things.insert"]}},
        "etag": {"type": "string", "annotations": {"required": ["api.things.update"]}},
        "made": {"type": "string", "readOnly": true, "description": "long"},
    }});
    assert_eq!(
        input(schema),
        json!({"type": "object", "required": ["end"], "additionalProperties": false, "properties": {
            "end": {"type": "string"}, "etag": {"type": "string"}, "made": {"readOnly": true}}})
    );
}

#[test]
fn types_are_shared_and_described_where_they_are_used() {
    let types = json!({
        "Thing": {"id": "Thing", "type": "object", "properties": {
            "once": {"$ref": "Once", "description": "the only one"},
            "left": {"$ref": "Shared"}, "right": {"$ref": "Shared"}}},
        "Once": {"type": "object", "description": "in general", "properties": {"x": {"type": "string"}}},
        "Shared": {"type": "string"},
    });
    let (thing, definitions, flaws) =
        written(&json!({"$ref": "Thing"}), &types, GoogleSchemaDirection::Output);
    assert_eq!(
        thing,
        json!({"type": "object", "properties": {
            "once": {"$ref": "#/$defs/Once", "description": "the only one"},
            "left": {"type": "string"}, "right": {"type": "string"}}})
    );
    assert_eq!(
        definitions,
        json!({"Once": {"type": "object", "description": "in general", "properties": {"x": {"type": "string"}}}})
    );
    assert!(flaws.is_empty());
}

#[test]
fn members_that_a_method_requires_deep_inside_are_required_of_it_alone() {
    let types = json!({
        "Thing": {"type": "object", "properties": {"owner": {"$ref": "Owner"}, "place": {"$ref": "Place"}}},
        "Owner": {"type": "object", "properties": {
            "name": {"type": "string", "annotations": {"required": ["api.things.insert"]}},
            "thing": {"$ref": "Thing"}}},
        "Place": {"type": "object", "properties": {
            "name": {"type": "string", "annotations": {"required": ["api.things.update"]}}}},
    });
    let (thing, definitions, _) =
        written(&json!({"$ref": "Thing"}), &types, GoogleSchemaDirection::Input);
    assert_eq!(thing["properties"]["owner"], json!({"$ref": "#/$defs/Owner"}));
    assert_eq!(definitions["Owner"]["required"], json!(["name"]));
    assert_eq!(definitions["Owner"]["properties"]["thing"], json!({"$ref": "#/$defs/Thing"}));
    assert_eq!(definitions["Place"]["required"], Value::Null);
}

#[test]
fn recursive_types_stay_exact() {
    let types = json!({
        "Part": {"type": "object", "properties": {"parts": {"type": "array", "items": {"$ref": "Part"}}}},
        "Message": {"type": "object", "properties": {"payload": {"$ref": "Part"}}},
        "A": {"type": "object", "properties": {"b": {"$ref": "B"}}},
        "B": {"type": "object", "properties": {"a": {"$ref": "A"}}},
    });
    let (message, definitions, _) =
        written(&json!({"$ref": "Message"}), &types, GoogleSchemaDirection::Output);
    assert_eq!(
        message,
        json!({"type": "object", "properties": {"payload": {"$ref": "#/$defs/Part"}}})
    );
    assert_eq!(
        definitions,
        json!({"Part": {"type": "object", "properties": {
            "parts": {"type": "array", "items": {"$ref": "#/$defs/Part"}}}}})
    );
    let (a, definitions, _) = written(&json!({"$ref": "A"}), &types, GoogleSchemaDirection::Output);
    assert_eq!(a, json!({"type": "object", "properties": {"b": {"$ref": "#/$defs/B"}}}));
    assert_eq!(
        definitions,
        json!({
            "A": {"type": "object", "properties": {"b": {"$ref": "#/$defs/B"}}},
            "B": {"type": "object", "properties": {"a": {"$ref": "#/$defs/A"}}},
        })
    );
}

#[test]
fn a_chain_of_thousands_of_types_ends() {
    let types: Map<String, Value> = (0..5_000)
        .map(|number| {
            let next = json!({"$ref": format!("T{}", number + 1)});
            (format!("T{number}"), json!({"type": "object", "properties": {"next": next}}))
        })
        .chain([("T5000".to_owned(), json!({"type": "string"}))])
        .collect();
    let (_, definitions, flaws) =
        written(&json!({"$ref": "T0"}), &Value::Object(types), GoogleSchemaDirection::Input);
    assert_eq!(flaws.len(), 0);
    assert!(definitions.as_object().unwrap().len() > 300);
}

#[test]
fn what_cannot_be_read_accepts_anything_and_is_reported() {
    let types = json!({
        "Thing": {"type": "object", "properties": {
            "lost": {"$ref": "Gone"}, "odd": {"type": "strnig"}, "bad": 7, "number": {"$ref": 8},
            "list": {"type": "array"}, "deep": {"$ref": "Deep"},
            "open": {"type": "string", "pattern": "^[^"}}},
        "Deep": "not a schema",
    });
    let (thing, _, flaws) =
        written(&json!({"$ref": "Thing"}), &types, GoogleSchemaDirection::Input);
    assert_eq!(
        thing["properties"],
        json!({"lost": {}, "odd": {}, "bad": {}, "number": {}, "list": {"type": "array", "items": {}}, "deep": {"$ref": "#/$defs/Deep"}, "open": {"type": "string"}})
    );
    assert_eq!(
        flaws,
        [
            "POST /things#api.things.insert: the reference `#/x-input/Gone` leads to nothing; any value is accepted there",
            "POST /things#api.things.insert: the type `strnig` is unknown; any value is accepted there",
            "POST /things#api.things.insert: a schema is neither an object nor a boolean; any value is accepted there",
            "POST /things#api.things.insert: `^[^` is no regular expression that can be checked; any text is accepted there",
            "schema `Deep`: a schema is neither an object nor a boolean; any value is accepted there",
        ]
    );
}
