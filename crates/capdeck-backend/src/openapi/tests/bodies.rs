//! Which bodies an operation takes and how their arguments look.

use super::{
    body::{BodyKind, BodyPlan},
    *,
};

fn body_of(content: Value) -> (Value, Vec<BodyPlan>) {
    let imported = one_operation(
        json!({"operationId": "op", "requestBody": {"required": true, "content": content}}),
    );
    assert_eq!(problems(&imported), Vec::<String>::new());
    let input = input_schema(&imported, "op");
    assert_eq!(input["required"], json!(["body"]));
    (input["properties"].clone(), imported.operations["op"].bodies.clone())
}

fn types(plans: &[BodyPlan]) -> Vec<&str> {
    plans.iter().map(|plan| plan.media_type.as_str()).collect()
}

#[test]
fn json_is_best_and_others_can_be_chosen() {
    let schema = json!({"type": "object"});
    let (properties, plans) = body_of(json!({
        "text/plain": {}, "application/x-www-form-urlencoded": {"schema": schema},
        "application/vnd.api+json": {"schema": schema}, "application/json; charset=utf-8": {"schema": schema},
        "image/png": {},
    }));
    let expected = [
        "application/json; charset=utf-8",
        "application/vnd.api+json",
        "application/x-www-form-urlencoded",
        "text/plain",
        "image/png",
    ];
    assert_eq!(types(&plans), expected);
    assert_eq!(properties["contentType"]["enum"], json!(expected));
    assert_eq!(properties["contentType"]["default"], "application/json; charset=utf-8");
    assert_eq!(properties["body"]["anyOf"].as_array().unwrap().len(), 4);
    let kinds: Vec<&BodyKind> = plans.iter().map(|plan| &plan.kind).collect();
    assert!(matches!(
        kinds.as_slice(),
        [BodyKind::Json, BodyKind::Json, BodyKind::Form(_), BodyKind::Text, BodyKind::File]
    ));
    let (properties, plans) = body_of(json!({"application/json": {"schema": schema}}));
    assert_eq!(properties, json!({"body": {"type": "object"}}));
    assert_eq!(types(&plans), ["application/json"]);
}

#[test]
fn a_media_range_is_what_its_schema_is() {
    for (schema, media_type, is_json) in [
        (json!({"type": "object"}), "application/json", true),
        (json!({"type": "string", "format": "binary"}), "application/octet-stream", false),
        (json!({"type": "string"}), "application/octet-stream", false),
    ] {
        let (_, plans) = body_of(json!({"*/*": {"schema": schema}}));
        assert_eq!(types(&plans), [media_type]);
        assert_eq!(plans[0].kind == BodyKind::Json, is_json);
    }
}

#[test]
fn files_of_a_form_are_reported_from_values() {
    let (properties, plans) = body_of(json!({"multipart/form-data": {
        "schema": {"allOf": [
            {"type": "object", "required": ["file", "ghost"], "properties": {
                "file": {"type": "string", "format": "binary", "description": "The picture"},
                "files": {"type": "array", "items": {"type": "string", "format": "binary"}},
                "made": {"type": "string", "readOnly": true},
            }},
            {"properties": {"note": {"type": "string"}, "meta": {"type": "object"}, "any": {}, "modern": {"contentMediaType": "image/png"}}},
        ]},
        "encoding": {"any": {"contentType": "image/png, image/jpeg"}},
    }}));
    let body = &properties["body"];
    assert_eq!(body["required"], json!(["file"]));
    let names: Vec<&String> = body["properties"].as_object().unwrap().keys().collect();
    assert_eq!(names, ["note", "meta", "any", "modern", "file", "files"]);
    for file in ["file", "any", "modern"] {
        assert_eq!(body["properties"][file]["properties"]["artifact"]["type"], "string", "{file}");
    }
    assert!(body["properties"]["file"]["description"].as_str().unwrap().starts_with("The picture"));
    assert_eq!(body["properties"]["files"]["items"]["type"], "object");
    assert_eq!(body["properties"]["note"], json!({"type": "string"}));
    assert!(matches!(plans[0].kind, BodyKind::Multipart(_)));
}

#[test]
fn swagger_bodies() {
    let body_of = |consumes: Value, parameters: Value| {
        let imported = imported(
            &json!({"swagger": "2.0", "consumes": consumes, "paths": {"/x": {"post": {"operationId": "op", "parameters": parameters}}}}),
        );
        assert_eq!(problems(&imported), Vec::<String>::new());
        let body = input_schema(&imported, "op")["properties"]["body"].clone();
        (body, imported.operations["op"].bodies.first().unwrap().clone())
    };
    let whole =
        json!([{"name": "b", "in": "body", "required": true, "schema": {"type": "object"}}]);
    for (consumes, media_type) in [
        (json!([]), "application/json"),
        (json!(["application/xml", "application/vnd.x+json"]), "application/vnd.x+json"),
        (json!(["*/*"]), "application/json"),
    ] {
        let (schema, plan) = body_of(consumes, whole.clone());
        assert_eq!(schema, json!({"type": "object"}));
        assert_eq!(plan, BodyPlan { media_type: media_type.to_owned(), kind: BodyKind::Json });
    }
    let (schema, plan) = body_of(json!(["text/plain"]), whole);
    assert_eq!((schema, plan.kind), (json!({"type": "string"}), BodyKind::Text));
    let fields = json!([
        {"name": "a", "in": "formData", "type": "string", "required": true, "description": "A"},
        {"name": "b", "in": "formData", "type": "array", "items": {"type": "integer"}, "collectionFormat": "multi"},
    ]);
    let (schema, plan) = body_of(json!([]), fields.clone());
    assert_eq!(
        schema,
        json!({"type": "object", "properties": {"a": {"type": "string", "description": "A"}, "b": {"type": "array", "items": {"type": "integer"}}},
               "required": ["a"], "additionalProperties": false})
    );
    assert_eq!(plan.media_type, "application/x-www-form-urlencoded");
    let (_, plan) = body_of(json!(["multipart/form-data"]), fields);
    assert!(matches!(plan.kind, BodyKind::Multipart(_)));
    let (schema, plan) =
        body_of(json!([]), json!([{"name": "f", "in": "formData", "type": "file"}]));
    assert_eq!(schema["properties"]["f"]["properties"]["path"]["type"], "string");
    assert_eq!(plan.media_type, "multipart/form-data");
}
