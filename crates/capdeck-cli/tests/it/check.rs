//! `capdeck check`.

use capdeck_test::{FakePlan, TestDirs, fake::FakeFault};
use serde_json::json;

use crate::{json, run};

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
