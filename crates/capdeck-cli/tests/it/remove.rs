//! `capdeck remove`, `disable` and `enable` wherever a capability is defined.

use std::fs;

use capdeck_test::TestDirs;
use serde_json::json;

use crate::{echo_file, json as run_json, run, shown};

const CONFIG: &str = "# mine\nmcpServers:\n  time:\n    command: uvx # fast\n  docs:\n    url: https://docs.example.com/mcp\n";

#[test]
fn a_capability_is_removed_wherever_it_is_and_comes_back() {
    let dirs = TestDirs::new();
    let config = dirs.write("config/config.yaml", CONFIG);
    let file = dirs.write("config/echo.md", echo_file("Echo"));
    dirs.write("config/box/CAPLET.md", echo_file("Box"));
    dirs.write("config/box/notes.txt", "beside it");
    let removed = run(&dirs, &["remove", "time", "echo", "box"]);
    insta::assert_snapshot!(shown(&dirs, &removed), @r"
    exit 0
    --- stdout
    --- stderr
    Removed time ([ROOT]/config/config.yaml, mcpServers.time)
    undo: capdeck remove --undo time
    Removed echo ([ROOT]/config/echo.md)
    undo: capdeck remove --undo echo
    Removed box ([ROOT]/config/box)
    undo: capdeck remove --undo box
    ");
    let left = "# mine\nmcpServers:\n  docs:\n    url: https://docs.example.com/mcp\n";
    assert_eq!(fs::read_to_string(&config).unwrap(), left);
    assert!(!file.exists() && !dirs.config().join("box").exists());
    let undone = run(&dirs, &["remove", "--undo", "time", "echo", "box"]).success();
    assert!(undone.stderr.contains("Restored time in"), "{}", undone.stderr);
    assert_eq!(fs::read_to_string(&config).unwrap(), CONFIG);
    assert_eq!(fs::read_to_string(&file).unwrap(), echo_file("Echo"));
    assert_eq!(fs::read_to_string(dirs.config().join("box/notes.txt")).unwrap(), "beside it");
    let again = run(&dirs, &["remove", "--undo", "time", "--json"]);
    assert_eq!(again.json()["error"]["code"], "NOT_REMOVED");
    let item = &run_json(&dirs, &["remove", "docs", "--dry-run"])["items"][0];
    let expected = json!({
        "id": "docs", "path": config, "entry": "mcpServers.docs", "wasThere": true, "removed": false,
        "undo": "capdeck remove --undo docs",
    });
    assert_eq!(*item, expected);
}

#[test]
fn what_is_in_no_file_says_why_and_what_to_do() {
    let dirs = TestDirs::new();
    for command in ["remove", "disable"] {
        let error = run(&dirs, &[command, "machine", "--json"]).json()["error"].clone();
        assert_eq!(error["code"], "NOT_REMOVABLE", "{command}: {error}");
        let hint = error["hint"].as_str().unwrap();
        assert!(hint.contains("it goes with the first capability of your own"), "{hint}");
    }
    dirs.write("config/echo.md", echo_file("Echo"));
    let finished = run(&dirs, &["remove", "ecko", "--json"]);
    assert!(finished.json()["error"]["hint"].as_str().unwrap().contains("`echo`"));
    // A file that does not load can be removed, too.
    dirs.write("config/bad.md", "---\nname: Bad\n---\n");
    run(&dirs, &["remove", "bad"]).success();
    assert!(!dirs.config().join("bad.md").exists());
}

#[test]
fn members_of_sets_and_of_files_go_alone() {
    let dirs = TestDirs::new();
    dirs.write(
        "team/config.json",
        "{ \"mcpServers\": { \"a\": { \"command\": \"x\" }, \"b\": { \"command\": \"y\" } } }",
    );
    dirs.write("config/team.md", "---\nname: Team\ndescription: What the team shares.\ncapletSet:\n  configPath: ../team/config.json\n---\n");
    dirs.write("config/two.md", "---\nname: Two\ndescription: Two servers in one file.\nmcpServers:\n  one:\n    command: x\n  two:\n    command: y\n---\n");
    run(&dirs, &["remove", "team__a", "two__two"]).success();
    let team = fs::read_to_string(dirs.root().join("team/config.json")).unwrap();
    assert_eq!(team, "{ \"mcpServers\": { \"b\": { \"command\": \"y\" } } }");
    let two = fs::read_to_string(dirs.config().join("two.md")).unwrap();
    assert!(two.contains("one:") && !two.contains("two:"), "{two}");
    // The id of a file that declares several means the file.
    run(&dirs, &["remove", "two"]).success();
    assert!(!dirs.config().join("two.md").exists());
}

#[test]
fn an_override_is_named_when_it_goes() {
    let dirs = TestDirs::new();
    dirs.write("config/config.yaml", CONFIG);
    dirs.write("config/time.md", echo_file("Time"));
    let removed = run(&dirs, &["remove", "time"]).success();
    assert!(removed.stderr.contains("config.yaml is used instead"), "{}", removed.stderr);
}

#[test]
fn a_capability_is_disabled_and_enabled() {
    let dirs = TestDirs::new();
    let config = dirs.write("config/config.yaml", CONFIG);
    let disabled = run(&dirs, &["disable", "time"]);
    insta::assert_snapshot!(shown(&dirs, &disabled), @r"
    exit 0
    --- stdout
    --- stderr
    time is disabled ([ROOT]/config/config.yaml)
    undo: capdeck enable time
    ");
    let listed = run_json(&dirs, &["list", "--all"]);
    let time = listed["items"].as_array().unwrap().iter().find(|item| item["id"] == "time");
    assert_eq!(time.unwrap()["status"], "disabled");
    let again = run(&dirs, &["disable", "time"]).success();
    assert!(again.stderr.contains("time is disabled already"), "{}", again.stderr);
    run(&dirs, &["enable", "time"]).success();
    assert_eq!(fs::read_to_string(&config).unwrap(), CONFIG);
}

#[test]
fn the_starter_deck_says_when_it_goes_and_comes_back() {
    let dirs = TestDirs::new();
    let added = run(&dirs, &["add", "mcp", "time", "--", "uvx", "mcp-server-time"]).success();
    let note = "This replaces the starter deck (`authoring`, `machine`)";
    assert!(added.stderr.contains(note), "{}", added.stderr);
    let second = run(&dirs, &["add", "mcp", "docs", "--url", "https://x.test/mcp"]).success();
    assert!(!second.stderr.contains("starter deck"), "{}", second.stderr);
    run(&dirs, &["init", "--starter"]).success();
    let listed = run_json(&dirs, &["list"]);
    let ids: Vec<&str> = listed["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["id"].as_str().unwrap())
        .collect();
    assert_eq!(ids, ["authoring", "docs", "machine", "time"]);
}
