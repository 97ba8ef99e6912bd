//! Tokens: what they open, what they do not, and that they can be taken back.

use capdeck_host::Role;
use capdeck_test::{FakePlan, HttpClient};
use serde_json::{Value, json};

use super::stage::{Stage, Token, call, each, error, facts};
use crate::{event_stream::EventStream, modern_client::ModernClient, served::Setting};

const HELLO: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}"#;

fn hello(client: &mut HttpClient) -> (u16, String) {
    let reply = client.post(HELLO);
    (reply.status, reply.body)
}

#[test]
fn spec_26_14_a_token_opens_its_capsule_and_no_other_exists_for_it() {
    let stage = Stage::with(&["mine", "yours"]);
    let token = stage.share("mine", Role::Writer, &[], &[]);
    let mut guest = stage.guest("/mcp/mine", &token);
    assert_eq!(facts(&mut guest, "capsol_read", json!({}))["capsule"], "mine");
    let out_of_reach = hello(&mut stage.stranger("/mcp/yours", &token));
    let not_there = hello(&mut stage.stranger("/mcp/sruoy", &token));
    assert_eq!(out_of_reach.0, 404);
    assert_eq!(out_of_reach.1.replace("yours", "X"), not_there.1.replace("sruoy", "X"));
    for path in ["/mcp/mine", "/mcp"] {
        let mut guest = stage.guest(path, &token);
        let mut ask = |capsule: &str| {
            let error = error(&mut guest, "capsol_read", json!({"capsule": capsule}));
            error.to_string().replace(capsule, "X")
        };
        assert_eq!(ask("yours"), ask("sruoy"), "{path}");
        assert!(ask("yours").contains("not_found"), "{path}");
    }
}

#[test]
fn on_the_decks_own_endpoint_a_token_opens_nothing_of_the_deck() {
    let setting = Setting::of(&FakePlan::default());
    let stage = Stage::of(setting, &["mine", "yours"]);
    let token = stage.share("mine", Role::Reader, &[], &[]);
    stage.write("mine", "docs://a", "x");
    let mut guest = stage.guest("/mcp", &token);
    let tools = guest.request("tools/list", json!({}))["result"]["tools"].clone();
    assert_eq!(
        each(&tools, "name"),
        ["capsol_read", "capsol_write", "capsol_signal", "capsol_capsules", "capsol_memory"]
    );
    for tool in ["search", "call_tool", "describe", "fake__echo"] {
        let answer = guest.request("tools/call", json!({"name": tool, "arguments": {}}));
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
    }
    let listed = facts(&mut guest, "capsol_capsules", json!({"action": "list"}));
    assert_eq!(each(&listed["capsules"], "id"), ["mine"]);
    assert_eq!(listed["capsules"][0]["role"], "reader");
    let resources = guest.request("resources/list", json!({}))["result"]["resources"].clone();
    assert_eq!(each(&resources, "uri"), ["docs://a"]);
    for path in ["/servers/fake/mcp", "/views/x/mcp", "/metrics", "/ready", "/mcp/server-card"] {
        let method = if path.ends_with("mcp") { "POST" } else { "GET" };
        let headers = [("Content-Type", "application/json")];
        let reply = stage.stranger(path, &token).send(method, path, &headers, HELLO.as_bytes());
        assert_eq!(reply.status, 403, "{path}: {reply:?}");
    }
}

#[test]
fn spec_26_13_a_share_that_was_taken_back_fails_on_the_next_call() {
    let stage = Stage::with(&["mine"]);
    let token = stage.share("mine", Role::Writer, &[], &[]);
    let mut guest = stage.guest("/mcp/mine", &token);
    facts(&mut guest, "capsol_write", json!({"uri": "docs://a", "content": "x"}));
    stage.revoke(&token);
    let read = json!({"jsonrpc": "2.0", "id": 9, "method": "tools/call",
        "params": {"name": "capsol_read", "arguments": {"uri": "docs://a"}}});
    let reply = guest.post(&read.to_string());
    assert_eq!(reply.status, 401, "{reply:?}");
    assert!(reply.header("www-authenticate").is_some());
}

#[test]
fn streams_end_with_the_share() {
    let stage = Stage::with(&["mine", "yours"]);
    let other = stage.share("mine", Role::Reader, &[], &[]);
    for path in ["/mcp/mine", "/mcp"] {
        let open = |token: &Token| {
            let mut guest = stage.guest(path, token);
            guest.request("resources/list", json!({}));
            let headers = [
                ("Authorization", format!("Bearer {}", token.secret)),
                ("Mcp-Session-Id", guest.session.clone().unwrap()),
                ("MCP-Protocol-Version", "2025-11-25".to_owned()),
            ];
            EventStream::get_with(stage.served.authority(), path, &headers)
        };
        let token = stage.share("mine", Role::Reader, &[], &[]);
        let (mut stream, mut kept) = (open(&token), open(&other));
        let mut modern =
            ModernClient::new(&stage.served, path, json!({})).with_token(&token.secret);
        let mut listening = modern.listen(json!({"resourcesListChanged": true}));
        listening.next();
        stage.revoke(&token);
        stream.ended();
        listening.ended();
        // The stream of another share goes on.
        stage.write("mine", &format!("docs://{}", path.len()), "x");
        kept.next();
    }
}

#[test]
fn a_wrong_token_is_refused_with_and_without_a_key() {
    let open = Stage::with(&["mine"]);
    let keyed = Stage::of(Setting::new().key("open-sesame-and-more"), &["mine"]);
    for stage in [&open, &keyed] {
        let mut token = stage.share("mine", Role::Reader, &[], &[]);
        assert_eq!(hello(&mut stage.stranger("/mcp/mine", &token)).0, 200);
        token.secret.push('x');
        for path in ["/mcp/mine", "/mcp", "/metrics"] {
            assert_eq!(hello(&mut stage.stranger(path, &token)).0, 401, "{path}");
        }
    }
    assert_eq!(hello(&mut open.served.client("/mcp/mine")).0, 200, "the owner needs no token");
    assert_eq!(hello(&mut keyed.served.client("/mcp/mine")).0, 401);
    let mut owner = keyed.served.client("/mcp/mine");
    owner.headers.push(("Authorization".to_owned(), "Bearer open-sesame-and-more".to_owned()));
    assert_eq!(hello(&mut owner).0, 200);
}

#[test]
fn spec_26_17_a_token_in_an_address_is_gone() {
    let stage = Stage::with(&["mine"]);
    let token = stage.share("mine", Role::Reader, &[], &[]);
    for path in ["/mcp/mine", "/mcp", "/health", "/no/such/path"] {
        let path = format!("{path}?token={}", token.secret);
        let reply = stage.served.client(&path).send("POST", &path, &[], HELLO.as_bytes());
        assert_eq!(reply.status, 410, "{path}");
        assert!(!reply.body.contains(&token.secret), "{reply:?}");
    }
}

#[test]
fn a_session_belongs_to_one_share() {
    let stage = Stage::with(&["mine"]);
    let (one, other) =
        (stage.share("mine", Role::Writer, &[], &[]), stage.share("mine", Role::Reader, &[], &[]));
    for path in ["/mcp/mine", "/mcp"] {
        let ada = stage.guest(path, &one);
        let mut eve = stage.stranger(path, &other);
        eve.session.clone_from(&ada.session);
        let reply = eve.post(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#);
        assert_eq!(reply.status, 404, "{path}: {reply:?}");
    }
}

#[test]
fn memory_belongs_to_the_share_and_authorship_to_the_connection() {
    let stage = Stage::with(&["mine"]);
    let (one, other) =
        (stage.share("mine", Role::Writer, &[], &[]), stage.share("mine", Role::Writer, &[], &[]));
    let set = json!({"action": "set", "key": "plan", "value": "b"});
    let get = json!({"action": "get", "key": "plan"});
    facts(&mut stage.guest("/mcp/mine", &one), "capsol_memory", set);
    let again = facts(&mut stage.guest("/mcp", &one), "capsol_memory", get.clone());
    assert_eq!(again["value"], "b", "the same share, another session");
    for client in [&mut stage.guest("/mcp/mine", &other), &mut stage.client("/mcp/mine")] {
        assert_eq!(error(client, "capsol_memory", get.clone())["code"], "no_such_key");
    }
    let write = json!({"uri": "docs://a", "content": "x"});
    facts(&mut stage.guest("/mcp/mine", &one), "capsol_write", write);
    let read = facts(&mut stage.client("/mcp/mine"), "capsol_read", json!({"uri": "docs://a"}));
    let principal = one.share.replace("shr_", "prn_share_");
    assert_eq!(read["written_by"], format!("share guest ({principal})"));
    assert_eq!(read["client"], "capdeck-test@0");
    assert_eq!(read["written_by_principal"], principal);
}

#[test]
fn spec_26_7_roles_do_what_they_may() {
    let stage = Stage::with(&["mine"]);
    stage.write("mine", "docs://there", "x");
    let attempt = |role: Role, arguments: Value| {
        let token = stage.share("mine", role, &[], &[]);
        let result = call(&mut stage.guest("/mcp/mine", &token), "capsol_write", arguments);
        result["structuredContent"]["error"]["code"].as_str().map(str::to_owned)
    };
    let new = |name: &str| json!({"uri": format!("docs://{name}"), "content": "y"});
    assert_eq!(attempt(Role::Reader, new("a")).as_deref(), Some("forbidden_role"));
    assert_eq!(attempt(Role::Appender, new("b")), None);
    let replace = json!({"uri": "docs://there", "content": "z", "mode": "replace"});
    assert_eq!(attempt(Role::Appender, replace.clone()).as_deref(), Some("forbidden_role"));
    assert_eq!(attempt(Role::Appender, new("there")).as_deref(), Some("exists"));
    assert_eq!(attempt(Role::Writer, replace), None);
}
