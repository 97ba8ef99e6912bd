//! An API that an OpenAPI description describes, against a real server on this machine.

use std::{fs, time::Duration};

use capdeck_backend::{Connection, ErrorCode};
use serde_json::{Value, json};

use crate::{
    http::{echo, respond, serve},
    support::{Deck, call, context, definition},
};

/// What the server was asked, from an echoed result.
pub(crate) fn asked(result: &Value) -> Value {
    assert_eq!(result["isError"], false, "{result}");
    result["structuredContent"]["body"].clone()
}

/// A deck with a description in its folder, and the block that names it.
pub(crate) fn deck_with(description: &Value, base: &str) -> (Deck, Value) {
    let deck = Deck::new(&[("API_TOKEN", "canary-token-1")]);
    let path = deck.folder.path().join("api.json");
    fs::write(&path, description.to_string()).unwrap();
    let block = json!({
        "kind": "openapi", "specPath": path, "baseUrl": base,
        "auth": {"type": "bearer", "token": "${API_TOKEN}"},
    });
    (deck, block)
}

pub(crate) async fn discover(
    connection: &dyn Connection,
) -> Result<capdeck_catalog::Discovery, capdeck_backend::CallError> {
    connection.discover(&context(Duration::from_secs(20))).await
}

fn issues() -> Value {
    json!({
        "openapi": "3.0.3",
        "info": {"title": "Issues", "version": "1"},
        "servers": [{"url": "https://elsewhere.example"}],
        "paths": {
            "/repos/{owner}/issues": {
                "parameters": [{"$ref": "#/components/parameters/Owner"}],
                "get": {"operationId": "issues/list", "summary": "List issues", "parameters": [
                    {"name": "labels", "in": "query", "explode": false, "schema": {"type": "array", "items": {"type": "string"}}},
                    {"name": "X-Api-Version", "in": "header", "schema": {"type": "string", "default": "2022-11-28"}},
                ]},
                "post": {"operationId": "issues/create", "requestBody": {"required": true, "content": {
                    "application/json": {"schema": {"$ref": "#/components/schemas/Issue"}},
                }}},
            },
            "/broken": {"get": {"operationId": "broken", "requestBody": {"$ref": "#/nowhere"}}},
        },
        "components": {
            "parameters": {"Owner": {"name": "owner", "in": "path", "required": true, "schema": {"type": "string"}}},
            "schemas": {"Issue": {"type": "object", "required": ["title"], "properties": {
                "title": {"type": "string"}, "parent": {"$ref": "#/components/schemas/Issue"},
            }}},
        },
    })
}

#[tokio::test]
async fn operations_are_listed_and_called() {
    let base = serve(echo).await;
    let (deck, block) = deck_with(&issues(), &format!("{base}/v1"));
    let connection = deck.connect(block).await.unwrap();
    let discovery = discover(connection.as_ref()).await.unwrap();
    let names: Vec<&str> = discovery.tools.iter().map(|tool| tool.name()).collect();
    assert_eq!(names, ["issues/create", "issues/list"]);
    assert_eq!(discovery.problems.len(), 1);
    assert_eq!(discovery.problems[0].place, "GET /broken");

    let twenty = context(Duration::from_secs(20));
    let arguments = json!({"path": {"owner": "a/b"}, "query": {"labels": ["x", "y z"]}});
    let reported = asked(&call(&connection, "issues/list", arguments, &twenty).await.unwrap());
    assert_eq!(reported["method"], "GET");
    assert_eq!(reported["target"], "/v1/repos/a%2Fb/issues?labels=x,y%20z");
    assert_eq!(reported["headers"]["x-api-version"], "2022-11-28");
    // The token is sent, and redacted when the server repeats it.
    assert_eq!(reported["headers"]["authorization"], "Bearer [redacted]");

    let arguments =
        json!({"path": {"owner": "me"}, "body": {"title": "t", "parent": {"title": "p"}}});
    let reported = asked(&call(&connection, "issues/create", arguments, &twenty).await.unwrap());
    assert_eq!(reported["method"], "POST");
    assert_eq!(reported["headers"]["content-type"], "application/json");
    assert_eq!(reported["body"], r#"{"title":"t","parent":{"title":"p"}}"#);

    let error = call(&connection, "issues/close", json!({}), &twenty).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::ToolNotFound);
    assert_eq!(error.hint.as_deref(), Some("tools here: `issues/create`, `issues/list`"));
}

#[tokio::test]
async fn an_error_of_the_server_is_a_result() {
    let base = serve(|_, _| respond(422, "application/json", r#"{"message":"no"}"#)).await;
    let (deck, block) = deck_with(&issues(), &base);
    let arguments = json!({"path": {"owner": "me"}, "body": {"title": "t"}});
    let result = deck.call(block, "issues/create", arguments).await.unwrap();
    assert_eq!(result["isError"], true);
    assert_eq!(result["structuredContent"]["status"], 422);
    assert_eq!(result["structuredContent"]["body"], json!({"message": "no"}));
}

#[tokio::test]
async fn operations_go_to_their_own_servers() {
    let (first, second) = (serve(echo).await, serve(echo).await);
    let description = json!({
        "openapi": "3.1.0",
        "servers": [{"url": format!("{first}/{{stage}}"), "variables": {"stage": {"default": "test", "enum": ["test", "live"]}}}],
        "paths": {
            "/root": {"get": {"operationId": "root"}},
            "/path": {"servers": [{"url": format!("{second}/path")}], "get": {"operationId": "path"},
                      "post": {"operationId": "own", "servers": [{"url": format!("{second}/own/")}]}},
        },
    });
    let (deck, mut block) = deck_with(&description, "");
    block.as_object_mut().unwrap().remove("baseUrl");
    // Only the description names these servers, and it opens nothing.
    let error = deck.call(block.clone(), "root", json!({})).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::Denied, "{error}");
    block["network"] = json!("private");
    for (tool, target) in [("root", "/test/root"), ("path", "/path/path"), ("own", "/own/path")] {
        let reported = asked(&deck.call(block.clone(), tool, json!({})).await.unwrap());
        assert_eq!(reported["target"], target);
    }
}

#[tokio::test]
async fn a_description_is_fetched_with_credentials_only_from_the_api_itself() {
    let description = issues().to_string();
    let answer = move |path: &str, request: &axum::http::Request<axum::body::Bytes>| {
        let has_token = request.headers().contains_key("authorization");
        match path {
            "/api.json" if has_token => respond(200, "application/json", description.clone()),
            "/public.json" if !has_token => respond(200, "application/json", description.clone()),
            "/api.json" | "/public.json" => respond(403, "text/plain", "no"),
            _ => echo(path, request),
        }
    };
    let (api, other) = (serve(answer.clone()).await, serve(answer).await);
    let deck = Deck::new(&[]);
    let arguments = json!({"path": {"owner": "me"}});
    let block = |spec: String, base: &str| json!({"kind": "openapi", "specUrl": spec, "baseUrl": base, "auth": {"type": "bearer", "token": "canary-2"}});
    let result = deck
        .call(
            block(format!("{api}/api.json"), &format!("{api}/v1")),
            "issues/list",
            arguments.clone(),
        )
        .await
        .unwrap();
    assert_eq!(asked(&result)["target"], "/v1/repos/me/issues");
    let result = deck
        .call(block(format!("{other}/public.json"), &api), "issues/list", arguments.clone())
        .await
        .unwrap();
    assert_eq!(asked(&result)["headers"]["authorization"], "Bearer [redacted]");
    let error = deck.call(block(format!("{other}/api.json"), &api), "issues/list", arguments).await;
    let error = error.unwrap_err();
    assert_eq!(error.code, ErrorCode::ServerUnavailable);
    assert_eq!(error.message, "the description at `/api.json` was not given: HTTP 403 Forbidden");
}

#[tokio::test]
async fn a_fetched_description_does_not_send_credentials_elsewhere() {
    let thief = serve(|_, _| panic!("nothing may arrive here")).await;
    let description = json!({"openapi": "3.0.0", "servers": [{"url": thief}], "paths": {"/x": {"get": {"operationId": "x"}}}});
    let text = description.to_string();
    let docs = serve(move |_, _| respond(200, "application/json", text.clone())).await;
    let deck = Deck::new(&[]);
    let block = json!({"kind": "openapi", "specUrl": format!("{docs}/api.json"), "auth": {"type": "bearer", "token": "canary-3"}});
    let error = deck.call(block, "x", json!({})).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::ConfigInvalid);
    assert!(error.message.contains("which must not decide where credentials go"), "{error}");
    assert_eq!(error.hint.as_deref(), Some("set `baseUrl` to the address of the API"));
}

#[tokio::test]
async fn a_sign_in_is_for_the_server_that_is_called() {
    let deck = Deck::new(&[]);
    let path = deck.folder.path().join("api.yaml");
    fs::write(&path, "openapi: 3.0.0\nservers:\n  - url: https://api.example/v1\npaths: {}\n")
        .unwrap();
    let auth = json!({"type": "oauth2", "clientId": "me"});
    for block in [
        json!({"kind": "openapi", "specPath": path, "auth": auth}),
        json!({"kind": "openapi", "specPath": path, "baseUrl": "https://other.example", "auth": auth}),
        json!({"kind": "openapi", "specUrl": "https://docs.example/x.yaml", "auth": auth}),
    ] {
        deck.connector.sign_in(&definition(block), &[]).unwrap();
    }
    let none = json!({"kind": "openapi", "specPath": path, "auth": {"type": "none"}});
    let error = deck.connector.sign_in(&definition(none), &[]).unwrap_err();
    assert_eq!(error.code, ErrorCode::RequestInvalid);
}
