//! `capdeck add`: new files are sound, whole, and never replace others unasked.

use std::fs;

use capdeck_test::{FakeApi, FakeApiReply, TestDirs};
use serde_json::json;

use crate::{capdeck, json, run, shown};

#[test]
fn a_printed_file_is_readable_and_not_written() {
    let dirs = TestDirs::new();
    let words = [
        "add",
        "mcp",
        "time",
        "--command",
        "uvx",
        "--arg",
        "mcp-server-time",
        "--arg",
        "--local-timezone=UTC",
        "--env",
        "TOKEN",
        "--env",
        "MODE=yes",
        "--description",
        "Time: zones & conversions",
        "--tag",
        "time",
        "--print",
    ];
    insta::assert_snapshot!(shown(&dirs, &run(&dirs, &words)), @r#"
    exit 0
    --- stdout
    ---
    name: Time
    description: "Time: zones & conversions"
    tags:
    - time
    mcpServer:
      command: uvx
      args:
      - mcp-server-time
      - --local-timezone=UTC
      env:
        TOKEN: ${TOKEN}
        MODE: "yes"
    ---

    # Time

    Time: zones & conversions
    --- stderr
    "#);
    assert_eq!(fs::read_dir(dirs.config()).unwrap().count(), 0);
}

/// Each kind as written, then validated and listed by the same binary.
#[test]
fn every_kind_is_listed_after_it_was_added() {
    let dirs = TestDirs::new();
    dirs.write("project/api.yaml", "openapi: 3.1.0\n");
    dirs.write(
        "project/package.json",
        r#"{"scripts": {"test": "node --test", "build:all": "tsc"}}"#,
    );
    let api = FakeApi::start(|_| FakeApiReply::json(&json!({"openapi": "3.1.0"})));
    let described = format!("{}/api.json", api.url());
    let cases: [(&str, &[&str], &str); 9] = [
        ("m1", &["mcp", "m1", "--command", "srv"], "mcp"),
        (
            "m2",
            &[
                "mcp",
                "m2",
                "--url",
                "https://example.com/mcp",
                "--token-env",
                "T",
                "--transport",
                "sse",
            ],
            "mcp",
        ),
        (
            "o1",
            &["openapi", "o1", "--spec", "api.yaml", "--base-url", "https://example.com"],
            "openapi",
        ),
        ("o2", &["openapi", "o2", "--spec", &described, "--token-env", "T"], "openapi"),
        ("g1", &["graphql", "g1", "--endpoint-url", "https://example.com/graphql"], "graphql"),
        (
            "d1",
            &["google-discovery", "d1", "--discovery", "https://example.com/d.json"],
            "googleDiscovery",
        ),
        (
            "h1",
            &["http", "h1", "--base-url", "https://example.com", "--action", "get:GET:/a/{id}"],
            "http",
        ),
        ("c1", &["cli", "c1", "--command", "ls", "--arg", "$input.path"], "cli"),
        ("c2", &["cli", "c2", "--repo", ".", "--include", "git,gh,package"], "cli"),
    ];
    for (_, words, _) in &cases {
        let added = capdeck(&dirs).arg("add").args(*words).run();
        assert_eq!(added.code, Some(0), "{words:?}: {}", added.stderr);
    }
    let validated = run(&dirs, &["validate", dirs.config().to_str().unwrap(), "--json"]).success();
    for problem in validated.json()["items"].as_array().unwrap() {
        // The made files are sound; the description they name is empty and the server's address is not known.
        let code = problem["code"].as_str().unwrap();
        assert!(["missing-base-url", "not-imported"].contains(&code), "{problem}");
    }
    let listed = json(&dirs, &["list"]);
    for (id, _, backend) in &cases {
        let item =
            listed["items"].as_array().unwrap().iter().find(|item| item["id"] == *id).unwrap();
        assert_eq!((&item["backend"], &item["status"]), (&json!(backend), &json!("ready")), "{id}");
    }
    let tools = json(&dirs, &["tools", "c2"]);
    let names: Vec<_> = tools["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert!(names.contains(&"git_status") && names.contains(&"package_build_all"), "{names:?}");
}

#[test]
fn an_existing_capability_is_not_replaced_unasked() {
    let dirs = TestDirs::new();
    let add = |more: &[&str]| {
        capdeck(&dirs).args(["add", "mcp", "a", "--command", "one"]).args(more).run()
    };
    add(&[]).success();
    let before = fs::read_to_string(dirs.config().join("a.md")).unwrap();
    let refused = add(&["--arg", "two"]);
    assert_eq!(refused.code, Some(1));
    assert!(refused.stderr.contains("--force"), "{}", refused.stderr);
    assert_eq!(fs::read_to_string(dirs.config().join("a.md")).unwrap(), before);
    add(&["--arg", "two", "--force"]).success();
    assert!(fs::read_to_string(dirs.config().join("a.md")).unwrap().contains("two"));

    dirs.write("config/b/CAPLET.md", "---\n---\n");
    let twin = run(&dirs, &["add", "mcp", "b", "--command", "one", "--force"]);
    assert_eq!(twin.code, Some(1), "a folder of the same id would win over the new file");
}

#[test]
fn what_would_not_load_is_not_written() {
    let dirs = TestDirs::new();
    for words in [
        &["add", "mcp", "a", "--url", "ftp://example.com"][..],
        &["add", "mcp", "a", "--command", "x", "--description", "short"],
        &["add", "mcp", "a b", "--command", "x"],
        &["add", "mcp", "a"],
        &["add", "mcp", "a", "--command", "x", "--url", "https://example.com"],
        &["add", "http", "a", "--base-url", "https://example.com", "--action", "oops"],
        &["add", "http", "a", "--base-url", "not a url", "--action", "x:GET:/y"],
        &["add", "openapi", "a", "--spec", "missing.yaml"],
        &["add", "graphql", "a", "--endpoint-url", "nope"],
        &["add", "cli", "a"],
        &["add", "cli", "a", "--repo", "missing"],
        &["add", "teleport", "a"],
    ] {
        let finished = run(&dirs, words);
        assert_eq!(finished.code, Some(2), "{words:?}: {}", finished.stderr);
        assert!(finished.stderr.starts_with("error: "), "{words:?}: {}", finished.stderr);
    }
    assert_eq!(fs::read_dir(dirs.config()).unwrap().count(), 0);
}

#[test]
fn a_project_file_asks_for_trust() {
    let dirs = TestDirs::new();
    let added = run(&dirs, &["add", "cli", "a", "--command", "ls", "--project-deck"]).success();
    assert!(added.stderr.contains("capdeck trust"), "{}", added.stderr);
    assert!(dirs.project().join(".capdeck/a.md").exists());
    let elsewhere =
        run(&dirs, &["add", "cli", "b", "--command", "ls", "--output", "deep/b.md", "--json"]);
    let path = dirs.project().canonicalize().unwrap().join("deep/b.md");
    assert_eq!(elsewhere.success().json()["path"], json!(path));
}

#[test]
fn a_description_near_the_file_is_named_relative_to_it() {
    let dirs = TestDirs::new();
    dirs.write("project/.capdeck/api.yaml", "openapi: 3.1.0\n");
    let words = [
        "add",
        "openapi",
        "a",
        "--spec",
        ".capdeck/api.yaml",
        "--base-url",
        "https://example.com",
        "--project-deck",
    ];
    run(&dirs, &words).success();
    let text = fs::read_to_string(dirs.project().join(".capdeck/a.md")).unwrap();
    assert!(text.contains("specPath: ./api.yaml"), "{text}");
}

#[test]
fn a_printed_file_is_json_when_json_is_asked_for() {
    let dirs = TestDirs::new();
    let printed = json(&dirs, &["add", "cli", "lint", "--command", "ruff", "--print"]);
    assert_eq!((&printed["id"], &printed["warnings"]), (&json!("lint"), &json!([])));
    assert!(printed["text"].as_str().unwrap().starts_with("---\nname: Lint\n"), "{printed}");
    assert!(!dirs.config().join("lint.md").exists());
}

#[test]
fn a_command_line_after_two_dashes_is_the_server() {
    let dirs = TestDirs::new();
    let words =
        ["add", "mcp", "notes", "--env", "DIR=/n", "--", "npx", "-y", "@example/notes", "--json"];
    run(&dirs, &words).success();
    let text = fs::read_to_string(dirs.config().join("notes.md")).unwrap();
    let server = "mcpServer:\n  command: npx\n  args:\n  - -y\n  - \"@example/notes\"\n  - --json\n  env:\n    DIR: /n\n";
    assert!(text.contains(server), "{text}");
    let bare = run(&dirs, &["add", "mcp", "time", "--json"]);
    let error = bare.json()["error"].clone();
    assert_eq!(error["hint"], "as in: capdeck add mcp time -- uvx mcp-server-time");
}

#[test]
fn what_import_and_get_take_is_sent_there() {
    let dirs = TestDirs::new();
    dirs.write("project/mcp.json", "{\"mcpServers\": {\"a\": {\"command\": \"x\"}}}");
    for (words, hint) in [
        (&["add", "cursor"][..], "use: capdeck import cursor"),
        (&["add", "mcp.json"], "use: capdeck import mcp.json"),
        (&["add", "owner/repo"], "use: capdeck get owner/repo"),
        (
            &["add", "https://x.test/openapi.json"],
            "use: capdeck add openapi ID --spec https://x.test/openapi.json",
        ),
        (&["add", "npx", "-y", "x"], "use: capdeck add mcp ID -- npx"),
        (&["add", "openapy", "x"], "did you mean `openapi`?"),
        (
            &["add", "mcp", "x", "--url", "https://x.test/openapi.json"],
            "use: capdeck add openapi ID",
        ),
        (&["get", "cursor"], "use: capdeck import cursor"),
        (&["get", "mcp.json"], "use: capdeck import mcp.json"),
        (&["get", "./mcp.json"], "use: capdeck import ./mcp.json"),
        (&["get", "https://x.test/api.yaml"], "use: capdeck add openapi ID --spec"),
    ] {
        let finished = capdeck(&dirs).args(words).arg("--json").run();
        assert_eq!(finished.code, Some(2), "{words:?} {}", finished.stderr);
        let error = finished.json()["error"].clone();
        assert!(error["hint"].as_str().unwrap().starts_with(hint), "{words:?}: {error}");
    }
}
