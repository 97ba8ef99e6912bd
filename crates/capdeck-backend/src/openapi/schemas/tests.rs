//! From the dialects of descriptions to JSON Schema 2020-12, as tables.

use serde_json::json;

use super::*;

fn convert_in(document: Value, direction: SchemaDirection) -> (Value, Vec<String>) {
    let document = OpenApiDocument::read(document.to_string().as_bytes(), None).unwrap();
    let mut problems = ImportProblems::default();
    let mut schemas = SchemaConverter::new(&document);
    let node = document.root().get("s").unwrap();
    let schema = schemas.convert(node, direction, "here", &mut problems);
    let root = match &schema.value {
        Value::Object(members) => members.clone(),
        other => Map::from_iter([("is".to_owned(), other.clone())]),
    };
    let text = schemas.assemble(&root, &schema.needs);
    let problems = problems.finish("#").into_iter();
    let problems = problems.map(|problem| format!("{}: {}", problem.place, problem.reason));
    (serde_json::from_str(&text).unwrap(), problems.collect())
}

#[track_caller]
fn check(schema: Value, expected: Value) {
    let (converted, problems) =
        convert_in(json!({"openapi": "3.0.0", "s": schema.clone()}), SchemaDirection::Request);
    assert_eq!(converted, expected, "{schema}");
    assert_eq!(problems, Vec::<String>::new(), "{schema}");
    jsonschema_accepts(&converted);
}

/// The checker itself takes what comes out.
#[track_caller]
fn jsonschema_accepts(schema: &Value) {
    let tool = json!({"name": "t", "inputSchema": schema});
    let tool: capdeck_catalog::Tool = serde_json::from_str(&tool.to_string()).unwrap();
    assert_eq!(tool.argument_check().problem(), None, "{schema}");
}

#[test]
fn keywords_of_older_dialects_are_translated() {
    for (schema, expected) in [
        (json!({}), json!({})),
        (json!({"type": "string", "nullable": true}), json!({"type": ["string", "null"]})),
        (json!({"type": "string", "x-nullable": true}), json!({"type": ["string", "null"]})),
        (json!({"type": ["string", "null"]}), json!({"type": ["string", "null"]})),
        (
            json!({"type": "string", "enum": ["a"], "nullable": true}),
            json!({"type": ["string", "null"], "enum": ["a", null]}),
        ),
        (
            json!({"allOf": [{"type": "object"}], "nullable": true, "description": "d"}),
            json!({"anyOf": [{"allOf": [{"type": "object"}]}, {"type": "null"}], "description": "d"}),
        ),
        (
            json!({"type": "number", "minimum": 1, "exclusiveMinimum": true, "maximum": 9, "exclusiveMaximum": false}),
            json!({"type": "number", "exclusiveMinimum": 1, "maximum": 9}),
        ),
        (json!({"exclusiveMinimum": 3}), json!({"exclusiveMinimum": 3})),
        (json!({"example": "x"}), json!({"examples": ["x"]})),
        (json!({"examples": ["x", 1, 2, 3]}), json!({"examples": ["x", 1, 2]})),
        (json!({"example": "x".repeat(500)}), json!({})),
        (json!({"type": "file"}), json!({"type": "string"})),
        (json!({"type": "any"}), json!({})),
        (json!({"type": "int"}), json!({"type": "integer"})),
        (json!({"type": "Boolean"}), json!({"type": "boolean"})),
        (json!({"type": ["int", "long"]}), json!({"type": "integer"})),
        (
            json!({"format": "int32", "pattern": "^a$"}),
            json!({"format": "int32", "pattern": "^a$"}),
        ),
        (
            json!({"minLength": "3", "maxLength": -1, "maxItems": 2.0}),
            json!({"minLength": 3, "maxItems": 2}),
        ),
        (json!({"minimum": "abc", "multipleOf": 0}), json!({})),
        (json!({"enum": []}), json!({})),
        (json!({"required": true}), json!({})),
        (json!({"required": ["a", "b", "a", 5]}), json!({"required": ["a", "b"]})),
        (json!({"required": []}), json!({})),
        (
            json!({"type": "array", "items": [{"type": "string"}]}),
            json!({"type": "array", "prefixItems": [{"type": "string"}]}),
        ),
        (json!({"items": "string"}), json!({})),
        (json!({"oneOf": [{"type": "string"}]}), json!({"anyOf": [{"type": "string"}]})),
        (
            json!({"oneOf": [{"type": "string"}], "anyOf": [{"minLength": 1}]}),
            json!({"allOf": [{"anyOf": [{"type": "string"}]}, {"anyOf": [{"minLength": 1}]}]}),
        ),
        (json!({"allOf": []}), json!({})),
        (
            json!({"discriminator": {"propertyName": "t"}, "xml": {}, "externalDocs": {}, "x-any": 1}),
            json!({}),
        ),
        (
            json!({"properties": {"$ref": {"type": "string"}}}),
            json!({"properties": {"$ref": {"type": "string"}}}),
        ),
        (
            json!({"additionalProperties": {"type": "int"}}),
            json!({"additionalProperties": {"type": "integer"}}),
        ),
        (json!({"additionalProperties": "yes"}), json!({})),
        (json!({"default": {"a": 1}, "const": null}), json!({"default": {"a": 1}, "const": null})),
        (json!({"dependentRequired": {"a": ["b"]}}), json!({"dependentRequired": {"a": ["b"]}})),
        (json!({"dependentRequired": {"a": "b"}}), json!({})),
        (json!({"properties": 5, "title": 7, "description": " d "}), json!({"description": "d"})),
    ] {
        check(schema, expected);
    }
}

#[test]
fn members_travel_one_way() {
    let schema = json!({
        "type": "object", "additionalProperties": false, "required": ["id", "secret", "name"],
        "properties": {
            "id": {"type": "integer", "readOnly": true},
            "secret": {"$ref": "#/x"},
            "name": {"type": "string", "default": "n", "example": "e", "title": "t"},
        },
    });
    let document =
        json!({"openapi": "3.0.0", "s": schema, "x": {"type": "string", "writeOnly": true}});
    let (request, _) = convert_in(document.clone(), SchemaDirection::Request);
    assert_eq!(
        request,
        json!({
            "type": "object", "additionalProperties": false, "required": ["secret", "name"],
            "properties": {
                "secret": {"type": "string"},
                "name": {"type": "string", "default": "n", "examples": ["e"], "title": "t"},
            },
        })
    );
    let (response, _) = convert_in(document, SchemaDirection::Response);
    assert_eq!(
        response,
        json!({
            "type": "object", "required": ["id", "name"],
            "properties": {"id": {"type": "integer"}, "name": {"type": "string"}},
        })
    );
}

#[test]
fn references_become_definitions_and_circles_end() {
    let document = json!({
        "openapi": "3.1.0",
        "s": {"$ref": "#/components/schemas/Node"},
        "components": {"schemas": {
            "Node": {"type": "object", "properties": {
                "next": {"$ref": "#/components/schemas/Node", "description": "the next"},
                "tag": {"$ref": "#/components/schemas/Tag"},
                "maybe": {"$ref": "#/components/schemas/Pair", "nullable": true},
                "alias": {"$ref": "#/components/schemas/Alias"},
            }},
            "Tag": {"type": "string", "maxLength": 5},
            "Alias": {"$ref": "#/components/schemas/Pair"},
            "Pair": {"type": "array", "items": {"$ref": "#/components/schemas/Node"}},
        }},
    });
    let (converted, problems) = convert_in(document, SchemaDirection::Request);
    assert_eq!(problems, Vec::<String>::new());
    let node = json!({"type": "object", "properties": {
        "next": {"$ref": "#/$defs/Node", "description": "the next"},
        "tag": {"type": "string", "maxLength": 5},
        "maybe": {"anyOf": [{"$ref": "#/$defs/Pair"}, {"type": "null"}]},
        "alias": {"$ref": "#/$defs/Pair"},
    }});
    let mut expected = node.clone();
    expected["$defs"] =
        json!({"Node": node, "Pair": {"type": "array", "items": {"$ref": "#/$defs/Node"}}});
    assert_eq!(converted, expected);
    jsonschema_accepts(&converted);
}

#[test]
fn two_definitions_with_one_name_are_distinguished() {
    let big = |kind: &str| json!({"type": kind, "items": {}});
    let document = json!({
        "openapi": "3.1.0",
        "s": {"properties": {"a": {"$ref": "#/one/It%20em"}, "b": {"$ref": "#/two/It~1em"}}},
        "one": {"It em": big("array")},
        "two": {"It/em": big("object")},
    });
    let (converted, _) = convert_in(document, SchemaDirection::Request);
    assert_eq!(converted["$defs"].as_object().unwrap().len(), 2, "{converted}");
    jsonschema_accepts(&converted);
}

#[test]
fn what_means_nothing_is_reported_and_accepts_anything() {
    for (schema, expected, reason) in [
        (
            json!({"properties": {"a": {"$ref": "#/nowhere"}}}),
            json!({"properties": {"a": {}}}),
            "here: the reference `#/nowhere` leads to nothing; any value is accepted there",
        ),
        (
            json!({"items": {"$ref": "#/loop"}}),
            json!({"items": {}}),
            "here: the reference `#/loop` leads in a circle; any value is accepted there",
        ),
        (
            json!({"items": {"$ref": "other.yaml#/x"}}),
            json!({"items": {}}),
            "here: the reference to `other.yaml` is not followed: a description from the web may not name other files; any value is accepted there",
        ),
        (
            json!({"properties": {"a": "string"}}),
            json!({"properties": {"a": {}}}),
            "here: a schema is neither an object nor a boolean; any value is accepted there",
        ),
        (
            json!({"type": "banana"}),
            json!({}),
            "here: the type `banana` is unknown; any value is accepted there",
        ),
        (json!({"type": 5}), json!({}), "here: the type `5` is none; any value is accepted there"),
        (
            json!({"pattern": "(unclosed"}),
            json!({}),
            "here: `(unclosed` is no regular expression that can be checked; any text is accepted there",
        ),
    ] {
        let document = json!({"openapi": "3.0.0", "s": schema, "loop": {"$ref": "#/loop"}});
        let (converted, problems) = convert_in(document, SchemaDirection::Request);
        assert_eq!(converted, expected);
        assert_eq!(problems, [reason]);
    }
}

/// Expanded in place, this would have 2^60 parts.
#[test]
fn references_that_multiply_stay_small() {
    let mut schemas = Map::new();
    for level in 0..60 {
        let next = json!({"$ref": format!("#/components/schemas/L{}", level + 1)});
        schemas.insert(format!("L{level}"), json!({"properties": {"a": next, "b": next}}));
    }
    schemas.insert("L60".to_owned(), json!({"type": "object", "properties": {"x": {}}}));
    let document = json!({"openapi": "3.0.0", "s": {"$ref": "#/components/schemas/L0"}, "components": {"schemas": schemas}});
    let (converted, _) = convert_in(document, SchemaDirection::Request);
    assert!(converted.to_string().len() < 10_000);
    assert_eq!(converted["$defs"].as_object().unwrap().len(), 60);
}

#[test]
fn a_long_chain_of_definitions_does_not_use_up_the_stack() {
    let mut schemas = Map::new();
    for level in 0..4_000 {
        let next = json!({"$ref": format!("#/c/L{}", level + 1)});
        schemas.insert(format!("L{level}"), json!({"properties": {"a": next}}));
    }
    schemas.insert("L4000".to_owned(), json!({}));
    let document = json!({"openapi": "3.0.0", "s": {"$ref": "#/c/L0"}, "c": schemas});
    let (converted, problems) = convert_in(document, SchemaDirection::Request);
    assert_eq!(converted["$defs"].as_object().unwrap().len(), 3_999);
    assert_eq!(problems, Vec::<String>::new());
}
