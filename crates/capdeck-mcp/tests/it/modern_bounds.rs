//! What many, strange or hostile clients can make the server hold.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use capdeck_mcp::server::{HttpEndpoint, HttpOptions};
use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::support::*;

const CLIENTS: usize = 10_000;
const BOUND: usize = 40;

/// Posts a body without a connection, for tests that need thousands.
async fn post(
    endpoint: &Arc<HttpEndpoint>,
    body: &Value,
    headers: &[(&str, &str)],
) -> http::StatusCode {
    let mut request = http::Request::post("/mcp")
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let body = Bytes::from(body.to_string());
    endpoint.handle(request.body(body).unwrap()).await.status()
}

/// How many sessions are open, by what happened since the last look.
async fn still_open(fixture: &Fixture, opened: usize) -> usize {
    let (mut seen, mut closed) = (0, 0);
    while seen < opened || closed < opened - BOUND {
        match fixture.next().await {
            Happening::Opened { .. } => seen += 1,
            Happening::Closed => closed += 1,
            other => panic!("{other:?}"),
        }
    }
    seen - closed
}

#[tokio::test]
async fn thousands_of_idle_modern_clients_stay_within_the_bound() {
    let options = HttpOptions { max_sessions: BOUND, ..HttpOptions::default() };
    let talk = ModernTalk::start(options).await;
    let headers = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "server/discover")];
    let mut body = json!({"id": 1, "method": "server/discover", "params": talk.signed(json!({}))});
    for number in 0..CLIENTS {
        body["params"]["_meta"][format!("{META}clientInfo")] = json!({"name": "test", "n": number});
        assert_eq!(post(&talk.endpoint, &body, &headers).await, 200);
    }
    assert_eq!(still_open(&talk.fixture, CLIENTS).await, BOUND);
}

#[tokio::test]
async fn thousands_of_idle_legacy_sessions_stay_within_the_bound() {
    let options = HttpOptions { max_sessions: BOUND, ..HttpOptions::default() };
    let talk = ModernTalk::start(options).await;
    let hello =
        json!({"id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25"}});
    for _ in 0..CLIENTS {
        assert_eq!(post(&talk.endpoint, &hello, &[]).await, 200);
    }
    assert_eq!(still_open(&talk.fixture, CLIENTS).await, BOUND);
}

#[tokio::test]
async fn a_client_that_makes_room_is_ended_whatever_comes_in() {
    let talk = ModernTalk::start(HttpOptions { max_sessions: 1, ..HttpOptions::default() }).await;
    assert_eq!(talk.ask(1, "tools/list", json!({})).await.0, 200);
    let other = talk.with_principal("bob");
    let note = json!({"method": "notifications/custom", "params": other.signed(json!({}))});
    let posting = other.posting(&note).header("mcp-protocol-version", "2026-07-28");
    assert_eq!(soon(posting.send()).await.unwrap().status(), 202);
    let reported = Happening::Notified("notifications/custom".to_owned());
    talk.fixture.until_all(&[Happening::Closed, reported]).await;
}

#[tokio::test]
async fn requests_that_say_the_same_share_a_session_and_others_do_not() {
    let talk = ModernTalk::start(HttpOptions::default()).await.with_principal("ada");
    let many = join_all((0..20).map(|id| talk.ask(id, "tools/list", json!({})))).await;
    assert!(many.iter().all(|(status, _)| *status == 200), "ids need not differ between requests");
    let others = [
        talk.with_principal("bob"),
        ModernTalk { principal: None, ..talk.clone() },
        talk.with_capabilities(json!({"roots": {}})),
    ];
    for other in &others {
        assert_eq!(other.ask(0, "tools/list", json!({})).await.0, 200);
    }
    talk.endpoint.shutdown().await;
    let mut opened = 0;
    let mut closed = 0;
    while closed < 4 {
        match talk.fixture.next().await {
            Happening::Opened { .. } => opened += 1,
            Happening::Closed => closed += 1,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(opened, 4);
}

#[tokio::test]
async fn idle_clients_are_ended_and_busy_ones_are_not() {
    let options = HttpOptions {
        session_idle: Duration::from_millis(40),
        max_sessions: 1,
        ..HttpOptions::default()
    };
    let talk = ModernTalk::start(options).await;
    let hanging = talk.clone();
    let hanging =
        tokio::spawn(async move { hanging.ask(1, "tools/call", json!({"name": "slow"})).await });
    talk.fixture.until(&Happening::Started("slow".to_owned())).await;
    let other = talk.with_principal("bob");
    let (status, body) = other.ask(2, "tools/list", json!({})).await;
    assert_eq!((status, &body["error"]["code"]), (503, &json!(-32000)), "the only place is taken");
    talk.fixture.release.notify_one();
    assert_eq!(soon(hanging).await.unwrap().0, 200);
    talk.fixture.until(&Happening::Closed).await;
    assert_eq!(other.ask(3, "tools/list", json!({})).await.0, 200);
}

#[tokio::test]
async fn a_service_that_refuses_is_asked_again_by_the_next_request() {
    let talk = ModernTalk::start(HttpOptions::default()).await;
    let mut params = talk.signed(json!({}));
    params["_meta"][format!("{META}clientInfo")] = json!({"name": "unwelcome"});
    let body = json!({"id": 1, "method": "tools/list", "params": params});
    for _ in 0..2 {
        let request = talk
            .posting(&body)
            .header("mcp-protocol-version", "2026-07-28")
            .header("mcp-method", "tools/list");
        let (status, body) = outcome(soon(request.send()).await.unwrap()).await;
        assert_eq!((status, &body["error"]["message"]), (200, &json!("not you")));
    }
}

#[tokio::test]
async fn oversized_and_deep_messages_are_refused_whole() {
    let talk = ModernTalk::start(HttpOptions { max_body: 100_000, ..HttpOptions::default() }).await;
    let deep: Value = (0..100).fold(json!(1), |inner, _| json!([inner]));
    assert_eq!(talk.call(1, json!({"name": "echo", "arguments": {"n": deep}})).await["n"][0][0], {
        let mut inner = deep.clone();
        for _ in 0..2 {
            inner = inner[0].clone();
        }
        inner
    });
    for depth in [200, 40_000] {
        let nested = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        let body = format!(r#"{{"id":1,"method":"tools/call","params":{{"x":{nested}}}}}"#);
        let request =
            talk.posting(&json!({})).body(body).header("mcp-protocol-version", "2026-07-28");
        let (status, body) = outcome(soon(request.send()).await.unwrap()).await;
        assert_eq!((status, &body["error"]["code"]), (400, &json!(-32700)));
    }
    let large = json!({"name": "echo", "arguments": {"x": "y".repeat(100_000)}});
    assert_eq!(talk.send(2, "tools/call", large).await.status(), 413);
}

#[tokio::test]
async fn a_legacy_session_belongs_to_the_principal_that_opened_it() {
    let talk = ModernTalk::start(HttpOptions::default()).await.with_principal("ada");
    let hello =
        json!({"id": 0, "method": "initialize", "params": {"protocolVersion": "2025-11-25"}});
    let response = soon(talk.posting(&hello).send()).await.unwrap();
    let session = response.headers()["mcp-session-id"].to_str().unwrap().to_owned();
    let list = json!({"id": 1, "method": "tools/list"});
    let post = |talk: &ModernTalk| talk.posting(&list).header("mcp-session-id", &session).send();
    for stranger in [talk.with_principal("bob"), ModernTalk { principal: None, ..talk.clone() }] {
        let (status, body) = outcome(soon(post(&stranger)).await.unwrap()).await;
        assert_eq!((status, &body["error"]["code"]), (404, &json!(-32001)));
    }
    assert_eq!(soon(post(&talk)).await.unwrap().status(), 200);
}
