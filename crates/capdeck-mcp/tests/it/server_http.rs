//! The HTTP server against a client driven by hand.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use capdeck_mcp::server::{HttpEndpoint, HttpOptions};
use reqwest::{RequestBuilder, Response};
use serde_json::{Value, json};

use crate::support::*;

struct Talk {
    fixture: Arc<Fixture>,
    endpoint: Arc<HttpEndpoint>,
    address: SocketAddr,
    http: reqwest::Client,
    session: Option<String>,
}

impl Talk {
    async fn start(options: HttpOptions) -> Self {
        let fixture = Fixture::new();
        let (endpoint, address) = serve_endpoint(&fixture, options).await;
        Self { fixture, endpoint, address, http: http_client(), session: None }
    }

    async fn introduced(version: &str, options: HttpOptions) -> Self {
        let mut talk = Self::start(options).await;
        talk.introduce(version).await;
        talk
    }

    async fn introduce(&mut self, version: &str) {
        self.session = None;
        let params = json!({"protocolVersion": version});
        let response = self.post(json!({"id": 0, "method": "initialize", "params": params})).await;
        assert_eq!(response.status(), 200);
        let session = response.headers()["mcp-session-id"].to_str().unwrap().to_owned();
        assert!(session.len() >= 32 && session.bytes().all(|byte| byte.is_ascii_graphic()));
        let body: Value = response.json().await.unwrap();
        assert_eq!(body["result"]["protocolVersion"], version);
        self.session = Some(session);
    }

    fn request(&self, method: http::Method) -> RequestBuilder {
        let request = self.http.request(method, format!("http://{}/mcp", self.address));
        match &self.session {
            Some(session) => request.header("mcp-session-id", session),
            None => request,
        }
    }

    fn posting(&self, body: Value) -> RequestBuilder {
        self.request(http::Method::POST)
            .header("accept", "application/json, text/event-stream")
            .json(&body)
    }

    async fn post(&self, body: Value) -> Response {
        soon(self.posting(body).send()).await.unwrap()
    }

    fn getting(&self) -> RequestBuilder {
        self.request(http::Method::GET).header("accept", "text/event-stream")
    }

    async fn get(&self) -> Response {
        soon(self.getting().send()).await.unwrap()
    }
}

fn call(id: u64, name: &str) -> Value {
    json!({"id": id, "method": "tools/call", "params": {"name": name, "_meta": {"progressToken": "t"}}})
}

fn header<'a>(response: &'a Response, name: &str) -> &'a str {
    response.headers()[name].to_str().unwrap()
}

/// Reads from a stream until it holds a text.
async fn read_until(response: &mut Response, text: &str) -> String {
    let mut seen = String::new();
    while !seen.contains(text) {
        let chunk = soon(response.chunk()).await.unwrap().expect("the stream ended");
        seen.push_str(std::str::from_utf8(&chunk).unwrap());
    }
    seen
}

fn quick() -> HttpOptions {
    HttpOptions { json_grace: Duration::from_millis(5), ..HttpOptions::default() }
}

#[tokio::test]
async fn refusals_have_their_status_and_say_why() {
    let talk = Talk::introduced("2025-11-25", HttpOptions { max_body: 1000, ..quick() }).await;
    let ping = json!({"id": 1, "method": "ping"});
    let bad = |request: RequestBuilder| async move {
        let response = soon(request.send()).await.unwrap();
        let status = response.status().as_u16();
        let body: Value = response.json().await.unwrap();
        (status, body["error"]["code"].as_i64().unwrap(), body["id"].clone())
    };
    let post = || talk.posting(ping.clone());
    let other = |name: &str, value: &str| {
        talk.request(http::Method::POST).header("accept", "*/*").body("{}").header(name, value)
    };
    let stranger = Talk {
        session: Some("nobody".to_owned()),
        fixture: talk.fixture.clone(),
        endpoint: talk.endpoint.clone(),
        http: talk.http.clone(),
        ..talk
    };
    let homeless = Talk {
        session: None,
        fixture: talk.fixture.clone(),
        endpoint: talk.endpoint.clone(),
        http: talk.http.clone(),
        ..talk
    };

    assert_eq!(bad(other("content-type", "text/plain")).await.0, 415);
    let narrow = talk.request(http::Method::POST).header("accept", "application/json").json(&ping);
    assert_eq!(bad(narrow).await.0, 406);
    assert_eq!(bad(talk.request(http::Method::GET).header("accept", "text/html")).await.0, 406);
    assert_eq!(
        bad(post().header("mcp-protocol-version", "1999-01-01")).await,
        (400, -32000, json!(1))
    );
    assert_eq!(bad(stranger.posting(ping.clone())).await, (404, -32001, json!(1)));
    assert_eq!(bad(stranger.getting()).await, (404, -32001, Value::Null));
    assert_eq!(bad(homeless.posting(ping.clone())).await, (400, -32000, json!(1)));
    assert_eq!(homeless.get().await.status(), 405);
    let response = soon(homeless.request(http::Method::DELETE).send()).await.unwrap();
    assert_eq!((response.status().as_u16(), header(&response, "allow")), (405, "POST"));
    let modern = post().header("mcp-protocol-version", "2026-07-28");
    assert_eq!(bad(modern).await, (400, -32000, json!(1)));
    assert_eq!(bad(post().body("{nope")).await, (400, -32700, Value::Null));
    assert_eq!(bad(post().body(r#"{"id":4}"#)).await, (400, -32600, json!(4)));
    assert_eq!(bad(post().body(r#"[{"id":4,"method":"ping"}]"#)).await.1, -32600);
    assert_eq!(bad(post().body("x".repeat(2000))).await.0, 413);
    assert_eq!(bad(talk.getting().header("last-event-id", "9-9")).await.0, 400);
    let again =
        json!({"id": 5, "method": "initialize", "params": {"protocolVersion": "2025-11-25"}});
    assert_eq!(bad(talk.posting(again)).await, (200, -32600, json!(5)));
    let response = soon(talk.request(http::Method::PUT).send()).await.unwrap();
    assert_eq!(
        (response.status().as_u16(), header(&response, "allow")),
        (405, "GET, POST, DELETE")
    );
    assert_eq!(talk.post(ping).await.status(), 200);
}

#[tokio::test]
async fn a_quick_answer_is_json_and_messages_without_one_are_receipted() {
    let talk = Talk::introduced("2025-11-25", HttpOptions { json_grace: PLENTY, ..quick() }).await;
    let response = talk.post(json!({"id": "x", "method": "tools/list"})).await;
    assert_eq!(header(&response, "content-type"), "application/json");
    let expected = r#"{"jsonrpc":"2.0","id":"x","result":{"tools":[{"name":"echo", "x": 1.0}]}}"#;
    assert_eq!(response.text().await.unwrap(), expected);
    for body in [json!({"method": "notifications/x"}), json!({"id": 9, "result": {}})] {
        let response = talk.post(body).await;
        assert_eq!(response.status(), 202);
        assert_eq!(response.text().await.unwrap(), "");
    }
    talk.fixture.until(&Happening::Notified("notifications/x".to_owned())).await;
}

#[tokio::test]
async fn a_talking_answer_is_a_stream_with_ids() {
    let talk = Talk::introduced("2025-11-25", HttpOptions { json_grace: PLENTY, ..quick() }).await;
    let response = talk.post(call(1, "progress")).await;
    assert_eq!(header(&response, "content-type"), "text/event-stream");
    assert_eq!(header(&response, "cache-control"), "no-cache, no-transform");
    assert_eq!(header(&response, "x-accel-buffering"), "no");
    let text = soon(response.text()).await.unwrap();
    assert!(
        text.starts_with("id: 1-0\nretry: 1000\ndata: \n\nevent: message\nid: 1-1\ndata: {"),
        "{text}"
    );
    assert_eq!(text.matches(r#""progressToken":"t""#).count(), 3);
    assert!(
        text.ends_with(
            "id: 1-4\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"done\":true}}\n\n"
        ),
        "{text}"
    );
}

#[tokio::test]
async fn older_clients_get_no_event_without_data() {
    let talk = Talk::introduced("2025-06-18", quick()).await;
    let text = soon(talk.post(call(1, "progress")).await.text()).await.unwrap();
    assert!(text.starts_with("event: message\nid: 1-1\ndata: {"), "{text}");
}

#[tokio::test]
async fn a_lost_connection_is_no_cancel_and_the_answer_can_be_fetched() {
    let talk = Talk::introduced("2025-11-25", quick()).await;
    let mut response = talk.post(call(1, "slow")).await;
    read_until(&mut response, "id: 1-0\n").await;
    talk.fixture.until(&Happening::Started("slow".to_owned())).await;
    drop(response);
    let mut resumed = soon(talk.getting().header("last-event-id", "1-0").send()).await.unwrap();
    assert_eq!(resumed.status(), 200);
    talk.fixture.release.notify_one();
    read_until(&mut resumed, r#""result":{"slow":true}"#).await;
    assert!(soon(resumed.chunk()).await.unwrap().is_none());

    let again = soon(talk.getting().header("last-event-id", "1-0").send()).await.unwrap();
    assert!(soon(again.text()).await.unwrap().contains("id: 1-1\n"), "replayed");
    let nothing = soon(talk.getting().header("last-event-id", "1-1").send()).await.unwrap();
    assert_eq!(soon(nothing.text()).await.unwrap(), "");
}

#[tokio::test]
async fn resuming_one_stream_shows_no_other() {
    let talk = Talk::introduced("2025-11-25", quick()).await;
    let first = soon(talk.post(call(1, "progress")).await.text()).await.unwrap();
    assert!(first.contains("id: 1-4"));
    soon(talk.post(call(2, "progress")).await.text()).await.unwrap();
    talk.fixture.peer().notify("notifications/unasked", None);
    let resumed = soon(talk.getting().header("last-event-id", "1-2").send()).await.unwrap();
    let text = soon(resumed.text()).await.unwrap();
    let ids: Vec<&str> = text.lines().filter(|line| line.starts_with("id: ")).collect();
    assert_eq!(ids, ["id: 1-3", "id: 1-4"]);
}

#[tokio::test]
async fn unasked_messages_wait_for_a_listener_and_there_is_one() {
    let talk = Talk::introduced("2025-11-25", quick()).await;
    talk.fixture.peer().notify("notifications/early", None);
    let mut stream = talk.get().await;
    read_until(&mut stream, "notifications/early").await;
    assert_eq!(talk.get().await.status(), 409);
    talk.fixture.peer().notify("notifications/live", None);
    let text = read_until(&mut stream, "notifications/live").await;
    assert!(!text.contains("early"));
    // A client that lost its connection may come back although the old one is not known to be gone.
    let mut resumed = soon(talk.getting().header("last-event-id", "0-1").send()).await.unwrap();
    read_until(&mut resumed, "notifications/live").await;
    assert!(soon(stream.chunk()).await.unwrap().is_none(), "the older reader ends");
}

#[tokio::test]
async fn quiet_streams_are_kept_alive() {
    let options = HttpOptions { keep_alive: Duration::from_millis(10), ..quick() };
    let talk = Talk::introduced("2025-11-25", options).await;
    let mut stream = talk.get().await;
    read_until(&mut stream, ": keep-alive\n\n: keep-alive").await;
    let mut answer = talk.post(call(1, "slow")).await;
    read_until(&mut answer, ": keep-alive\n\n: keep-alive").await;
}

#[tokio::test]
async fn a_cancelled_request_ends_its_stream() {
    let talk = Talk::introduced("2025-11-25", quick()).await;
    let response = talk.post(call(1, "hang")).await;
    let cancel = json!({"method": "notifications/cancelled", "params": {"requestId": 1}});
    assert_eq!(talk.post(cancel).await.status(), 202);
    talk.fixture.until(&Happening::Cancelled).await;
    assert!(soon(response.text()).await.unwrap().contains("-32800"));
}

#[tokio::test]
async fn deleting_a_session_ends_everything_in_it() {
    let talk = Talk::introduced("2025-11-25", quick()).await;
    let stream = talk.get().await;
    let response = talk.post(call(1, "hang")).await;
    talk.fixture.until(&Happening::Started("hang".to_owned())).await;
    let deleted = soon(talk.request(http::Method::DELETE).send()).await.unwrap();
    assert_eq!(deleted.status(), 204);
    talk.fixture.until(&Happening::Cancelled).await;
    soon(response.text()).await.unwrap();
    soon(stream.text()).await.unwrap();
    assert_eq!(talk.post(json!({"id": 1, "method": "ping"})).await.status(), 404);
    assert_eq!(soon(talk.request(http::Method::DELETE).send()).await.unwrap().status(), 404);
}

#[tokio::test]
async fn idle_sessions_end_and_used_ones_stay() {
    let options = HttpOptions { session_idle: Duration::from_millis(60), ..quick() };
    let mut talk = Talk::introduced("2025-11-25", options).await;
    talk.fixture.until(&Happening::Closed).await;
    assert_eq!(talk.post(json!({"id": 1, "method": "ping"})).await.status(), 404);

    talk.introduce("2025-11-25").await;
    let response = talk.post(call(1, "hang")).await;
    talk.fixture.until(&Happening::Started("hang".to_owned())).await;
    let busy = talk.session.clone();
    talk.introduce("2025-11-25").await;
    talk.fixture.until(&Happening::Closed).await;
    talk.session = busy;
    assert_eq!(talk.post(json!({"id": 2, "method": "ping"})).await.status(), 200);
    drop(response);
}

#[tokio::test]
async fn beyond_the_cap_the_idlest_session_makes_room_and_busy_ones_do_not() {
    let mut talk = Talk::introduced("2025-11-25", HttpOptions { max_sessions: 2, ..quick() }).await;
    let first = talk.session.clone();
    talk.introduce("2025-11-25").await;
    let second = talk.session.clone();
    talk.introduce("2025-11-25").await;
    talk.fixture.until(&Happening::Closed).await;
    let third = talk.session.clone();
    for (session, status) in [(first, 404), (second.clone(), 200), (third.clone(), 200)] {
        talk.session = session;
        assert_eq!(talk.post(json!({"id": 1, "method": "ping"})).await.status(), status);
    }
    talk.session = second;
    let _one = talk.post(call(1, "hang")).await;
    talk.session = third;
    let _two = talk.post(call(1, "hang")).await;
    talk.session = None;
    let params = json!({"protocolVersion": "2025-11-25"});
    let refused = talk.post(json!({"id": 0, "method": "initialize", "params": params})).await;
    assert_eq!(refused.status(), 503);
}

#[tokio::test]
async fn batches_are_answered_together() {
    let talk = Talk::introduced("2025-03-26", HttpOptions { json_grace: PLENTY, ..quick() }).await;
    let batch = json!([{"id": 1, "method": "ping"}, {"method": "notifications/x"}, {"id": 2, "method": "tools/list"}]);
    let answers: Value = talk.post(batch).await.json().await.unwrap();
    let mut ids: Vec<u64> =
        answers.as_array().unwrap().iter().map(|one| one["id"].as_u64().unwrap()).collect();
    ids.sort_unstable();
    assert_eq!(ids, [1, 2]);
    let mixed = talk.post(json!([{"id": 3, "method": "ping"}, call(4, "progress")])).await;
    assert_eq!(header(&mixed, "content-type"), "text/event-stream");
    let text = soon(mixed.text()).await.unwrap();
    assert!(
        text.contains(r#""id":3,"result":{}"#) && text.contains(r#""id":4,"result":{"done":true}"#),
        "{text}"
    );
    assert_eq!(talk.post(json!([{"method": "notifications/x"}])).await.status(), 202);
}

#[tokio::test]
async fn a_refused_handshake_opens_no_session() {
    let talk = Talk::start(quick()).await;
    let params = json!({"protocolVersion": "2025-11-25", "clientInfo": {"name": "unwelcome"}});
    let response = talk.post(json!({"id": 0, "method": "initialize", "params": params})).await;
    assert!(!response.headers().contains_key("mcp-session-id"));
    assert_eq!(response.json::<Value>().await.unwrap()["error"]["message"], "not you");
}

#[tokio::test]
async fn shutting_down_ends_every_session() {
    let talk = Talk::introduced("2025-11-25", quick()).await;
    let response = talk.post(call(1, "hang")).await;
    talk.endpoint.shutdown().await;
    talk.fixture.until(&Happening::Closed).await;
    soon(response.text()).await.unwrap();
    assert_eq!(talk.post(json!({"id": 2, "method": "ping"})).await.status(), 404);
}
