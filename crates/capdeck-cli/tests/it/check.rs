//! `capdeck check`.

use capdeck_test::{FakeLauncher, FakePlan, TestDirs, fake::FakeFault};
use serde_json::json;

use crate::{json, run, terminal::Terminal};

#[test]
fn every_capability_is_asked_and_one_failure_fails() {
    let dirs = TestDirs::new();
    let mut hanging = FakePlan { initialize: FakeFault::Hang, ..FakePlan::default() }.deck_entry();
    hanging["startupTimeoutMs"] = json!(300);
    dirs.write_config(&json!({"mcpServers": {
        "good": FakePlan::default().deck_entry(),
        "hanging": hanging,
        "dead": FakePlan { exit_at_start: Some(3), stderr_line: Some("no licence".into()), ..FakePlan::default() }.deck_entry(),
    }}));
    let finished = run(&dirs, &["check", "--json"]);
    assert_eq!(finished.code, Some(1));
    let report = finished.json();
    let states: Vec<_> = report["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| (item["id"].as_str().unwrap(), item["status"].as_str().unwrap()))
        .collect();
    assert_eq!(
        states,
        [("dead", "unavailable"), ("good", "available"), ("hanging", "unavailable")]
    );
    assert!(report["items"][1]["toolCount"].as_u64().unwrap() > 10);
    assert!(
        report["items"][0]["error"]["message"].as_str().unwrap().contains("no licence"),
        "{report}"
    );

    assert_eq!(json(&dirs, &["check", "good"])["items"][0]["status"], "available");
}

#[test]
fn an_unknown_id_is_unavailable() {
    let dirs = TestDirs::new();
    let finished = run(&dirs, &["check", "machne", "machine"]);
    assert_eq!(finished.code, Some(1));
    assert!(finished.stdout.contains("there is no capability `machne`"), "{}", finished.stdout);
    assert!(finished.stderr.contains("did you mean `machine`?"), "{}", finished.stderr);
}

#[test]
fn the_starter_deck_answers_offline() {
    let dirs = TestDirs::new();
    assert_eq!(run(&dirs, &["check"]).code, Some(0));
}

#[test]
fn the_time_of_a_start_is_the_one_asked_for_or_the_decks() {
    let dirs = TestDirs::new();
    let hanging = FakePlan { initialize: FakeFault::Hang, ..FakePlan::default() }.deck_entry();
    dirs.write_config(&json!({
        "options": {"startupTimeoutMs": 300},
        "mcpServers": {"hanging": hanging},
    }));
    for (flags, limit) in [(&[][..], "300 ms"), (&["--timeout", "1"], "1000 ms")] {
        let finished = run(&dirs, &[&["check", "hanging", "--json"], flags].concat());
        let message = finished.json()["items"][0]["error"]["message"].clone();
        let expected = format!("`hanging` did not finish its handshake within {limit}");
        assert_eq!(message, json!(expected));
    }
    assert_eq!(run(&dirs, &["check", "--timeout", "0"]).code, Some(2));
}

#[test]
fn a_launcher_has_time_to_install() {
    let dirs = TestDirs::new();
    let entry = |command: &str| json!({"name": "A", "description": "A server of this test", "command": command, "args": ["a"]});
    dirs.write_config(&json!({"mcpServers": {"one": entry("npx"), "two": entry("./serve")}}));
    let limit = |id: &str| json(&dirs, &["inspect", id])["backend"]["startupTimeoutMs"].clone();
    assert_eq!((limit("one"), limit("two")), (json!(90_000), json!(10_000)));
}

#[test]
fn a_terminal_shows_what_is_installed() {
    let code = "await caplets.fake.echo({ text: 'hi' })";
    for (words, expected) in [
        (&["check", "fake"][..], "available"),
        (&["sh", "fake", "echo", "--text", "hi"], "hi"),
        (&["run", "-e", code], "hi"),
    ] {
        let dirs = TestDirs::new();
        let launcher = FakeLauncher::starting(dirs.root());
        let entry = launcher.deck_entry(&FakePlan::default());
        dirs.write_config(&json!({"mcpServers": {"fake": entry}}));
        // A terminal of no known kind gets no line that changes.
        let kind = [("TERM", "xterm".to_owned())];
        let mut terminal = Terminal::start_with(&dirs, words, &kind);
        terminal.wait_for("installing @example/fake");
        launcher.open_gate();
        let (code, stdout) = terminal.end();
        assert_eq!(code, Some(0), "{words:?}");
        assert!(stdout.contains(expected), "{words:?}: {stdout}");
    }
}

#[test]
fn a_pipe_does_not_show_what_is_installed() {
    let dirs = TestDirs::new();
    let launcher = FakeLauncher::starting(dirs.root());
    dirs.write_config(&json!({"mcpServers": {"fake": launcher.deck_entry(&FakePlan::default())}}));
    let opening = std::thread::spawn(move || launcher.open_gate());
    let finished = run(&dirs, &["check", "fake"]).success();
    opening.join().unwrap();
    assert_eq!(finished.stderr, "");
}
