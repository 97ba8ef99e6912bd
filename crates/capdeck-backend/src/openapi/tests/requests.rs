//! From arguments to URLs and headers, as tables. Bodies are looked at by the server of the integration tests.

use super::*;
use crate::http::EndpointRequest;

fn places(store: &crate::ArtifactStore) -> FileInputSources<'_> {
    FileInputSources { artifacts: store, project: None }
}

fn build(
    imported: &OpenApiImport,
    tool: &str,
    arguments: Value,
) -> Result<EndpointRequest, String> {
    let store = crate::ArtifactStore::open(PathBuf::from("nowhere"));
    let arguments = arguments.as_object().unwrap().clone();
    request::build(&imported.operations[tool], &arguments, places(&store))
        .map_err(|error| error.message)
}

fn with_parameters(path: &str, parameters: Value) -> OpenApiImport {
    imported(
        &json!({"openapi": "3.0.0", "paths": {path: {"get": {"operationId": "op", "parameters": parameters}}}}),
    )
}

#[test]
fn parameters_go_where_they_belong() {
    let schema = json!({"type": "string"});
    let imported = with_parameters(
        "/a/{id}/b/{m}",
        json!([
            {"name": "id", "in": "path", "schema": schema},
            {"name": "m", "in": "path", "style": "matrix", "explode": true, "schema": {"type": "array"}},
            {"name": "q", "in": "query", "schema": schema},
            {"name": "list", "in": "query", "explode": false, "schema": {"type": "array"}},
            {"name": "deep", "in": "query", "style": "deepObject", "schema": {"type": "object"}},
            {"name": "json", "in": "query", "content": {"application/json": {"schema": {"type": "object"}}}},
            {"name": "raw", "in": "query", "allowReserved": true, "schema": schema},
            {"name": "X-List", "in": "header", "schema": {"type": "array"}},
            {"name": "X-Version", "in": "header", "schema": {"type": "string", "default": "1"}},
            {"name": "one", "in": "cookie", "schema": schema},
            {"name": "two", "in": "cookie", "schema": schema},
        ]),
    );
    let request = build(
        &imported,
        "op",
        json!({
            "path": {"id": "x/y", "m": ["p", "q"]},
            "query": {"raw": "a/b?c", "json": {"k": [1]}, "deep": {"a": {"b": 1}}, "list": ["1", "2"], "q": "ä &"},
            "header": {"X-List": ["a", "b"]},
            "cookie": {"one": "1;2", "two": "x"},
        }),
    )
    .unwrap();
    assert_eq!(
        request.url.as_str(),
        "https://api.example/v1/a/x%2Fy/b/;m=p;m=q?q=%C3%A4%20%26&list=1,2&deep%5Ba%5D%5Bb%5D=1&json=%7B%22k%22%3A%5B1%5D%7D&raw=a/b?c"
    );
    let header = |name: &str| request.headers.get(name).unwrap().to_str().unwrap();
    assert_eq!(header("x-list"), "a,b");
    assert_eq!(header("x-version"), "1");
    assert_eq!(header("cookie"), "one=1%3B2; two=x");
    assert_eq!(request.method, "GET");
    assert!(request.body.is_none());
    let given = json!({"path": {"id": "x", "m": ["p"]}, "header": {"X-Version": "2"}, "query": {"q": null}, "cookie": null});
    let request = build(&imported, "op", given).unwrap();
    assert_eq!(request.headers.get("x-version").unwrap(), "2");
    assert_eq!(request.url.query(), None);
}

#[test]
fn callers_cannot_reach_what_is_not_theirs() {
    let header = |name: &str, default: Value| json!({"name": name, "in": "header", "schema": {"type": "string", "default": default}});
    let mut description = json!({"openapi": "3.0.0", "paths": {"/x/{id}": {"get": {"operationId": "op", "parameters": [
        header("Accept", json!("application/vnd.example+json")),
        header("Authorization", json!("Bearer forged")),
        header("HOST", json!("evil.example")),
        header("X-Key", json!("forged")),
        header("X-Free", Value::Null),
    ]}}}});
    let offer = AvailableAuth::Headers(vec!["x-key".to_owned()]);
    let imported = imported_with(&description, &OpenApiImportRules { offer, ..rules() });
    let input = input_schema(&imported, "op");
    let names: Vec<&String> =
        input["properties"]["header"]["properties"].as_object().unwrap().keys().collect();
    assert_eq!(names, ["X-Free"]);
    let headers = json!({"Authorization": "a", "authorization": "a", "Host": "h", "X-Key": "k", "X-Other": "o", "X-Free": "f"});
    let request = build(&imported, "op", json!({"path": {"id": 1}, "header": headers})).unwrap();
    let mut headers: Vec<String> = request
        .headers
        .iter()
        .map(|(name, value)| format!("{name}={}", value.to_str().unwrap()))
        .collect();
    headers.sort();
    assert_eq!(headers, ["accept=application/vnd.example+json", "x-free=f"]);

    let refused = |arguments: Value| build(&imported, "op", arguments).unwrap_err();
    for (arguments, expected) in [
        (
            json!({"path": {"id": ".."}}),
            "the path has a `.` or `..` segment, which would leave the API's base path",
        ),
        (
            json!({"path": {"id": "."}}),
            "the path has a `.` or `..` segment, which would leave the API's base path",
        ),
        (json!({"path": {"id": ""}}), "`path.id` is part of the path and must not be empty"),
        (
            json!({"path": {"id": 1}, "header": {"X-Free": "a\r\nX-Admin: 1"}}),
            "the value for header `X-Free` holds a line break or another control character",
        ),
        (json!({"path": "no"}), "`path` is not a JSON object"),
        (json!({"path": {"id": 1}, "body": {}}), "this operation takes no `body`"),
    ] {
        assert_eq!(refused(arguments), expected);
    }
    // A path in the description itself cannot climb either.
    description["paths"] = json!({"/../admin": {"get": {"operationId": "op"}}});
    let imported = imported_with(&description, &rules());
    assert!(build(&imported, "op", json!({})).is_err());
}

#[test]
fn swagger_lists_are_written_as_they_say() {
    let parameter = |name: &str, format: &str| json!({"name": name, "in": "query", "type": "array", "items": {"type": "string"}, "collectionFormat": format});
    let imported = imported(
        &json!({"swagger": "2.0", "paths": {"/{ids}": {"get": {"operationId": "op", "parameters": [
            {"name": "ids", "in": "path", "required": true, "type": "array", "items": {"type": "integer"}},
            parameter("c", "csv"), parameter("s", "ssv"), parameter("t", "tsv"), parameter("p", "pipes"), parameter("m", "multi"),
            {"name": "plain", "in": "query", "type": "array", "items": {"type": "string"}},
        ]}}}}),
    );
    let list = json!(["a", "b"]);
    let request = build(
        &imported,
        "op",
        json!({"path": {"ids": [1, 2]}, "query": {"c": list, "s": list, "t": list, "p": list, "m": list, "plain": list}}),
    )
    .unwrap();
    assert_eq!(
        request.url.as_str(),
        "https://api.example/v1/1,2?c=a,b&s=a%20b&t=a%09b&p=a%7Cb&m=a&m=b&plain=a,b"
    );
    let input = input_schema(&imported, "op");
    assert_eq!(
        input["properties"]["query"]["properties"]["c"],
        json!({"type": "array", "items": {"type": "string"}})
    );
}
