//! Modern servers over HTTP and pipes, written out message by message.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use axum::{body::Body, response::Response};
use bytes::Bytes;
use capdeck_mcp::{
    Era, RawObject, RpcError,
    client::{
        ClientDescription, ClientError, ClientHandler, EraChoice, InputRequiredMode, McpClient,
        RequestOptions,
    },
};
use futures_util::StreamExt;
use serde_json::{Value, json, value::RawValue};
use tokio::sync::mpsc;

use crate::support::*;

fn reply(status: u16, body: &Value) -> Response {
    let builder = Response::builder().status(status).header("content-type", "application/json");
    builder.body(Body::from(body.to_string())).unwrap()
}

/// The answer to request `id`.
fn result(id: u64, result: Value) -> Response {
    reply(200, &json!({"jsonrpc": "2.0", "id": id, "result": result}))
}

fn refusal(status: u16, id: Value, error: Value) -> Response {
    reply(status, &json!({"jsonrpc": "2.0", "id": id, "error": error}))
}

fn discovery() -> Value {
    json!({
        "resultType": "complete",
        "supportedVersions": ["2025-11-25", "2026-07-28", "2031-01-01"],
        "capabilities": {"tools": {}},
        "instructions": "be kind",
        "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "m", "version": "1"}},
    })
}

/// A client of a server that has been found to be modern; the next request has id 2.
async fn modern(responses: Vec<Response>) -> (McpClient, Scripted) {
    let script: Vec<_> = [result(1, discovery())].into_iter().chain(responses).collect();
    let server = Scripted::start(script).await;
    let client = connect(server.address, Recorder::new());
    let found = client.connect(hello(), EraChoice::Auto, PLENTY).await.unwrap();
    assert_eq!(found.revision.era(), Era::Modern);
    server.asked().await;
    (client, server)
}

fn call_params(name: &str, arguments: &Value) -> Option<RawObject> {
    Some(object(&json!({"name": name, "arguments": arguments}).to_string()))
}

#[tokio::test]
async fn every_request_carries_its_sender_and_its_headers() {
    let server = Scripted::start([
        result(1, discovery()),
        result(2, json!({"prompts": []})),
        result(3, json!({"contents": []})),
    ])
    .await;
    let client = connect(server.address, Recorder::new());
    let found = client.connect(hello(), EraChoice::Auto, PLENTY).await.unwrap();
    assert_eq!(found.instructions.as_deref(), Some("be kind"));
    assert_eq!(found.server_info["name"].get(), r#""m""#);
    let other = ClientDescription {
        info: object(r#"{"name":"other"}"#),
        capabilities: object(r#"{"x":1}"#),
    };
    let options = RequestOptions {
        client: Some(Arc::new(other)),
        log_level: Some("notice".to_owned()),
        ..RequestOptions::within(PLENTY)
    };
    client.request("prompts/list", None, options).await.unwrap();
    let uri = "file:///süß space.txt";
    let params = object(&json!({"uri": uri, "_meta": {"traceparent": "00"}}).to_string());
    ask(&client, "resources/read", Some(params)).await.unwrap();

    for (method, sender, level) in [
        ("server/discover", "test", Value::Null),
        ("prompts/list", "other", json!("notice")),
        ("resources/read", "test", Value::Null),
    ] {
        let asked = server.asked().await;
        assert_eq!(asked.headers["mcp-protocol-version"], "2026-07-28");
        assert_eq!(asked.headers["mcp-method"], method);
        assert_eq!(asked.headers["authorization"], "Bearer canary");
        assert!(!asked.headers.contains_key("mcp-session-id"));
        let meta = &asked.body["params"]["_meta"];
        assert_eq!(meta["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
        assert_eq!(meta["io.modelcontextprotocol/clientInfo"]["name"], sender);
        assert!(meta["io.modelcontextprotocol/clientCapabilities"].is_object());
        assert_eq!(meta["io.modelcontextprotocol/logLevel"], level);
        if method == "resources/read" {
            assert_eq!(meta["traceparent"], "00");
            let name = asked.headers["mcp-name"].to_str().unwrap();
            assert!(name.starts_with("=?base64?") && name.ends_with("?="), "{name}");
        }
    }
    client.close().await;
}

#[tokio::test]
async fn a_version_is_picked_again_when_it_is_refused() {
    let wrong = |id| {
        let data = json!({"supported": ["2026-07-28"], "requested": "x"});
        refusal(400, id, json!({"code": -32022, "message": "no", "data": data}))
    };
    let server = Scripted::start([
        wrong(Value::Null),
        result(2, discovery()),
        wrong(json!(3)),
        result(4, json!({"done": true})),
        refusal(
            400,
            json!(5),
            json!({"code": -32022, "message": "no", "data": {"supported": ["2025-11-25"]}}),
        ),
    ])
    .await;
    let client = connect(server.address, Recorder::new());
    client.connect(hello(), EraChoice::Auto, PLENTY).await.unwrap();
    ask(&client, "prompts/list", None).await.unwrap();
    let left = ask(&client, "prompts/list", None).await;
    assert!(matches!(left, Err(ClientError::SessionExpired)), "{left:?}");
}

#[tokio::test]
async fn whatever_a_legacy_server_says_to_the_probe_the_handshake_follows() {
    let greeting = || result(2, json!({"protocolVersion": "2025-06-18"}));
    let accepted = || Response::builder().status(202).body(Body::empty()).unwrap();
    let plain = |status: u16| Response::builder().status(status).body(Body::from("no")).unwrap();
    for refused in [
        result(1, json!({})),
        result(1, json!({"supportedVersions": ["2025-11-25"]})),
        refusal(200, json!(1), json!({"code": -32601, "message": "no"})),
        refusal(400, json!(1), json!({"code": -32000, "message": "no session"})),
        refusal(400, Value::Null, json!({"code": -32600, "message": "initialize first"})),
        refusal(
            400,
            json!(1),
            json!({"code": -32022, "message": "no", "data": {"supported": ["2025-06-18"]}}),
        ),
        plain(400),
        plain(404),
        plain(405),
        plain(500),
        accepted(),
    ] {
        let what = format!("{refused:?}");
        let server = Scripted::start([refused, greeting(), accepted()]).await;
        let client = connect(server.address, Recorder::new());
        let found = client.connect(hello(), EraChoice::Auto, PLENTY).await;
        assert_eq!(found.expect(&what).revision.as_str(), "2025-06-18");
        server.asked().await;
        let handshake = server.asked().await;
        assert_eq!(handshake.body["method"], "initialize", "{what}");
        assert!(!handshake.headers.contains_key("mcp-protocol-version"), "{what}");
    }
    for status in [401, 403, 307] {
        let server = Scripted::start([plain(status)]).await;
        let client = connect(server.address, Recorder::new());
        let refused = client.connect(hello(), EraChoice::Auto, PLENTY).await;
        assert!(matches!(refused, Err(ClientError::Http { .. })), "{refused:?}");
    }
}

fn annotated(name: &str, kind: &str) -> Value {
    let region = json!({"type": kind, "x-mcp-header": "Region"});
    json!({"name": name, "inputSchema": {"type": "object", "properties": {"region": region}}})
}

#[tokio::test]
async fn parameters_travel_as_headers_once_the_list_is_known() {
    let (client, server) = modern(vec![
        result(2, json!({"tools": [annotated("other", "string")], "nextCursor": "2"})),
        result(3, json!({"tools": [annotated("t", "string"), annotated("broken", "number")]})),
        result(4, json!({"content": []})),
        result(5, json!({"content": []})),
        refusal(400, json!(6), json!({"code": -32020, "message": "headers"})),
        result(7, json!({"tools": []})),
        result(8, json!({"content": []})),
    ])
    .await;
    let call = async |region: Value| {
        let params = call_params("t", &json!({"region": region}));
        ask(&client, "tools/call", params).await.unwrap();
    };
    call(json!("us west")).await;
    assert_eq!(server.asked().await.body["method"], "tools/list");
    assert_eq!(server.asked().await.body["params"]["cursor"], "2");
    let asked = server.asked().await;
    assert_eq!(asked.headers["mcp-name"], "t");
    assert_eq!(asked.headers["mcp-param-region"], "us west");
    call(Value::Null).await;
    assert!(!server.asked().await.headers.contains_key("mcp-param-region"));
    call(json!("x")).await;
    assert_eq!(server.asked().await.headers["mcp-param-region"], "x");
    assert_eq!(server.asked().await.body["method"], "tools/list", "read again");
    assert!(!server.asked().await.headers.contains_key("mcp-param-region"));
}

#[tokio::test]
async fn tools_with_broken_annotations_are_not_offered() {
    let tools = json!([annotated("good", "integer"), annotated("bad", "object")]);
    let (client, _server) = modern(vec![result(2, json!({"tools": tools, "x": 1}))]).await;
    let listed = ask(&client, "tools/list", None).await.unwrap();
    let listed: Value = serde_json::from_str(listed.get()).unwrap();
    assert_eq!(listed, json!({"tools": [annotated("good", "integer")], "x": 1}));
}

/// Tells what it was asked, and answers.
struct Asked(mpsc::UnboundedSender<Value>);

#[async_trait]
impl ClientHandler for Asked {
    fn notification(&self, _method: &str, _params: Option<RawObject>) {}

    async fn request(
        &self,
        method: &str,
        params: Option<RawObject>,
    ) -> Result<Box<RawValue>, RpcError> {
        self.0.send(serde_json::to_value(params).unwrap()).unwrap();
        match method {
            "roots/list" => Err(RpcError::method_not_found(method)),
            _ => Ok(raw(r#"{"action":"accept"}"#)),
        }
    }
}

fn needs(requests: Value, state: Option<&str>) -> Value {
    let mut result = json!({"resultType": "input_required", "inputRequests": requests});
    if let Some(state) = state {
        result["requestState"] = json!(state);
    }
    result
}

fn page() -> Value {
    let params = json!({"mode": "url", "message": "m", "url": "https://example.com"});
    json!({"method": "elicitation/create", "params": params})
}

#[tokio::test]
async fn questions_are_answered_and_the_request_is_sent_again() {
    let read = json!({"uri": "a://b", "x-odd": [1.50]});
    let (client, server) = modern(vec![
        result(2, needs(json!({"page": page(), "more": page()}), Some("s-1"))),
        result(3, needs(json!({"page": page()}), None)),
        result(4, json!({"contents": []})),
        result(5, needs(json!({"folders": {"method": "roots/list"}}), None)),
        result(6, json!({"resultType": "later"})),
        result(7, needs(json!({}), None)),
        result(8, needs(json!({"page": page()}), Some("kept"))),
    ])
    .await;
    let (sender, mut questions) = mpsc::unbounded_channel();
    let options =
        RequestOptions { events: Some(Arc::new(Asked(sender))), ..RequestOptions::within(PLENTY) };
    let send = async |options: &RequestOptions| {
        let params = Some(object(&read.to_string()));
        client.request("resources/read", params, options.clone()).await
    };
    send(&options).await.unwrap();
    let first = server.asked().await.body;
    assert!(first["params"].get("inputResponses").is_none());
    let second = server.asked().await.body;
    assert_eq!((&second["id"], &second["params"]["requestState"]), (&json!(3), &json!("s-1")));
    assert_eq!(second["params"]["inputResponses"]["more"], json!({"action": "accept"}));
    assert_eq!(second["params"]["x-odd"], json!([1.50]));
    let third = server.asked().await.body;
    assert!(third["params"].get("requestState").is_none(), "only what was last given is sent back");
    assert_eq!(third["params"]["inputResponses"], json!({"page": {"action": "accept"}}));
    let ids: Vec<Value> = std::iter::from_fn(|| questions.try_recv().ok())
        .map(|question| question["elicitationId"].clone())
        .collect();
    assert!(ids.len() == 3 && ids[0] != ids[1] && ids.iter().all(Value::is_string), "{ids:?}");

    let refused = send(&options).await;
    assert!(
        matches!(&refused, Err(ClientError::Unanswered { method, .. }) if method == "roots/list"),
        "{refused:?}"
    );
    for _unknown_then_empty in 0..2 {
        let broken = send(&options).await;
        assert!(matches!(broken, Err(ClientError::Protocol { .. })), "{broken:?}");
    }
    let handed = RequestOptions { input_required: InputRequiredMode::HandBack, ..options.clone() };
    let result = send(&handed).await.unwrap();
    assert!(result.get().contains(r#""requestState":"kept""#), "{result}");
}

#[tokio::test]
async fn a_stream_that_ends_early_is_not_taken_up_and_a_silent_one_ends_in_time() {
    let events = |text: &str| {
        let builder = Response::builder().header("content-type", "text/event-stream");
        builder.body(Body::from(text.to_owned())).unwrap()
    };
    let silent = || {
        let first =
            futures_util::stream::iter([Ok::<_, std::io::Error>(Bytes::from_static(b":\n\n"))]);
        let body = Body::from_stream(first.chain(futures_util::stream::pending()));
        Response::builder().header("content-type", "text/event-stream").body(body).unwrap()
    };
    let note = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{}}"#;
    let question = r#"{"jsonrpc":"2.0","id":"q","method":"roots/list"}"#;
    let answer = r#"{"jsonrpc":"2.0","id":4,"result":{"ok":1}}"#;
    let (client, server) = modern(vec![
        events(&format!("id: 1\nretry: 1\ndata: {note}\n\n")),
        silent(),
        events(&format!("data: {question}\n\ndata: {note}\n\ndata: {answer}\n\n")),
        result(5, json!({"still": "here"})),
    ])
    .await;
    let recorder = Recorder::new();
    let options =
        RequestOptions { events: Some(recorder.clone()), ..RequestOptions::within(PLENTY) };
    let cut = client.request("prompts/list", None, options.clone()).await;
    assert!(matches!(cut, Err(ClientError::Protocol { .. })), "{cut:?}");
    let short = RequestOptions::within(Duration::from_millis(60));
    let late = soon(client.request("prompts/list", None, short)).await;
    assert!(matches!(late, Err(ClientError::Timeout { .. })), "{late:?}");
    client.request("prompts/list", None, options).await.unwrap();
    assert_eq!(recorder.rest().await, ["notifications/message"; 2], "the question reached nobody");
    ask(&client, "prompts/list", None).await.unwrap();
    for _each_once in 0..4 {
        assert_eq!(server.asked().await.body["method"], "prompts/list");
    }
    client.close().await;
}

#[tokio::test]
async fn the_listening_stream_is_tagged_acknowledged_and_opened_again() {
    let tag = |id: u64| json!({"io.modelcontextprotocol/subscriptionId": id, "kept": 1});
    let event = |method: &str, id: u64| {
        let message = json!({"jsonrpc": "2.0", "method": method, "params": {"_meta": tag(id)}});
        format!("data: {message}\n\n")
    };
    let acknowledged = "notifications/subscriptions/acknowledged";
    let changed = "notifications/tools/list_changed";
    let stream = |id: u64, rest: String, ends: bool| {
        let text = event(acknowledged, id) + &rest;
        let first = futures_util::stream::iter([Ok::<_, std::io::Error>(Bytes::from(text))]);
        let body = if ends {
            Body::from_stream(first)
        } else {
            Body::from_stream(first.chain(futures_util::stream::pending()))
        };
        Response::builder().header("content-type", "text/event-stream").body(body).unwrap()
    };
    let mut discovery = discovery();
    discovery["capabilities"] =
        json!({"tools": {"listChanged": true}, "resources": {"subscribe": true}});
    let foreign = event(changed, 77) + &event(changed, 2);
    let server = Scripted::start([
        result(1, discovery),
        stream(2, foreign, true),
        stream(3, event("notifications/prompts/list_changed", 3), false),
        stream(4, String::new(), false),
    ])
    .await;
    let owner = Recorder::new();
    let client = connect(server.address, owner.clone());
    client.connect(hello(), EraChoice::Auto, PLENTY).await.unwrap();
    server.asked().await;
    let first = server.asked().await;
    assert_eq!(first.headers["mcp-method"], "subscriptions/listen");
    assert_eq!(first.body["params"]["notifications"], json!({"toolsListChanged": true}));
    assert_eq!(owner.next().await, changed);
    assert_eq!(server.asked().await.body["id"], 3, "opened again when it ended");
    assert_eq!(owner.next().await, "notifications/prompts/list_changed");
    client.watch_resources(vec!["a://b".to_owned()], PLENTY).await.unwrap();
    let wanted = server.asked().await.body;
    assert_eq!(wanted["params"]["notifications"]["resourceSubscriptions"], json!(["a://b"]));
    assert!(owner.rest().await.is_empty());
    client.close().await;
}
