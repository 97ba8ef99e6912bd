//! `capdeck add mcp --project-deck` where the project has a capability file.

use std::fs;

use capdeck_test::TestDirs;
use serde_json::json;

use crate::{json, run};

const FILE: &str = "# What this project uses.
options:
  toolExposure: on-demand # few tokens
servers:
  - id: time
    type: mcp
    def: { cmd: uvx, args: [mcp-server-time] }
skills: []
";

#[test]
fn a_server_goes_into_the_capability_file_and_the_rest_stays() {
    let dirs = TestDirs::new();
    let path = dirs.write("project/capabilities.yaml", FILE);
    let words = [
        "add",
        "mcp",
        "notes",
        "--project-deck",
        "--description",
        "Notes of the team",
        "--env",
        "NOTES=/n",
        "--env",
        "TOKEN",
        "--command",
        "npx",
        "--arg=-y",
        "--arg=@example/notes",
    ];
    let added = json(&dirs, &words);
    assert_eq!((&added["id"], &added["warnings"]), (&json!("notes"), &json!([])));
    let text = fs::read_to_string(&path).unwrap();
    for line in FILE.lines() {
        assert!(text.contains(line), "{line} is gone:\n{text}");
    }
    run(&dirs, &["trust", "--yes"]).success();
    let listed = json(&dirs, &["list", "--all"]);
    let ids: Vec<&str> =
        listed["items"].as_array().unwrap().iter().filter_map(|item| item["id"].as_str()).collect();
    assert!(ids.contains(&"notes") && ids.contains(&"time"), "{ids:?}");
    assert!(!dirs.project().join(".capdeck").exists());

    let refused = run(
        &dirs,
        &["add", "mcp", "notes", "--project-deck", "--url", "https://a.example/mcp", "--json"],
    );
    assert_eq!((refused.code, &refused.json()["error"]["code"]), (Some(1), &json!("FILE_EXISTS")));
    let words = [
        "add",
        "mcp",
        "notes",
        "--project-deck",
        "--url",
        "https://a.example/mcp",
        "--token-env",
        "NOTES_TOKEN",
        "--force",
    ];
    run(&dirs, &words).success();
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains("Bearer ${NOTES_TOKEN}") && !text.contains("@example/notes"), "{text}");
}

#[test]
fn a_json_file_is_edited_too_and_a_broken_one_is_left_alone() {
    let dirs = TestDirs::new();
    let path = dirs.write("project/capabilities.json", "{\n  \"skills\": []\n}\n");
    run(&dirs, &["add", "mcp", "notes", "--project-deck", "--", "notes-server"]).success();
    let text = fs::read_to_string(&path).unwrap();
    let read: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        read["servers"][0],
        json!({"id": "notes", "type": "mcp", "def": {"cmd": "notes-server"}})
    );

    let broken = "{ \"servers\": [ ";
    dirs.write("project/capabilities.json", broken);
    let refused = run(&dirs, &["add", "mcp", "other", "--project-deck", "--", "x"]);
    assert_eq!(refused.code, Some(1), "{}", refused.stderr);
    assert!(refused.stderr.contains("cannot be edited"), "{}", refused.stderr);
    assert_eq!(fs::read_to_string(&path).unwrap(), broken);
}
