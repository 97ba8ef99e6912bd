//! Where descriptions come from: JSON and YAML, several files, and what stays out of reach.

use std::{fs, os::unix::fs::symlink, path::Path, time::Duration};

use capdeck_backend::{CallError, ConnectOptions, ErrorCode};
use capdeck_catalog::Discovery;
use capdeck_definition::Definition;
use serde_json::{Value, json};

use crate::{
    http::{echo, respond, serve},
    openapi::{asked, discover},
    support::{Deck, call, context, definition},
};

/// A definition whose folder is this one.
fn in_folder(folder: &Path, spec: &str, base: &str) -> Definition {
    let block = json!({"kind": "openapi", "specPath": folder.join(spec), "baseUrl": base, "auth": {"type": "none"}});
    Definition { base_dir: folder.to_path_buf(), ..definition(block) }
}

async fn read(deck: &Deck, definition: &Definition) -> Result<Discovery, CallError> {
    let connection = deck.connector.connect(definition, ConnectOptions::default()).await?;
    discover(connection.as_ref()).await
}

fn problems(discovery: &Discovery) -> Vec<String> {
    let problems = discovery.problems.iter();
    problems.map(|problem| format!("{}: {}", problem.place, problem.reason)).collect()
}

const YAML: &str = "
openapi: 3.1.0
paths:
  /pets/{id}:
    parameters:
      - $ref: parts/parameters.yaml#/Id
    get:
      operationId: getPet
      parameters:
        - name: state
          in: query
          schema: { type: string, enum: [on, off] }
      responses:
        200:
          content:
            application/json:
              schema: { $ref: 'parts/schemas.json#/Pet' }
  /shared:
    $ref: parts/path.yaml
";

#[tokio::test]
async fn a_description_may_be_spread_over_files_of_its_folder() {
    let base = serve(echo).await;
    let deck = Deck::new(&[]);
    let folder = deck.folder.path().join("caplet");
    fs::create_dir_all(folder.join("parts")).unwrap();
    fs::write(folder.join("api.yaml"), YAML).unwrap();
    fs::write(
        folder.join("parts/parameters.yaml"),
        "Id: {name: id, in: path, required: true, schema: {$ref: 'schemas.json#/Id'}}",
    )
    .unwrap();
    fs::write(
        folder.join("parts/schemas.json"),
        r##"{"Id": {"type": "integer"}, "Pet": {"type": "object", "properties": {"id": {"$ref": "#/Id"}, "friend": {"$ref": "schemas.json#/Pet"}}}}"##,
    )
    .unwrap();
    fs::write(folder.join("parts/path.yaml"), "post: {operationId: share}").unwrap();
    let definition = in_folder(&folder, "api.yaml", &base);
    let discovery = read(&deck, &definition).await.unwrap();
    assert_eq!(problems(&discovery), Vec::<String>::new());
    let names: Vec<&str> = discovery.tools.iter().map(|tool| tool.name()).collect();
    assert_eq!(names, ["getPet", "share"]);
    let tool = &discovery.tools[0];
    let input: Value = serde_json::from_str(tool.input_schema().unwrap().get()).unwrap();
    assert_eq!(input["properties"]["path"]["properties"]["id"], json!({"type": "integer"}));
    assert_eq!(input["properties"]["query"]["properties"]["state"]["enum"], json!(["on", "off"]));
    let output: Value = serde_json::from_str(tool.output_schema().unwrap().get()).unwrap();
    assert_eq!(output["$defs"]["Pet"]["properties"]["friend"], json!({"$ref": "#/$defs/Pet"}));
    let connection = deck.connector.connect(&definition, ConnectOptions::default()).await.unwrap();
    let twenty = context(Duration::from_secs(20));
    let reported = call(&connection, "getPet", json!({"path": {"id": 7}}), &twenty).await.unwrap();
    assert_eq!(asked(&reported)["target"], "/pets/7");
}

#[tokio::test]
async fn files_outside_of_the_folder_stay_out_of_reach() {
    let deck = Deck::new(&[]);
    let folder = deck.folder.path().join("caplet");
    fs::create_dir_all(&folder).unwrap();
    let secret = deck.folder.path().join("secret.yaml");
    fs::write(&secret, "Secret: {type: object, properties: {canary: {}}}").unwrap();
    symlink(&secret, folder.join("link.yaml")).unwrap();
    symlink(deck.folder.path(), folder.join("up")).unwrap();
    for (reference, reason) in [
        ("../secret.yaml".to_owned(), "absolute paths and `..` are not followed"),
        ("%2e%2e/secret.yaml".to_owned(), "absolute paths and `..` are not followed"),
        (secret.display().to_string(), "absolute paths and `..` are not followed"),
        ("link.yaml".to_owned(), "it is outside of the definition's folder"),
        ("up/secret.yaml".to_owned(), "it is outside of the definition's folder"),
        (format!("file://{}", secret.display()), "only files in the definition's folder are read"),
        (
            "https://evil.example/x.yaml".to_owned(),
            "only files in the definition's folder are read",
        ),
    ] {
        let description = json!({"openapi": "3.0.0", "paths": {"/x": {"get": {
            "operationId": "x", "parameters": [{"name": "q", "in": "query", "schema": {"$ref": format!("{reference}#/Secret")}}],
        }}}});
        fs::write(folder.join("api.json"), description.to_string()).unwrap();
        let definition = in_folder(&folder, "api.json", "https://api.example");
        let discovery = read(&deck, &definition).await.unwrap();
        let reported = format!(
            "GET /x: the reference to `{reference}` is not followed: {reason}; any value is accepted there"
        );
        assert_eq!(problems(&discovery), [reported]);
        assert!(!serde_json::to_string(&discovery.tools).unwrap().contains("canary"));
    }
}

#[tokio::test]
async fn a_description_that_cannot_be_read_is_one_clear_error() {
    let deck = Deck::new(&[]);
    let folder = deck.folder.path().to_path_buf();
    let check = async |text: Option<&str>, expected: &str| {
        let file = folder.join("api.yaml");
        match text {
            Some(text) => fs::write(&file, text).unwrap(),
            None => fs::remove_file(&file).unwrap_or_default(),
        }
        let error = read(&deck, &in_folder(&folder, "api.yaml", "https://api.example")).await;
        let error = error.unwrap_err();
        assert_eq!(error.code, ErrorCode::ConfigInvalid);
        assert!(error.message.contains(expected), "{}", error.message);
        assert!(error.hint.is_some());
    };
    check(None, "cannot be read: No such file").await;
    check(Some("just text"), "cannot be used: it is no OpenAPI description").await;
    check(Some("openapi: [3"), "cannot be used: it is not valid YAML").await;
    check(Some("{\"openapi\": "), "cannot be used: it is not valid JSON").await;
    check(Some("openapi: 9.0.0"), "cannot be used: it is written in version `9.0.0`").await;
    fs::remove_file(folder.join("api.yaml")).unwrap();
    let problems = deck.connector.check(&in_folder(&folder, "api.yaml", "https://api.example"));
    assert_eq!(problems.len(), 1);
    assert!(problems[0].message.contains("is not there"), "{}", problems[0].message);
}

#[tokio::test]
async fn a_description_larger_than_a_megabyte_comes_over_the_web() {
    let filler = "x".repeat(3 * 1024 * 1024);
    let text = json!({"openapi": "3.0.0", "info": {"description": filler}, "servers": [{"url": "/v2"}], "paths": {"/x": {"get": {"operationId": "x"}}}});
    let text = text.to_string();
    let server = serve(move |path, request| match path {
        "/api.json" => respond(200, "application/json", text.clone()),
        _ => echo(path, request),
    })
    .await;
    let deck = Deck::new(&[]);
    let block = json!({"kind": "openapi", "specUrl": format!("{server}/api.json?version=2"), "auth": {"type": "none"}});
    let reported = asked(&deck.call(block, "x", json!({})).await.unwrap());
    assert_eq!(reported["target"], "/v2/x");
}

#[tokio::test]
async fn a_changed_description_is_read_again_when_its_time_is_over() {
    let deck = Deck::new(&[]);
    let file = deck.folder.path().join("api.json");
    let write = |id: &str| {
        let description =
            json!({"openapi": "3.0.0", "paths": {"/x": {"get": {"operationId": id}}}});
        fs::write(&file, description.to_string()).unwrap();
    };
    write("one");
    let block = json!({"kind": "openapi", "specPath": file, "baseUrl": "https://api.example", "auth": {"type": "none"}, "operationCacheTtlMs": 0});
    let connection = deck.connect(block).await.unwrap();
    let first = discover(connection.as_ref()).await.unwrap();
    let again = discover(connection.as_ref()).await.unwrap();
    // Nothing changed, so nothing was imported again.
    assert!(std::sync::Arc::ptr_eq(&first.tools[0], &again.tools[0]));
    write("two");
    let changed = discover(connection.as_ref()).await.unwrap();
    assert_eq!(changed.tools[0].name(), "two");
}
