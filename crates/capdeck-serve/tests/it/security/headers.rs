//! What a message is, is said by its body; headers that say otherwise are refused and never believed.

use serde_json::{Value, json};

use super::stage::{client, setting};
use crate::{served::Served, sign_in::browser::Browser};

const MODERN: &str = "2026-07-28";

fn call() -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "fake__echo", "arguments": {"text": "hi"}, "_meta": {
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
    }}})
}

fn send(served: &Served, token: &str, headers: &[(&str, &str)], body: &Value) -> (u16, Value) {
    let bearer = format!("Bearer {token}");
    let mut all = vec![("Content-Type", "application/json"), ("Authorization", bearer.as_str())];
    all.extend_from_slice(headers);
    let reply = Browser::new(served).send("POST", "/mcp", &all, &body.to_string());
    (reply.status, reply.messages().pop().unwrap_or_default())
}

#[test]
fn security_13_headers_that_say_something_else_than_the_body_are_refused() {
    let served = setting().serve();
    let token = client(&served, "/mcp", "deck:call").access;
    let version = ("MCP-Protocol-Version", MODERN);
    let (method, name) = (("Mcp-Method", "tools/call"), ("Mcp-Name", "fake__echo"));
    for wrong in [
        vec![version, ("Mcp-Method", "tools/list"), name],
        vec![version, method, ("Mcp-Name", "other__echo")],
        vec![("MCP-Protocol-Version", "2025-11-25"), method, name],
        // Twice, even with the same text.
        vec![version, version, method, name],
        vec![version, method, method, name],
        vec![version, method, name, name],
        vec![version, method, name, ("Mcp-Name", "other__echo")],
        vec![version, name],
        vec![version, method],
    ] {
        let (status, answer) = send(&served, &token, &wrong, &call());
        assert_eq!(
            (status, &answer["error"]["code"]),
            (400, &json!(-32020)),
            "{wrong:?}: {answer}"
        );
    }
    let (status, answer) = send(&served, &token, &[version, method, name], &call());
    assert_eq!(status, 200, "{answer}");
    assert!(answer["result"].is_object(), "{answer}");
}

#[test]
fn security_13_what_a_token_may_do_is_decided_by_the_body() {
    let served = setting().serve();
    let looking = client(&served, "/mcp", "deck:read").access;
    let mut legacy = call();
    legacy["params"].as_object_mut().unwrap().remove("_meta");
    for body in [call(), legacy] {
        for lie in [
            vec![("Mcp-Method", "tools/list")],
            vec![("Mcp-Method", "tools/list"), ("Mcp-Name", "search")],
            vec![("MCP-Protocol-Version", "2025-11-25"), ("Mcp-Method", "ping")],
            vec![("MCP-Protocol-Version", MODERN), ("Mcp-Method", "tools/list")],
        ] {
            let (status, answer) = send(&served, &looking, &lie, &body);
            assert_eq!(status, 403, "{lie:?}: {answer}");
        }
    }
}
