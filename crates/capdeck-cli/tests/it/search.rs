//! `capdeck search`.

use capdeck_test::{FakePlan, TestDirs, fake::FakeFault};
use serde_json::json;

use crate::{echo_file, json, run, shown};

#[test]
fn tools_are_found_by_what_they_do() {
    let dirs = TestDirs::new();
    let found = json(&dirs, &["search", "how", "much", "disk", "is", "free"]);
    let first = &found["items"][0];
    assert_eq!((&first["capability"], &first["name"]), (&json!("machine"), &json!("disk_space")));
    assert!(first["score"].as_f64().unwrap() > 0.0);
    assert!(first["inputSchema"].is_object());
}

#[test]
fn pages_lead_to_the_end() {
    let dirs = TestDirs::new();
    let plan = FakePlan { behaviours: false, tools: 25, ..FakePlan::default() };
    dirs.write_config(&json!({"mcpServers": {"fake": plan.deck_entry()}}));
    let mut names = Vec::new();
    let mut cursor = None;
    loop {
        let mut words = vec!["search", "read store item", "--in", "fake", "--limit", "10"];
        let text: String;
        if let Some(next) = &cursor {
            text = next_text(next);
            words.extend(["--cursor", &text]);
        }
        let page = json(&dirs, &words);
        assert_eq!(page["total"], 25);
        names.extend(page["items"].as_array().unwrap().iter().map(|item| item["name"].to_string()));
        match page.get("nextCursor") {
            Some(next) => cursor = Some(next.clone()),
            None => break,
        }
    }
    names.sort();
    names.dedup();
    assert_eq!(names.len(), 25);
}

fn next_text(cursor: &serde_json::Value) -> String {
    cursor.as_str().unwrap().to_owned()
}

#[test]
fn nothing_found_is_an_empty_page() {
    let dirs = TestDirs::new();
    assert_eq!(json(&dirs, &["search", "zzzzqqqq"])["items"], json!([]));
    insta::assert_snapshot!(shown(&dirs, &run(&dirs, &["search", "zzzzqqqq"])), @r"
    exit 0
    --- stdout
    --- stderr
    no tool matches; try other words for what it should do
    ");
}

#[test]
fn bad_questions_fail() {
    let dirs = TestDirs::new();
    assert_eq!(run(&dirs, &["search", "disk", "--cursor", "made-up"]).code, Some(1));
    assert_eq!(run(&dirs, &["search", "disk", "--in", "nowhere"]).code, Some(1));
    assert_eq!(run(&dirs, &["search", "disk", "--limit", "0"]).code, Some(2));
    assert_eq!(run(&dirs, &["search"]).code, Some(2));
}

#[test]
fn what_could_not_be_searched_is_reported() {
    let dirs = TestDirs::new();
    dirs.write_config(&json!({"mcpServers": {"gone": {
        "name": "Gone", "description": "A server that is not there.", "command": "no-such-program-here"
    }}}));
    let finished = run(&dirs, &["search", "anything"]);
    assert_eq!(finished.code, Some(0));
    assert!(finished.stderr.contains("`gone` was not searched"), "{}", finished.stderr);
    let found = json(&dirs, &["search", "anything"]);
    assert_eq!(found["unavailable"][0]["capability"], "gone");
}

#[test]
fn a_server_that_hangs_is_named_and_not_waited_for() {
    let dirs = TestDirs::new();
    let hanging = FakePlan { initialize: FakeFault::Hang, ..FakePlan::default() };
    let mut entry = hanging.deck_entry();
    entry["startupTimeoutMs"] = json!(600_000);
    dirs.write_config(&json!({"mcpServers": {"silent": entry}}));
    // The command ends by itself long before the server's own ten minutes.
    let finished = run(&dirs, &["search", "anything"]);
    assert_eq!(finished.code, Some(0));
    let expected =
        "`silent` was not searched: it is still starting; wait for it with: capdeck check silent";
    assert!(finished.stderr.contains(expected), "{}", finished.stderr);
    let found = json(&dirs, &["search", "anything"]);
    assert_eq!(found["unavailable"][0]["status"], "starting");
}

#[test]
fn a_search_ends_in_the_command_that_calls_the_first_tool() {
    let dirs = TestDirs::new();
    dirs.write("config/echo.md", echo_file("Echo"));
    let found = run(&dirs, &["search", "says it"]).success();
    assert!(
        found.stderr.contains("call it with: capdeck call echo say text=…\n"),
        "{}",
        found.stderr
    );
    assert_eq!(run(&dirs, &["search", "says it", "--json"]).success().stderr, "");
}
