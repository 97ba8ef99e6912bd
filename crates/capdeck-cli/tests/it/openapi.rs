//! An API described by OpenAPI, through the binary: listed, found, described and called.

use capdeck_test::{FakeApi, FakeApiReply, TestDirs};
use serde_json::json;

use crate::{json, run};

const DESCRIPTION: &str = "
openapi: 3.0.3
servers: [{url: https://elsewhere.example}]
paths:
  /pets/{id}:
    get:
      operationId: getPet
      summary: Find one pet
      parameters:
        - {name: id, in: path, required: true, schema: {type: integer}}
        - {name: fields, in: query, schema: {type: array, items: {type: string}}}
  /pets:
    post:
      operationId: addPet
      summary: Put a pet into the store
      requestBody:
        required: true
        content:
          application/json:
            schema: {type: object, required: [name], properties: {name: {type: string}}}
  /broken:
    get:
      operationId: broken
      requestBody: {$ref: '#/nowhere'}
";

fn with_pets() -> (TestDirs, FakeApi) {
    let api = FakeApi::start(|request| {
        FakeApiReply::json(
            &json!({"method": request.method, "target": request.target, "body": request.body}),
        )
    });
    let dirs = TestDirs::new();
    dirs.write("config/pets/api.yaml", DESCRIPTION);
    let url = api.url();
    dirs.write(
        "config/pets/CAPLET.md",
        format!(
            "---\nname: Pets\ndescription: A store of pets.\nopenapiEndpoint:\n  specPath: ./api.yaml\n  baseUrl: {url}/v1\n  auth: {{type: none}}\n---\n"
        ),
    );
    (dirs, api)
}

#[test]
fn operations_are_listed_found_and_described() {
    let (dirs, _api) = with_pets();
    let listed = json(&dirs, &["tools", "pets"]);
    let names: Vec<&str> = listed["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["addPet", "getPet"]);
    let found = json(&dirs, &["search", "put pet into store"]);
    assert_eq!(found["items"][0]["name"], "addPet", "{found}");
    let described = run(&dirs, &["describe", "pets", "getPet"]).success();
    assert!(described.stdout.contains("Find one pet"), "{}", described.stdout);
    run(&dirs, &["check", "pets"]).success();
}

#[test]
fn an_operation_is_called_and_wrong_arguments_are_not_sent() {
    let (dirs, api) = with_pets();
    let arguments = r#"{"path": {"id": 7}, "query": {"fields": ["a", "b"]}}"#;
    let result = json(&dirs, &["call", "pets", "getPet", "--args", arguments]);
    let body = &result["structuredContent"]["body"];
    assert_eq!(body["target"], "/v1/pets/7?fields=a&fields=b", "{result}");
    let result = json(&dirs, &["call", "pets", "addPet", "--args", r#"{"body": {"name": "Rex"}}"#]);
    assert_eq!(result["structuredContent"]["body"]["body"], r#"{"name":"Rex"}"#);
    let wrong =
        run(&dirs, &["call", "pets", "getPet", "--args", r#"{"path": {"id": "x"}, "querry": {}}"#]);
    assert_ne!(wrong.code, Some(0));
    assert_eq!(api.requests().len(), 2);
}
