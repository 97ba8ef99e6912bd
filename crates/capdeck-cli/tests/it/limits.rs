//! What a host does when its terminal is closed, and when it may open few files.

use std::thread;

use capdeck_test::{CapdeckRun, FakePlan, RunningHost, TestDirs};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::capdeck;

fn deck() -> TestDirs {
    let dirs = TestDirs::new();
    let server = FakePlan::default().deck_entry();
    dirs.write_config(&json!({"mcpServers": {"fake": server, "other": server}}));
    dirs
}

/// `capdeck up`, started by a shell that does something first.
fn up_after(dirs: &TestDirs, first: &str) -> RunningHost {
    let script = format!("{first}; exec \"$@\"");
    CapdeckRun::at("/bin/sh", dirs)
        .args(["-c", &script, "sh", env!("CARGO_BIN_EXE_capdeck")])
        .up(&[])
}

#[test]
fn closing_the_terminal_ends_a_host_in_order() {
    for signal in [Signal::TERM, Signal::HUP] {
        let dirs = deck();
        let mut host = capdeck(&dirs).up(&[]);
        assert_eq!(host.stop_by(signal).code(), Some(0), "{signal:?}");
    }
}

#[test]
fn a_host_that_is_to_outlive_its_terminal_does() {
    let dirs = deck();
    let mut host = up_after(&dirs, "trap '' HUP");
    host.signal(Signal::HUP);
    assert_eq!(host.client("/health").send("GET", "/health", &[], b"").status, 200);
    assert_eq!(host.stop_by(Signal::TERM).code(), Some(0));
}

/// Opens a session with a process of its own, and makes a call that takes a moment.
fn use_own_process(host: &RunningHost, number: usize) -> Result<Value, String> {
    let mut client = host.client("/servers/fake/mcp");
    let hello = json!({
        "jsonrpc": "2.0", "id": 0, "method": "initialize",
        "params": {"protocolVersion": "2025-11-25", "capabilities": {"elicitation": {}},
            "clientInfo": {"name": format!("client-{number}"), "version": "1"}},
    });
    let reply = client.post(&hello.to_string());
    if reply.status != 200 {
        return Err(reply.body);
    }
    let answer = reply.messages().pop().unwrap_or_default();
    if answer["result"].is_null() {
        return Err(answer["error"].to_string());
    }
    client.session = reply.header("mcp-session-id").map(str::to_owned);
    let answer = client.request("tools/call", json!({"name": "wait", "arguments": {"ms": 100}}));
    if answer["error"].is_object() || answer["result"]["isError"] == true {
        return Err(answer.to_string());
    }
    Ok(answer["result"].clone())
}

#[test]
fn sixty_clients_where_few_files_may_be_open_take_turns() {
    let dirs = deck();
    let host = up_after(&dirs, "ulimit -n 128");
    let outcomes: Vec<_> = thread::scope(|scope| {
        let calls: Vec<_> = (0..60)
            .map(|number| {
                scope.spawn({
                    let host = &host;
                    move || use_own_process(host, number)
                })
            })
            .collect();
        calls.into_iter().map(|call| call.join().unwrap()).collect()
    });
    let served = outcomes.iter().filter(|outcome| outcome.is_ok()).count();
    assert!(served > 0, "{outcomes:?}");
    for refused in outcomes.iter().filter_map(|outcome| outcome.as_ref().err()) {
        let is_clear = ["none was free within", "too many connections"];
        assert!(is_clear.iter().any(|words| refused.contains(words)), "{refused}");
    }
    // Nothing else suffers: another server starts, and the host is well.
    let mut client = host.client("/servers/other/mcp");
    client.initialize();
    let answer = client.request("tools/call", json!({"name": "echo", "arguments": {"a": 1}}));
    assert_eq!(answer["result"]["content"][0]["text"], r#"{"a":1}"#, "{answer}");
    assert_eq!(client.send("GET", "/ready", &[], b"").status, 200);
}
