//! A notification opens a session like a request does, for the one who sends it and no one else.

use serde_json::{Value, json};

use super::stage::{KEY, client, setting, share};
use crate::{served::Served, sign_in::browser::Browser};

const REVISION: &str = "2026-07-28";

/// Sends a message of the modern era; the answer's body.
fn send(served: &Served, token: &str, method: &str, id: Option<u64>) -> Value {
    let mut message = json!({"jsonrpc": "2.0", "method": method, "params": {"_meta": {
        "io.modelcontextprotocol/protocolVersion": REVISION,
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "sly", "version": "1"},
    }}});
    if let Some(id) = id {
        message["id"] = json!(id);
    }
    let bearer = format!("Bearer {token}");
    let headers = [
        ("Content-Type", "application/json"),
        ("Authorization", bearer.as_str()),
        ("MCP-Protocol-Version", REVISION),
        ("Mcp-Method", method),
    ];
    let reply = Browser::new(served).send("POST", "/mcp", &headers, &message.to_string());
    assert!(matches!(reply.status, 200 | 202), "{reply:?}");
    serde_json::from_str(&reply.body).unwrap_or_default()
}

fn tools(served: &Served, token: &str) -> Vec<String> {
    let list = send(served, token, "tools/list", Some(1));
    let tools = list["result"]["tools"].as_array().unwrap();
    tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn security_18_a_notification_first_gives_a_client_no_more_than_it_was_granted() {
    let served = setting().serve();
    let mut person = Browser::with_key(&served, KEY);
    let choices = [("scope", "deck:call"), ("deck", "some"), ("capability", "other")];
    let tokens = person.sign_in("/mcp", "deck:call", &choices);
    send(&served, &tokens.access, "notifications/made_up", None);
    let tools = tools(&served, &tokens.access);
    assert!(tools.contains(&"other__echo".to_owned()), "{tools:?}");
    assert!(!tools.iter().any(|name| name.starts_with("fake__")), "{tools:?}");
}

#[test]
fn security_18_a_notification_first_opens_nothing_of_the_deck_to_a_share() {
    let served = setting().serve();
    let token = share(&served);
    send(&served, &token, "notifications/made_up", None);
    let tools = tools(&served, &token);
    assert!(tools.iter().all(|name| name.starts_with("capsol_")), "{tools:?}");
}

#[test]
fn security_14_what_one_client_began_is_not_another_s() {
    let served = setting().serve();
    let (ada, eve) = (client(&served, "/mcp", "deck:call"), share(&served));
    // Both say the same about themselves.
    assert!(tools(&served, &ada.access).contains(&"fake__echo".to_owned()));
    assert!(tools(&served, &eve).iter().all(|name| name.starts_with("capsol_")));
}
