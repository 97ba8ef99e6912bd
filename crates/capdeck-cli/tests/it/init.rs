//! `capdeck init`.

use std::fs;

use capdeck_test::TestDirs;
use serde_json::json;

use crate::{json, run, shown};

#[test]
fn a_user_deck_begins_with_something_that_works() {
    let dirs = TestDirs::new();
    insta::assert_snapshot!(shown(&dirs, &run(&dirs, &["init"])), @r"
    exit 0
    --- stdout
    --- stderr
    wrote [ROOT]/config/config.yaml
    wrote [ROOT]/config/machine.md
    see what is in the deck with: capdeck list
    ");
    assert_eq!(run(&dirs, &["validate"]).stderr, "1 capability OK\n");
    let source = &json(&dirs, &["list"])["items"][0]["source"];
    assert_eq!(source["kind"], "user-file");
    run(&dirs, &["call", "machine", "now", "zone=UTC"]).success();
}

#[test]
fn nothing_is_overwritten() {
    let dirs = TestDirs::new();
    dirs.write("config/config.json", "{}");
    dirs.write("config/machine.md", "mine");
    let again = json(&dirs, &["init"]);
    assert_eq!(
        again["items"][0],
        json!({"path": dirs.config().join("config.json"), "status": "kept"})
    );
    assert_eq!(again["items"][1]["status"], "kept");
    assert_eq!(fs::read_to_string(dirs.config().join("machine.md")).unwrap(), "mine");
    assert!(!dirs.config().join("config.yaml").exists());
    run(&dirs, &["init", "--force"]).success();
    assert_ne!(fs::read_to_string(dirs.config().join("machine.md")).unwrap(), "mine");
}

#[test]
fn a_project_deck_waits_for_trust_and_then_works() {
    let dirs = TestDirs::new();
    run(&dirs, &["init", "--project-deck"]).success();
    assert_eq!(json(&dirs, &["list", "--all"])["items"][0]["status"], "untrusted");
    run(&dirs, &["trust"]).success();
    assert_eq!(json(&dirs, &["list", "--all"])["items"][0]["status"], "ready");
}
