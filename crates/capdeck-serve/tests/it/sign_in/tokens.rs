//! Tokens as bearers: for one place, one session, and never passed on.

use capdeck_definition::Exposure;
use capdeck_host::{
    CapsuleAuthor, CapsuleCaller, CapsuleInfo, CapsuleServiceExt as _, CreateCapsuleRequest,
};
use capdeck_test::FakePlan;
use serde_json::json;

use super::browser::{Browser, client_with, hello};
use crate::served::{Served, Setting};

const ALL: [(&str, &str); 2] = [("scope", "deck:call"), ("deck", "all")];

fn served() -> Served {
    Setting::of(&FakePlan::default())
        .server("other", &FakePlan::default())
        .exposure(Exposure::Direct)
        .registry()
        .serve()
}

#[test]
fn security_05_a_token_is_of_use_where_it_is_for_and_nowhere_else() {
    let served = served();
    let mut browser = Browser::new(&served);
    let deck = browser.sign_in("/mcp", "deck:call", &ALL);
    let server = browser.sign_in(
        "/servers/fake/mcp",
        "deck:call",
        &[("scope", "deck:call"), ("deck", "some"), ("capability", "fake")],
    );
    let mut status = |path: &str, token: &str| browser.mcp(path, token, &hello()).status;
    assert_eq!(status("/mcp", &deck.access), 200);
    assert_eq!(status("/servers/fake/mcp", &deck.access), 401, "another audience");
    assert_eq!(status("/mcp/team", &deck.access), 401);
    assert_eq!(status("/servers/fake/mcp", &server.access), 200);
    assert_eq!(status("/servers/other/mcp", &server.access), 401);
    assert_eq!(status("/mcp", &server.access), 401);
    // Refresh tokens, codes and cookies are no bearers.
    assert_eq!(status("/mcp", &deck.refresh), 401);
    for path in ["/metrics", "/ready", "/attach/manifest"] {
        let bearer = format!("Bearer {}", deck.access);
        let reply = browser.send("GET", path, &[("Authorization", &bearer)], "");
        assert_eq!(reply.status, 403, "{path}");
    }
}

#[test]
fn security_14_a_session_belongs_to_its_token() {
    let served = served();
    let mut browser = Browser::new(&served);
    let ada = browser.sign_in("/mcp", "deck:call", &ALL);
    let eve = browser.sign_in("/mcp", "deck:call", &ALL);
    let mut client = client_with(&served, "/mcp", &ada.access);
    let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    assert_eq!(client.post(list).status, 200);
    client.headers = vec![("Authorization".to_owned(), format!("Bearer {}", eve.access))];
    assert_eq!(client.post(list).status, 404, "another token");
    client.headers.clear();
    assert_eq!(client.post(list).status, 404, "the owner is somebody else, too");
}

#[test]
fn security_05_no_server_sees_the_token() {
    let setting = Setting::new();
    let record = setting.record();
    let plan = FakePlan { record: Some(record.clone()), ..FakePlan::default() };
    let served = setting.server("fake", &plan).exposure(Exposure::Direct).registry().serve();
    let mut browser = Browser::new(&served);
    let tokens = browser.sign_in("/mcp", "deck:call", &ALL);
    let mut client = client_with(&served, "/mcp", &tokens.access);
    let answer =
        client.request("tools/call", json!({"name": "fake__echo", "arguments": {"text": "hi"}}));
    assert!(answer["result"].is_object(), "{answer}");
    let seen = std::fs::read_to_string(record).unwrap();
    assert!(seen.contains("tools/call"), "{seen}");
    assert!(!seen.contains(&tokens.access) && !seen.contains("cap_at_"), "{seen}");
}

#[test]
fn item_14_a_capsule_is_granted_with_a_role_and_prefixes() {
    let served = served();
    let capsule = |name: &str| -> CapsuleInfo {
        let create =
            CreateCapsuleRequest { name: name.to_owned(), description: None, visibility: None };
        let caller = CapsuleCaller::local(CapsuleAuthor::client("owner"));
        served.wait(served.host.capsules().unwrap().ask(caller.request(None, create))).unwrap()
    };
    let team = capsule("team").id;
    let other = capsule("other").id;
    let mut browser = Browser::new(&served);
    let (role, prefixes) = (format!("role.{team}"), format!("prefixes.{team}"));
    let choices = [
        ("scope", "capsule:write"),
        ("capsule", team.as_str()),
        (role.as_str(), "writer"),
        (prefixes.as_str(), "docs://team"),
    ];
    let tokens = browser.sign_in(&format!("/mcp/{team}"), "capsule:write", &choices);
    let mut client = client_with(&served, &format!("/mcp/{team}"), &tokens.access);
    let mut write = |uri: &str| {
        let arguments = json!({"uri": uri, "content": "hello", "mode": "create"});
        client.request("tools/call", json!({"name": "capsol_write", "arguments": arguments}))
    };
    let inside = write("docs://team/a");
    assert_ne!(inside["result"]["isError"], true, "{inside}");
    let outside = write("docs://private/a");
    assert_eq!(outside["result"]["isError"], true, "{outside}");
    let status = browser.mcp(&format!("/mcp/{other}"), &tokens.access, &hello()).status;
    assert_eq!(status, 401, "a token for one capsule is none for another");
}

#[test]
fn security_07_a_write_beyond_the_scopes_is_refused_with_a_reason() {
    let served = served();
    let create =
        CreateCapsuleRequest { name: "team".to_owned(), description: None, visibility: None };
    let caller = CapsuleCaller::local(CapsuleAuthor::client("owner"));
    let made = served.wait(served.host.capsules().unwrap().ask(caller.request(None, create)));
    let id = made.unwrap().id;
    let mut browser = Browser::new(&served);
    let path = format!("/mcp/{id}");
    let choices = [("scope", "capsule:read"), ("capsule", id.as_str())];
    let tokens = browser.sign_in(&path, "capsule:read", &choices);
    for (mode, needed) in [("create", "capsule:append"), ("replace", "capsule:write")] {
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
            "name": "capsol_write", "arguments": {"uri": "docs://a", "content": "x", "mode": mode}}});
        let refused = browser.mcp(&path, &tokens.access, &call);
        assert_eq!(refused.status, 403, "{refused:?}");
        let challenge = refused.header("www-authenticate").unwrap();
        assert!(challenge.contains(&format!("scope=\"{needed}\"")), "{challenge}");
    }
}
