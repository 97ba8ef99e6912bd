//! MCP servers reached over HTTP, by both transports.

use std::time::Duration;

use capdeck_backend::ErrorCode;
use capdeck_test::FakePlan;
use serde_json::{Value, json};

use crate::{
    mcp::{PLENTY, answer, connect_heard, object},
    people::Person,
    support::{Deck, call, context},
};

fn remote(transport: Option<&str>, url: &str) -> Value {
    let mut backend = json!({"kind": "mcp", "url": url, "startupTimeoutMs": 20_000});
    if let Some(transport) = transport {
        backend["transport"] = json!(transport);
    }
    backend
}

#[tokio::test]
async fn both_transports_discover_call_ask_and_report() {
    let fake = FakePlan { tools: 5, page_size: Some(4), ..FakePlan::default() }.start_http();
    for backend in [
        remote(Some("http"), &fake.url),
        remote(Some("sse"), &fake.sse_url),
        remote(None, &fake.url),
    ] {
        let (listener, caller) = (Person::new(), Person::new());
        let deck = Deck::new(&[]);
        let connection = connect_heard(&deck, backend.clone(), &listener).await;
        let found = connection.discover(&context(PLENTY)).await.unwrap();
        assert!(found.tools.iter().any(|tool| tool.name() == "tool_00004"), "{backend}");
        let result = call(&connection, "echo", json!({"n": 1}), &context(PLENTY)).await.unwrap();
        assert_eq!(answer(&result), json!({"n": 1}));
        call(&connection, "progress", json!({"steps": 2}), &caller.calls(PLENTY)).await.unwrap();
        call(&connection, "ask_elicitation", json!({}), &caller.calls(PLENTY)).await.unwrap();
        let heard = caller.rest().await;
        assert_eq!((heard.len(), heard[2].as_str()), (3, "elicitation/create"), "{heard:?}");
        call(&connection, "change_tools", json!({"name": "fresh"}), &context(PLENTY))
            .await
            .unwrap();
        assert_eq!(listener.next().await, "notifications/tools/list_changed");
        connection.close().await;
    }
}

#[tokio::test]
async fn an_undeclared_transport_falls_back_to_the_older_one() {
    let fake = FakePlan::default().start_http();
    let result = Deck::new(&[]).call(remote(None, &fake.sse_url), "echo", json!({})).await;
    assert_eq!(answer(&result.unwrap()), json!({}));
    let error = Deck::new(&[]).connect(remote(Some("http"), &fake.sse_url)).await.unwrap_err();
    assert!(error.message.starts_with("`thing` answered with HTTP status 4"), "{error}");
}

/// Entries of other clients hold `Authorization` beside other headers, with any scheme.
#[tokio::test]
async fn a_whole_authorization_header_is_sent_and_kept_secret() {
    let header = ("authorization".to_owned(), "Basic canary-1234".to_owned());
    let fake = FakePlan { http_required_header: Some(header), ..FakePlan::default() }.start_http();
    let mut backend = remote(Some("http"), &fake.url);
    let headers = json!({"Authorization": "Basic canary-1234", "X-Toolsets": "repos"});
    backend["auth"] = json!({"type": "headers", "headers": headers});
    let connection = Deck::new(&[]).connect(backend).await.unwrap();
    let sent = call(&connection, "headers", json!({}), &context(PLENTY)).await.unwrap();
    assert_eq!(answer(&sent)["x-toolsets"], "repos");
    let reported =
        call(&connection, "echo", json!({"t": "canary-1234"}), &context(PLENTY)).await.unwrap();
    assert!(!format!("{sent} {reported}").contains("canary"), "{sent} {reported}");
}

#[tokio::test]
async fn credentials_go_with_every_request() {
    let header = ("authorization".to_owned(), "Bearer canary-1234".to_owned());
    let fake = FakePlan { http_required_header: Some(header), ..FakePlan::default() }.start_http();
    let deck = Deck::new(&[("TOKEN", "canary-1234"), ("WRONG", "canary-5678")]);
    for (transport, url) in [("http", &fake.url), ("sse", &fake.sse_url)] {
        let mut backend = remote(Some(transport), url);
        let error = deck.connect(backend.clone()).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::AuthRequired, "{error}");
        assert!(error.hint.as_deref().unwrap().contains("`auth`"));
        backend["auth"] = json!({"type": "bearer", "token": "$env:WRONG"});
        let error = deck.connect(backend.clone()).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::AuthRequired);
        assert!(!format!("{error:?}").contains("canary"), "{error:?}");
        backend["auth"] = json!({"type": "bearer", "token": "$env:TOKEN"});
        deck.call(backend.clone(), "echo", json!({})).await.unwrap();
        backend["auth"] = json!({"type": "headers", "headers": {"X-Key": "k"}});
        assert_eq!(deck.connect(backend).await.unwrap_err().code, ErrorCode::AuthRequired);
    }
}

#[tokio::test]
async fn a_refusal_names_the_sign_in_where_there_can_be_one() {
    let fake = FakePlan { http_call_status: Some(401), ..FakePlan::default() }.start_http();
    for (auth, names_it) in [
        (Value::Null, true),
        (json!({"type": "oauth2"}), true),
        (json!({"type": "none"}), false),
        (json!({"type": "bearer", "token": "canary-token"}), false),
    ] {
        let mut backend = remote(None, &fake.url);
        if !auth.is_null() {
            backend["auth"] = auth.clone();
        }
        let error = Deck::new(&[]).call(backend, "echo", json!({})).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::AuthRequired);
        let hint = error.hint.unwrap();
        assert_eq!(hint.contains("capdeck auth login "), names_it, "{auth}: {hint}");
    }
}

#[tokio::test]
async fn a_forgotten_session_is_opened_again_without_a_failed_call() {
    let fake = FakePlan { http_forget_session_after: Some(6), ..FakePlan::default() }.start_http();
    let listener = Person::new();
    let deck = Deck::new(&[]);
    let connection = connect_heard(&deck, remote(Some("http"), &fake.url), &listener).await;
    let note = Some(object(r#"{"uri":"fake://note"}"#));
    connection.request("resources/subscribe", note, &context(PLENTY)).await.unwrap();
    for number in 0..20 {
        let result =
            call(&connection, "echo", json!({"n": number}), &context(PLENTY)).await.unwrap();
        assert_eq!(answer(&result), json!({"n": number}));
    }
    assert_eq!(listener.next().await, "notifications/tools/list_changed");
    let received = call(&connection, "received", json!({}), &context(PLENTY)).await.unwrap();
    let count = |method: &str| {
        let messages = answer(&received);
        let messages = messages.as_array().unwrap();
        messages.iter().filter(|message| message["method"] == method).count()
    };
    assert_eq!(count("resources/subscribe"), count("initialize"), "each session has it");
}

#[tokio::test]
async fn statuses_say_what_to_do() {
    for (status, code) in [
        (401, ErrorCode::AuthRequired),
        (403, ErrorCode::AuthFailed),
        (500, ErrorCode::ServerUnavailable),
        (429, ErrorCode::ServerUnavailable),
        (418, ErrorCode::DownstreamProtocolError),
    ] {
        let fake = FakePlan { http_call_status: Some(status), ..FakePlan::default() }.start_http();
        let error = Deck::new(&[])
            .call(remote(Some("http"), &fake.url), "echo", json!({}))
            .await
            .unwrap_err();
        assert_eq!(error.code, code, "{error}");
        assert!(error.message.contains(&format!("HTTP status {status}")), "{error}");
    }
}

#[tokio::test]
async fn redirects_are_refused() {
    let place = Some("http://127.0.0.1:9/elsewhere".to_owned());
    let fake = FakePlan { http_redirect: place, ..FakePlan::default() }.start_http();
    for (transport, url) in [("http", &fake.url), ("sse", &fake.sse_url)] {
        let error = Deck::new(&[]).connect(remote(Some(transport), url)).await.unwrap_err();
        assert!(error.message.contains("redirects are not followed"), "{error}");
    }
}

#[tokio::test]
async fn a_server_that_goes_away_fails_its_calls() {
    let fake = FakePlan::default().start_http();
    for (transport, url) in [("http", fake.url.clone()), ("sse", fake.sse_url.clone())] {
        let connection = Deck::new(&[]).connect(remote(Some(transport), &url)).await.unwrap();
        let error =
            call(&connection, "hang", json!({}), &context(Duration::from_millis(150))).await;
        assert_eq!(error.unwrap_err().code, ErrorCode::ToolCallTimeout);
        call(&connection, "echo", json!({}), &context(PLENTY)).await.unwrap();
    }
    let connection = Deck::new(&[]).connect(remote(None, &fake.url)).await.unwrap();
    drop(fake);
    let error = call(&connection, "echo", json!({}), &context(PLENTY)).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::ServerUnavailable);
}
