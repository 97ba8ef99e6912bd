//! More sessions than anyone needs: bounded, oldest first, and always room for one more.

use capdeck_test::{FakePlan, HttpClient};
use serde_json::json;

use crate::{
    served::{Setting, until},
    slow_clients::gauge,
};

const SESSIONS: usize = 10_000;
const MOST: f64 = 1024.0;

/// Opens a session on a kept connection and walks away from it.
fn open(client: &mut HttpClient) -> String {
    client.session = None;
    let hello = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"crowd","version":"0"}}}"#;
    let reply = client.post(hello);
    assert_eq!(reply.status, 200, "{reply:?}");
    reply.header("mcp-session-id").unwrap().to_owned()
}

fn ping(client: &mut HttpClient, session: &str) -> u16 {
    client.session = Some(session.to_owned());
    client.post(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#).status
}

#[test]
fn ten_thousand_idle_sessions_cost_what_a_thousand_do() {
    let served = Setting::of(&FakePlan::default()).serve();
    let mut kept = served.deck_client();
    let mut client = served.client("/mcp");
    let first = open(&mut client);
    // What is used stays, however many come.
    for number in 0..2000 {
        open(&mut client);
        if number % 500 == 0 {
            kept.request("tools/list", json!({}));
        }
    }
    let full = resident_kilobytes();
    let mut last = String::new();
    for number in 0..SESSIONS - 2000 {
        last = open(&mut client);
        if number % 500 == 0 {
            kept.request("ping", json!({}));
        }
    }
    until("the ended sessions to be gone", || {
        (gauge(&served, "capdeck_sessions") <= MOST).then_some(())
    });
    let grown = resident_kilobytes().saturating_sub(full);
    assert!(grown < 8 * 1024, "8,000 more sessions took {grown} kB");
    assert_eq!(ping(&mut client, &first), 404, "the idlest make room");
    assert_eq!(ping(&mut client, &last), 200, "the newest is in");
    assert!(kept.request("tools/list", json!({}))["result"]["tools"].is_array());
}

#[test]
fn a_session_id_is_good_for_its_endpoint_only() {
    let served = Setting::of(&FakePlan::default()).serve();
    let deck = served.deck_client().session.clone().unwrap();
    let mut one = served.client("/servers/fake/mcp");
    one.initialize();
    let transparent = one.session.clone().unwrap();
    assert_eq!(ping(&mut served.client("/servers/fake/mcp"), &deck), 404);
    assert_eq!(ping(&mut served.client("/mcp"), &transparent), 404);
    for forged in ["", " ", "0", &deck.to_lowercase(), &format!("{deck}A"), "../mcp"] {
        let status = ping(&mut served.client("/mcp"), forged);
        assert!(matches!(status, 400 | 404), "`{forged}`: {status}");
    }
    assert_eq!(ping(&mut served.client("/mcp"), &deck), 200, "none of it harmed the session");
}

fn resident_kilobytes() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}
