//! The end: sessions, streams and child processes go when the host goes.

use capdeck_definition::Exposure;
use capdeck_test::FakePlan;
use serde_json::{Value, json};

use crate::{event_stream::EventStream, served::Setting};

fn is_alive(pid: u64) -> bool {
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else { return false };
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
}

fn pid(answer: &Value) -> u64 {
    let text = answer["result"]["content"][0]["text"].as_str().unwrap();
    let seen: Value = serde_json::from_str(text).unwrap();
    seen["pid"].as_u64().or_else(|| seen.as_u64()).unwrap()
}

#[test]
fn stopping_ends_every_child_also_with_streams_and_calls_open() {
    let mut served = Setting::of(&FakePlan::default()).exposure(Exposure::Direct).serve();
    let mut deck = served.deck_client();
    let mut alone = served.client("/servers/fake/mcp");
    alone.initialize();
    let call = |name: &str| json!({"name": name, "arguments": {}});
    let children = [
        pid(&deck.request("tools/call", call("fake__environment"))),
        pid(&deck.request("tools/call", call("fake__grandchild"))),
        pid(&alone.request("tools/call", call("environment"))),
    ];
    assert!(children.iter().all(|child| is_alive(*child)));
    let session = deck.session.clone().unwrap();
    let _listening = EventStream::listen(served.authority(), "/mcp", &session);
    let hang =
        json!({"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": call("fake__hang")});
    let _hanging = EventStream::post(served.authority(), "/mcp", &session, &hang);
    served.stop();
    for child in children {
        assert!(!is_alive(child), "process {child} is still there");
    }
}

#[test]
fn servers_that_do_not_want_to_end_are_waited_for_together() {
    let plan = FakePlan { ignore_sigterm: true, ignore_stdin_close: true, ..FakePlan::default() };
    let mut served = Setting::of(&plan).serve();
    // Each is waited for more than two seconds before it is killed. One after the other they take longer than
    // `Served::stop` allows.
    let children: Vec<u64> = (0..40)
        .map(|_| {
            let mut client = served.client("/servers/fake/mcp");
            client.initialize();
            let call = json!({"name": "environment", "arguments": {}});
            pid(&client.request("tools/call", call))
        })
        .collect();
    served.stop();
    assert!(children.iter().all(|child| !is_alive(*child)));
}

#[test]
fn a_deleted_session_ends_its_own_server() {
    let served = Setting::of(&FakePlan::default()).serve();
    let mut client = served.client("/servers/fake/mcp");
    client.initialize();
    let child = pid(&client.request("tools/call", json!({"name": "environment", "arguments": {}})));
    assert_eq!(client.send("DELETE", "/servers/fake/mcp", &[], b"").status, 204);
    crate::served::until("the end of the server", || (!is_alive(child)).then_some(()));
}
