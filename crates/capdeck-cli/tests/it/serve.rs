//! `capdeck serve`: MCP on stdio.

use std::process::Command;

use capdeck_test::{FakePlan, TestDirs};
use serde_json::{Value, json};

use crate::{capdeck, echo_file, run};

#[test]
fn the_deck_is_served_until_stdin_ends() {
    let dirs = TestDirs::new();
    let mut client = capdeck(&dirs).serve(&[]);
    client.initialize();
    let tools = client.request("tools/list", json!({}));
    let names: Vec<_> = tools["result"]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["search", "describe", "call_tool"]);
    let (status, stderr) = client.close();
    assert_eq!((status.code(), stderr.as_str()), (Some(0), ""));
}

#[test]
fn one_capability_is_served_as_it_is() {
    let dirs = TestDirs::new();
    dirs.write_config(&json!({"mcpServers": {"fake": FakePlan::default().deck_entry()}}));
    let mut client = capdeck(&dirs).serve(&["--only", "fake"]);
    let answer = client.initialize();
    assert_eq!(answer["serverInfo"]["name"], "fake");
    let answer = client.request("tools/call", json!({"name": "echo", "arguments": {"a": 1}}));
    assert_eq!(answer["result"]["content"][0]["text"], r#"{"a":1}"#);
    client.close();
}

#[test]
fn an_exposure_can_be_forced() {
    let dirs = TestDirs::new();
    dirs.write("config/echo.md", echo_file("Echo"));
    for (mode, first) in [("direct", "echo__say"), ("progressive", "echo"), ("search", "search")] {
        let mut client = capdeck(&dirs).serve(&["--exposure", mode]);
        client.initialize();
        let tools = client.request("tools/list", json!({}));
        assert_eq!(tools["result"]["tools"][0]["name"], first, "{mode}");
        client.close();
    }
}

#[test]
fn what_cannot_be_served_fails_at_once() {
    let dirs = TestDirs::new();
    let unknown = run(&dirs, &["serve", "--only", "machin"]);
    assert_eq!(unknown.code, Some(1));
    assert!(unknown.stderr.contains("did you mean `machine`?"), "{}", unknown.stderr);
    dirs.write("project/.capdeck/echo.md", echo_file("Echo"));
    let untrusted = run(&dirs, &["serve", "--only", "echo"]);
    assert_eq!(untrusted.code, Some(1));
    assert!(untrusted.stderr.contains("capdeck trust"), "{}", untrusted.stderr);
    let shell_only = echo_file("Quiet").replacen("---\n", "---\nexposure: none\n", 1);
    dirs.write("config/quiet.md", shell_only);
    let refused = run(&dirs, &["serve", "--only", "quiet"]);
    assert_eq!(refused.code, Some(1));
    assert!(refused.stderr.contains("capdeck call quiet"), "{}", refused.stderr);
    assert_eq!(run(&dirs, &["serve", "--exposure", "telepathy"]).code, Some(2));
    assert_eq!(run(&dirs, &["serve", "--only", "machine", "--exposure", "direct"]).code, Some(2));
    assert_eq!(run(&dirs, &["serve", "--view", "x"]).code, Some(2));
}

#[test]
fn a_signal_ends_it_cleanly() {
    let dirs = TestDirs::new();
    let plan = FakePlan { ignore_sigterm: true, ignore_stdin_close: true, ..FakePlan::default() };
    dirs.write_config(&json!({"mcpServers": {"fake": plan.deck_entry()}}));
    for signal in ["-TERM", "-INT"] {
        let mut client = capdeck(&dirs).serve(&["--exposure", "direct"]);
        client.initialize();
        let answer = client.request("tools/call", json!({"name": "fake__environment"}));
        let text = answer["result"]["content"][0]["text"].as_str().unwrap();
        let server = serde_json::from_str::<Value>(text).unwrap()["pid"].as_u64().unwrap();
        let kill = Command::new("kill").args([signal, &client.id().to_string()]).status();
        assert!(kill.unwrap().success());
        let (status, _) = client.ended();
        assert_eq!(status.code(), Some(0), "{signal}");
        assert!(!std::path::Path::new(&format!("/proc/{server}")).exists(), "the server is gone");
    }
}
