//! Hostile descriptions: nothing here may panic, hang or grow without end.

use proptest::prelude::*;

use super::*;

fn read_text(text: &str) -> Result<OpenApiImport, String> {
    let read = || {
        let document = OpenApiDocument::read(text.as_bytes(), None)?;
        import(&document, &rules())
    };
    on_large_stack(read).unwrap()
}

#[test]
fn a_document_that_is_none_is_one_clear_error() {
    for (text, expected) in [
        ("", "it is no OpenAPI description: it has neither `openapi` nor `swagger`"),
        ("hello", "it is no OpenAPI description: it has neither `openapi` nor `swagger`"),
        ("[1, 2]", "it is no OpenAPI description: it has neither `openapi` nor `swagger`"),
        (
            "{\"openapi\": \"4.0.0\"}",
            "it is written in version `4.0.0` of the format; versions 2.0 and 3.x are known",
        ),
        (
            "swagger: 1.2",
            "it is written in version `1.2` of the format; versions 2.0 and 3.x are known",
        ),
        (
            "{\"openapi\": \"3.0.0\"",
            "it is not valid JSON: EOF while parsing an object at line 1 column 19",
        ),
    ] {
        assert_eq!(read_text(text).unwrap_err(), expected, "{text}");
    }
    let empty = read_text("openapi: 3.1.0").unwrap();
    assert_eq!(problems(&empty), ["paths: the description has no operations"]);
}

#[test]
fn wrong_types_everywhere() {
    let wrong = [
        json!(null),
        json!(true),
        json!(7),
        json!("text"),
        json!([]),
        json!([[]]),
        json!({}),
        json!({"a": {"a": 1}}),
    ];
    let description = json!({
        "openapi": "3.0.0", "servers": [{"url": "https://x.example", "variables": {"a": {"default": "x"}}}],
        "security": [{"k": []}],
        "paths": {"/{p}": {"parameters": [{"name": "p", "in": "path", "schema": {"type": "string"}}],
            "post": {"operationId": "op", "tags": ["t"], "parameters": [{"name": "q", "in": "query", "content": {"application/json": {"schema": {}}}}],
                "requestBody": {"content": {"multipart/form-data": {"schema": {"properties": {"f": {"format": "binary"}}, "required": ["f"]}, "encoding": {"f": {"contentType": "a/b"}}}}},
                "responses": {"200": {"content": {"application/json": {"schema": {"allOf": [{"$ref": "#/components/schemas/A"}]}}}}}}}},
        "components": {"schemas": {"A": {"type": "object", "properties": {"a": {"enum": [1]}}}}, "securitySchemes": {"k": {"type": "apiKey", "in": "query", "name": "k"}}},
    });
    let mut pointers = vec![String::new()];
    collect(&description, "", &mut pointers);
    let mut imports = 0;
    for pointer in &pointers {
        for value in &wrong {
            let mut changed = description.clone();
            *changed.pointer_mut(pointer).unwrap() = value.clone();
            // What matters is that each ends, one way or the other.
            imports += usize::from(read_text(&changed.to_string()).is_ok());
            changed["swagger"] = json!("2.0");
            changed.as_object_mut().and_then(|members| members.shift_remove("openapi"));
            imports += usize::from(read_text(&changed.to_string()).is_ok());
        }
    }
    assert!(imports > pointers.len() * wrong.len());
}

fn collect(value: &Value, pointer: &str, pointers: &mut Vec<String>) {
    let children: Vec<(String, &Value)> = match value {
        Value::Object(members) => members
            .iter()
            .map(|(key, child)| (key.replace('~', "~0").replace('/', "~1"), child))
            .collect(),
        Value::Array(items) => {
            items.iter().enumerate().map(|(index, child)| (index.to_string(), child)).collect()
        }
        _ => Vec::new(),
    };
    for (key, child) in children {
        let pointer = format!("{pointer}/{key}");
        // Setting a member on the version itself would only test the version.
        if pointer != "/openapi" {
            pointers.push(pointer.clone());
        }
        collect(child, &pointer, pointers);
    }
    pointers.retain(|pointer| !pointer.is_empty());
}

#[test]
fn references_to_everything_end() {
    for target in [
        "#",
        "#/",
        "#/paths",
        "#/paths/~1x",
        "#/paths/~1x/get",
        "#/a",
        "#/%ff",
        "file:///etc/passwd",
        "../x.yaml#/a",
        "https://evil.example/x#/a",
    ] {
        let reference = json!({"$ref": target});
        let description = json!({
            "openapi": "3.1.0", "a": reference,
            "paths": {
                "/x": {"get": {"parameters": [reference], "requestBody": reference, "responses": {"200": reference}}},
                "/y": reference,
                "/z": {"post": {"requestBody": {"content": {"application/json": {"schema": reference}, "multipart/form-data": {"schema": reference}}}}},
            },
        });
        let imported = imported(&description);
        assert!(imported.tools.len() <= 3, "{target}");
    }
}

#[test]
fn very_many_problems_are_counted() {
    let paths: Map<String, Value> =
        (0..2_000).map(|number| (format!("/{number}"), json!("broken"))).collect();
    let imported = imported(&json!({"openapi": "3.0.0", "paths": paths}));
    assert_eq!(imported.problems.len(), 501);
    assert_eq!(imported.problems.last().unwrap().reason, "1501 more problems are not listed");
}

/// Values made of the words that mean something to the importer.
fn any_value() -> impl Strategy<Value = Value> {
    let words = prop::sample::select(vec![
        "$ref",
        "#/components/schemas/A",
        "#/paths/~1x/get",
        "#",
        "type",
        "object",
        "array",
        "string",
        "file",
        "properties",
        "items",
        "allOf",
        "oneOf",
        "anyOf",
        "required",
        "enum",
        "nullable",
        "name",
        "in",
        "path",
        "query",
        "header",
        "cookie",
        "body",
        "formData",
        "schema",
        "content",
        "application/json",
        "multipart/form-data",
        "text/plain",
        "encoding",
        "style",
        "deepObject",
        "explode",
        "parameters",
        "requestBody",
        "responses",
        "200",
        "default",
        "get",
        "post",
        "/x",
        "/{a}",
        "servers",
        "url",
        "variables",
        "security",
        "operationId",
        "pattern",
        "(",
        "format",
        "binary",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i32>().prop_map(|number| json!(number)),
        words.clone().prop_map(|word| json!(word)),
    ];
    leaf.prop_recursive(6, 64, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            prop::collection::vec((words.clone(), inner), 0..6).prop_map(|members| {
                members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
            }),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_panics(operation in any_value(), schema in any_value(), is_swagger: bool, arguments in any_value()) {
        let description = json!({
            if is_swagger { "swagger" } else { "openapi" }: if is_swagger { "2.0" } else { "3.0.0" },
            "paths": {"/x": {"get": operation, "post": {"operationId": "fixed", "requestBody": {"content": {"application/json": {"schema": schema}}}}}},
            "components": {"schemas": {"A": schema}},
        });
        let imported = imported(&description);
        let store = crate::ArtifactStore::open(PathBuf::from("nowhere"));
        for (name, operation) in &imported.operations {
            let tool = imported.tools.iter().find(|tool| tool.name() == name).unwrap();
            prop_assert_eq!(tool.argument_check().problem(), None);
            let places = FileInputSources { artifacts: &store, project: None };
            let groups = json!({"path": arguments, "query": arguments, "header": arguments, "cookie": arguments, "body": arguments});
            let _either_way = request::build(operation, groups.as_object().unwrap(), places);
        }
    }
}
