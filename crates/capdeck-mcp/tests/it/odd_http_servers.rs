//! HTTP servers that break off, forget, redirect, refuse and exaggerate.

use std::{convert::Infallible, time::Duration};

use axum::{body::Body, response::Response};
use bytes::Bytes;
use capdeck_mcp::client::{ClientError, EraChoice, McpClient, RequestOptions};
use futures_util::StreamExt;
use http::Method;

use crate::support::*;

fn reply(status: u16, content_type: &str, body: impl Into<Body>) -> Response {
    let builder = Response::builder().status(status).header("content-type", content_type);
    builder.body(body.into()).unwrap()
}

fn answer(text: &str) -> Response {
    reply(200, "application/json", text.to_owned())
}

fn events(text: &str) -> Response {
    reply(200, "text/event-stream", text.to_owned())
}

fn greeting() -> Response {
    let mut response = answer(r#"{"id":1,"result":{"protocolVersion":"2025-06-18"}}"#);
    response.headers_mut().insert("mcp-session-id", "s-1".parse().unwrap());
    response
}

fn accepted() -> Response {
    Response::builder().status(202).body(Body::empty()).unwrap()
}

/// A client whose requests are answered by the script, before any handshake.
async fn scripted(responses: impl IntoIterator<Item = Response>) -> (McpClient, Scripted) {
    let server = Scripted::start(responses).await;
    (connect(server.address, Recorder::new()), server)
}

/// A client that has been introduced; its next request has id 2.
async fn introduced(responses: Vec<Response>) -> (McpClient, Scripted) {
    let script = [greeting(), accepted()].into_iter().chain(responses);
    let (client, server) = scripted(script.collect::<Vec<_>>()).await;
    client.connect(hello(), EraChoice::Legacy, PLENTY).await.unwrap();
    let first = server.asked().await;
    assert!(!first.headers.contains_key("mcp-protocol-version"));
    assert_eq!(first.headers["authorization"], "Bearer canary");
    assert_eq!(server.asked().await.body["method"], "notifications/initialized");
    (client, server)
}

#[tokio::test]
async fn session_and_version_go_with_every_later_request() {
    let (client, server) = introduced(vec![answer(r#"{"id":2,"result":1}"#)]).await;
    ask(&client, "m", None).await.unwrap();
    let asked = server.asked().await;
    assert_eq!(asked.headers["mcp-session-id"], "s-1");
    assert_eq!(asked.headers["mcp-protocol-version"], "2025-06-18");
    assert_eq!(asked.headers["accept"], "application/json, text/event-stream");
    client.close().await;
    let farewell = server.asked().await;
    assert_eq!(
        (farewell.method, &farewell.headers["mcp-session-id"]),
        (Method::DELETE, &"s-1".parse().unwrap())
    );
}

#[tokio::test]
async fn a_stream_that_breaks_is_taken_up_where_it_broke() {
    let (client, server) = introduced(vec![
        events("id: a-1\nretry: 5\ndata:\n\nid: a-2\ndata: {\"method\":\"notifications/message\"}\n\n"),
        events("id: a-3\ndata: {\"method\":\"notifications/message\"}\n\n: half an event\ndata: {\"id\""),
        events("id: a-4\ndata: {\"id\":2,\ndata: \"result\":\"whole\"}\n\n"),
    ])
    .await;
    let recorder = Recorder::new();
    let options =
        RequestOptions { events: Some(recorder.clone()), ..RequestOptions::within(PLENTY) };
    let result = soon(client.request("m", None, options)).await.unwrap();
    assert_eq!(result.get(), "\"whole\"");
    assert_eq!(server.asked().await.method, Method::POST);
    for last_seen in ["a-2", "a-3"] {
        let asked = server.asked().await;
        assert_eq!(asked.method, Method::GET);
        assert_eq!(asked.headers["last-event-id"], last_seen);
        assert_eq!(asked.headers["mcp-session-id"], "s-1");
    }
    assert_eq!(recorder.rest().await, ["notifications/message", "notifications/message"]);
}

#[tokio::test]
async fn a_stream_that_cannot_be_taken_up_is_an_error() {
    let (client, _server) = scripted([events(": nothing\n\n")]).await;
    let error = soon(ask(&client, "m", None)).await.unwrap_err().to_string();
    assert!(error.contains("ended before the answer to `m`"), "{error}");

    let gone = || reply(200, "text/event-stream", "");
    let first = events("id: 1\nretry: 1\ndata:\n\n");
    let (client, _server) = scripted([first, gone(), gone(), gone(), gone()]).await;
    let error = soon(ask(&client, "m", None)).await.unwrap_err().to_string();
    assert!(error.contains("could not be resumed"), "{error}");
}

#[tokio::test]
async fn a_forgotten_session_is_distinguished_and_can_be_opened_again() {
    let (client, server) = introduced(vec![
        reply(404, "text/plain", "no such session"),
        answer(r#"{"id":3,"result":{"protocolVersion":"2025-11-25"}}"#),
        accepted(),
        answer(r#"{"id":4,"result":"again"}"#),
    ])
    .await;
    assert!(matches!(ask(&client, "m", None).await, Err(ClientError::SessionExpired)));
    server.asked().await;
    client.connect(hello(), EraChoice::Legacy, PLENTY).await.unwrap();
    let handshake = server.asked().await;
    assert!(!handshake.headers.contains_key("mcp-session-id"));
    server.asked().await;
    assert_eq!(ask(&client, "m", None).await.unwrap().get(), "\"again\"");
    let asked = server.asked().await;
    assert_eq!(asked.headers["mcp-protocol-version"], "2025-11-25");
    assert!(!asked.headers.contains_key("mcp-session-id"));
}

#[tokio::test]
async fn refusals_say_what_the_server_said() {
    let mut login = reply(401, "text/plain", "who are you?");
    login.headers_mut().insert("www-authenticate", "Bearer realm=x".parse().unwrap());
    let mut moved = reply(307, "text/plain", "");
    moved.headers_mut().insert("location", "https://elsewhere.example/mcp?key=1".parse().unwrap());
    let rpc = r#"{"jsonrpc":"2.0","id":5,"error":{"code":-32000,"message":"inner"}}"#;
    let (client, server) = scripted([
        login,
        moved,
        reply(502, "text/html", "<h1>\nbad\tgateway</h1>"),
        reply(404, "text/plain", ""),
        reply(400, "application/json", rpc),
        accepted(),
        reply(200, "text/html", "hello"),
        answer(r#"{"id":77,"result":1}"#),
        answer("{oops"),
    ])
    .await;
    let Err(ClientError::Http { status: 401, www_authenticate, .. }) =
        ask(&client, "m", None).await
    else {
        panic!("not a login");
    };
    assert_eq!(www_authenticate.as_deref(), Some("Bearer realm=x"));
    for message in [
        "HTTP status 307: redirects are not followed; the server moved to `https://elsewhere.example/mcp`",
        "HTTP status 502: <h1> bad gateway</h1>",
        "HTTP status 404",
        "inner (code -32000)",
        "accepted like a notification",
        "neither JSON nor an event stream",
        r#"for another request: {"id":77,"result":1}"#,
        "cannot be read: the message is not JSON (line 1, column 2): {oops",
    ] {
        let error = ask(&client, "m", None).await.unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
        assert!(!error.contains("canary") && !error.contains("key=1"), "{error}");
    }
    assert_eq!(server.asked().await.method, Method::POST);
}

#[tokio::test]
async fn oversized_answers_are_cut_off() {
    let megabyte = Bytes::from(vec![b'x'; 1024 * 1024]);
    let endless = move |head: &'static [u8]| {
        let megabyte = megabyte.clone();
        let chunks = futures_util::stream::repeat(megabyte);
        let chunks =
            futures_util::stream::once(async move { Bytes::from_static(head) }).chain(chunks);
        Body::from_stream(chunks.map(Ok::<_, Infallible>))
    };
    let (client, _server) = scripted([
        reply(200, "application/json", endless(b"\"")),
        reply(200, "text/event-stream", endless(b"id: 1\n\ndata: ")),
        reply(500, "text/plain", endless(b"it broke ")),
    ])
    .await;
    for _ in 0..2 {
        let outcome = soon(ask(&client, "m", None)).await;
        assert!(matches!(outcome, Err(ClientError::TooLarge { .. })), "{outcome:?}");
    }
    let error = soon(ask(&client, "m", None)).await.unwrap_err().to_string();
    assert!(error.contains("it broke xxx") && error.len() < 400, "{error}");
}

#[tokio::test]
async fn a_slow_drip_ends_at_the_deadline() {
    let drip = futures_util::stream::unfold((), |()| async {
        tokio::time::sleep(Duration::from_millis(5)).await;
        Some((Ok::<_, Infallible>(Bytes::from_static(b": drip\n\n")), ()))
    });
    let (client, _server) =
        scripted([reply(200, "text/event-stream", Body::from_stream(drip))]).await;
    let outcome =
        soon(client.request("m", None, RequestOptions::within(Duration::from_millis(60)))).await;
    assert!(matches!(outcome, Err(ClientError::Timeout { .. })), "{outcome:?}");
}

#[tokio::test]
async fn an_event_stream_may_carry_batches_and_other_events() {
    let (client, _server) = scripted([events(
        "event: ping\ndata: {}\n\ndata: [{\"method\":\"notifications/x\"},{\"id\":1,\"result\":5}]\n\n",
    )])
    .await;
    assert_eq!(ask(&client, "m", None).await.unwrap().get(), "5");
}

#[tokio::test]
async fn no_one_listening_is_said_plainly() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let client = connect(address, Recorder::new());
    let outcome = ask(&client, "m", None).await;
    assert!(matches!(outcome, Err(ClientError::Unreachable { sent: false, .. })), "{outcome:?}");
}
