//! Ids are names, not keys: what one client was given is of no use to another, and no one else's messages are replayed.

use serde_json::{Value, json};

use super::stage::{client, setting};
use crate::{
    event_stream::EventStream,
    served::Served,
    sign_in::browser::{Browser, client_with},
};

/// A request in a person's session, under a token; what came back.
fn ask(
    served: &Served,
    method: &str,
    token: Option<&str>,
    session: &str,
    more: &[(&str, &str)],
) -> (u16, String) {
    let bearer = token.map(|token| format!("Bearer {token}"));
    let mut headers = vec![("Content-Type", "application/json"), ("Mcp-Session-Id", session)];
    headers.extend(bearer.as_deref().map(|bearer| ("Authorization", bearer)));
    headers.extend_from_slice(more);
    let body = match method {
        "POST" => r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#,
        _ => "",
    };
    let reply = Browser::new(served).send(method, "/mcp", &headers, body);
    (reply.status, reply.body)
}

#[test]
fn security_14_a_session_id_opens_nothing_by_itself_nor_with_another_token() {
    let served = setting().serve();
    let (ada, eve) = (client(&served, "/mcp", "deck:call"), client(&served, "/mcp", "deck:call"));
    let session = client_with(&served, "/mcp", &ada.access).session.unwrap();
    for method in ["POST", "GET", "DELETE"] {
        assert_eq!(ask(&served, method, None, &session, &[]).0, 401, "{method}");
        let foreign = ask(&served, method, Some(&eve.access), &session, &[]);
        let unknown = ask(&served, method, Some(&eve.access), "made-up", &[]);
        assert_eq!(foreign.0, 404, "{method}");
        assert_eq!(foreign, unknown, "{method}: somebody else's looks like none");
    }
    assert_eq!(ask(&served, "POST", Some(&ada.access), &session, &[]).0, 200, "it goes on");
}

#[test]
fn security_14_a_session_ends_with_its_token() {
    let served = setting().serve();
    let ada = client(&served, "/mcp", "deck:call");
    let session = client_with(&served, "/mcp", &ada.access).session.unwrap();
    let key = format!("Bearer {}", super::stage::KEY);
    let mut owner = Browser::new(&served);
    let listed = owner.send("GET", "/v1/grants", &[("Authorization", &key)], "");
    let grants: Value = serde_json::from_str(&listed.body).unwrap();
    let request = grants["items"][0]["id"].as_str().unwrap();
    let headers = [("Authorization", key.as_str()), ("Content-Type", "application/json")];
    let revoked = owner.send("POST", &format!("/v1/grants/{request}/revoke"), &headers, "{}");
    assert_eq!(revoked.status, 200, "{revoked:?}");
    let (status, body) = ask(&served, "POST", Some(&ada.access), &session, &[]);
    let tools = serde_json::from_str::<Value>(&body).unwrap_or_default();
    let is_empty = tools["result"]["tools"].as_array().is_some_and(|all| {
        !all.iter().any(|tool| tool["name"].as_str().unwrap_or_default().starts_with("fake__"))
    });
    assert!(status == 401 || is_empty, "{status} {body}");
}

#[test]
fn security_15_events_are_replayed_to_no_one_but_the_one_they_were_for() {
    let served = setting().serve();
    let (ada, eve) = (client(&served, "/mcp", "deck:call"), client(&served, "/mcp", "deck:call"));
    let mut client = client_with(&served, "/mcp", &ada.access);
    let session = client.session.clone().unwrap();
    // A stream with events that can be taken up again.
    let call = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {
        "name": "fake__progress", "arguments": {"steps": 3},
        "_meta": {"progressToken": "canary"}}});
    let streamed = client.post(&call.to_string());
    assert!(streamed.body.contains("canary"), "{streamed:?}");
    let last = streamed.body.lines().find_map(|line| line.strip_prefix("id: ")).unwrap();
    let resume = [("Accept", "text/event-stream"), ("Last-Event-ID", last)];
    for token in [None, Some(eve.access.as_str())] {
        let (status, body) = ask(&served, "GET", token, &session, &resume);
        assert_eq!(status, if token.is_some() { 404 } else { 401 }, "{body}");
        assert!(!body.contains("canary"), "{body}");
    }
    // Under a session of her own the same number means her own stream, which has nothing of it.
    let own = client_with(&served, "/mcp", &eve.access).session.unwrap();
    let (status, body) = ask(&served, "GET", Some(&eve.access), &own, &resume);
    assert_eq!(status, 400, "{body}");
    assert!(!body.contains("canary"), "{body}");
    let headers = [
        ("Authorization", format!("Bearer {}", ada.access)),
        ("Mcp-Session-Id", session),
        ("Last-Event-ID", last.to_owned()),
    ];
    let mut resumed = EventStream::get_with(served.authority(), "/mcp", &headers);
    assert!(resumed.next().to_string().contains("canary"), "the owner gets it");
}
