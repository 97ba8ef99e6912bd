//! Servers reached over HTTP, and HTTP actions.

use capdeck_test::FakePlan;
use serde_json::{Value, json};

use crate::deck::{Deck, call, text};

fn remote(url: &str, more: Value) -> Value {
    let mut entry = json!({"name": "Remote", "description": "A server over HTTP", "url": url});
    entry.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    entry
}

#[tokio::test]
async fn both_http_transports_call_tools_and_report_statuses() {
    let good = FakePlan::default().start_http();
    let broken = FakePlan { http_call_status: Some(503), ..FakePlan::default() }.start_http();
    let locked = FakePlan {
        http_required_header: Some(("authorization".to_owned(), "Bearer open".to_owned())),
        ..FakePlan::default()
    }
    .start_http();
    let deck = Deck::new()
        .entry("mcpServers", "http", remote(&good.url, json!({})))
        .entry("mcpServers", "sse", remote(&good.sse_url, json!({"transport": "sse"})))
        .entry("mcpServers", "broken", remote(&broken.url, json!({})))
        .entry("mcpServers", "locked", remote(&locked.url, json!({})))
        .entry(
            "mcpServers",
            "opened",
            remote(&locked.url, json!({"auth": {"type": "bearer", "token": "${KEY}"}})),
        )
        .entry("mcpServers", "nobody", remote("http://127.0.0.1:9/mcp", json!({})))
        .variable("KEY", "open");
    let (host, session) = deck.operator();
    for id in ["http", "sse", "opened"] {
        let answer = call(&session, id, "echo", json!({"a": 1})).await.unwrap();
        assert_eq!(text(&answer), r#"{"a":1}"#, "{id}");
    }
    for (id, code, words) in [
        ("broken", "SERVER_UNAVAILABLE", "`broken` answered with HTTP status 503"),
        ("locked", "AUTH_REQUIRED", "`locked` asks for a sign-in (HTTP status 401)"),
        ("nobody", "SERVER_UNAVAILABLE", "`nobody` cannot be reached"),
    ] {
        let error = call(&session, id, "echo", json!({})).await.unwrap_err();
        assert_eq!(error.code.as_str(), code, "{error}");
        assert!(error.message.starts_with(words), "{error}");
        assert!(error.hint.is_some(), "{error}");
    }
    host.close().await;
}

#[tokio::test]
async fn a_forgotten_session_is_opened_again() {
    let fake = FakePlan { http_forget_session_after: Some(6), ..FakePlan::default() }.start_http();
    let deck = Deck::new().entry("mcpServers", "http", remote(&fake.url, json!({})));
    let (host, session) = deck.operator();
    for round in 0..12 {
        let answer = call(&session, "http", "echo", json!({"round": round})).await.unwrap();
        assert_eq!(text(&answer), format!(r#"{{"round":{round}}}"#));
    }
    host.close().await;
}

#[tokio::test]
async fn http_actions_answer_with_status_and_body() {
    // The fake server answers anything but its endpoints with 404 and an empty body.
    let fake = FakePlan::default().start_http();
    let base = fake.url.strip_suffix("/mcp").unwrap();
    let entry = json!({
        "name": "Api", "description": "An HTTP API of the test", "baseUrl": base,
        "auth": {"type": "none"},
        "actions": {
            "missing": {"method": "GET", "path": "/things/{id}",
                "inputSchema": {"type": "object", "required": ["id"],
                    "properties": {"id": {"type": "string"}}}},
            "call": {"method": "POST", "path": "/mcp", "jsonBody": "$input"},
        },
    });
    let deck = Deck::new().entry("httpApis", "api", entry);
    let (host, session) = deck.operator();
    let missing = call(&session, "api", "missing", json!({"id": "a/b"})).await.unwrap();
    assert_eq!(missing["isError"], true);
    assert_eq!(missing["structuredContent"]["status"], 404);
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    let answer = call(&session, "api", "call", message).await.unwrap();
    let facts = &answer["structuredContent"];
    assert_eq!((&facts["status"], &facts["kind"]), (&json!(200), &json!("inline")));
    assert_eq!(facts["body"], json!({"jsonrpc": "2.0", "id": 1, "result": {}}));
    let error = call(&session, "api", "missing", json!({})).await.unwrap_err();
    assert_eq!(error.code.as_str(), "REQUEST_INVALID");
    host.close().await;
}
