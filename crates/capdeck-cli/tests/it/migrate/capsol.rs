//! `capdeck migrate capsol` and `cmp`.

use std::fs;

use capdeck_test::TestDirs;
use serde_json::{Value, json};

use super::{assert_same, at_home, item, tree};

/// A data folder with two capsules, and a project with one of its own.
fn home() -> TestDirs {
    let dirs = TestDirs::new();
    let data = "project/registry-data";
    let boxes = json!([
        { "id": "team", "name": "Team", "description": "What the team knows", "visibility": "team" },
        { "id": "box_2", "name": "Second" },
    ]);
    dirs.write(format!("{data}/boxes.json"), boxes.to_string());
    let shares = json!([
        { "id": "shr_1", "capsule_id": "team", "role": "reader", "uri_prefixes": ["docs://"],
          "denied_prefixes": ["docs://internal"] },
        { "id": "shr_2" },
    ]);
    dirs.write(format!("{data}/shares.json"), shares.to_string());
    dirs.write(format!("{data}/credentials.json"), r#"[{"hash": "canary-hash"}]"#);
    let team = format!("{data}/boxes/team/.capsol");
    dirs.write(
        format!("{team}/knowledge/docs/architecture.md"),
        "---\nuri: docs://architecture\nversion: 3\nrisk_class: structural\nwritten_by: claude-code@3.1.2\nwritten_at: 2026-04-12T08:30:00Z\n---\nOne process, many capsules.\n",
    );
    dirs.write(format!("{team}/knowledge/api-data/users.json"), r#"{"type": "object"}"#);
    dirs.write(format!("{team}/skills/review-pr.md"), "Read the diff first.\n");
    dirs.write(format!("{team}/entries/runbooks/deploy.md"), "Drain the node, then deploy.\n");
    dirs.write(format!("{team}/memory/claude-code.json"), r#"{"branch": "main"}"#);
    dirs.write(format!("{team}/logs/2026-04-12.jsonl"), "{\"action\":\"write\"}\n");
    dirs.write(format!("{data}/boxes/box_2/.capsol/knowledge/notes/plan.md"), "Second plan.\n");
    dirs.write("project/.capsol/knowledge/notes/local.md", "A note of this project.\n");
    fs::create_dir(dirs.project().join(".git")).unwrap();
    dirs
}

fn read(dirs: &TestDirs, capsule: &str, uri: &str) -> String {
    let mut client = at_home(dirs).serve(&["--exposure", "direct"]);
    client.initialize();
    let called = client.request(
        "tools/call",
        json!({ "name": "capsules__capsol_read", "arguments": { "capsule": capsule, "uri": uri } }),
    );
    client.close();
    called["result"].to_string()
}

#[test]
fn capsules_are_taken_over_read_by_a_client_and_put_back() {
    let dirs = home();
    let before = tree(&dirs);
    let shown = at_home(&dirs).args(["migrate", "capsol", "--dry-run", "--json"]).run();
    let shown = shown.success().json();
    assert_same(&before, &tree(&dirs));
    for (kind, name, status) in [
        ("capsule", "Team", "take"),
        ("capsule", "Second", "take"),
        ("capsule", "project", "take"),
        ("grant", "reader of team", "leave"),
        ("grant", "shr_2", "leave"),
    ] {
        assert_eq!(item(&shown, kind, name)["status"], status, "{kind} {name}");
    }
    let share = item(&shown, "grant", "reader of team")["note"].as_str().unwrap();
    let again = "capdeck capsule share team --role reader --allow docs:// --deny docs://internal";
    assert!(share.ends_with(again), "{share}");

    let taken = at_home(&dirs).args(["migrate", "capsol", "--yes"]).run().success();
    assert!(!taken.stderr.contains("canary"), "{}", taken.stderr);
    let migrated = tree(&dirs);
    for (path, content) in &before {
        assert_eq!(migrated.get(path), Some(content), "{path} of the other program changed");
    }
    let text = read(&dirs, "team", "docs://architecture");
    assert!(text.contains("One process, many capsules."), "{text}");
    for (capsule, uri, part) in [
        ("team", "runbooks://deploy", "Drain the node"),
        ("team", "skills://review-pr", "Read the diff"),
        ("box-2", "notes://plan", "Second plan"),
        ("project", "notes://local", "A note of this project"),
    ] {
        let text = read(&dirs, capsule, uri);
        assert!(text.contains(part), "{capsule} {uri}: {text}");
    }
    let doctor = at_home(&dirs).args(["doctor", "--json"]).run().json().to_string();
    assert!(doctor.contains("capsol was taken over"), "{doctor}");

    let undone = at_home(&dirs).args(["migrate", "capsol", "--undo", "--json"]).run();
    let undone = undone.success().json();
    assert_eq!(undone["items"][0]["stays"], json!([]), "{undone:#}");
    let after = tree(&dirs);
    for (path, content) in &before {
        assert_eq!(after.get(path), Some(content), "{path}");
    }
    let is_entry = |path: &&String| path.contains("knowledge") || path.contains("entries/");
    let left: Vec<&String> =
        after.keys().filter(is_entry).filter(|path| !before.contains_key(*path)).collect();
    assert!(left.is_empty(), "{left:?}");
    let listed = at_home(&dirs).args(["capsule", "list", "--json"]).run().success().json();
    assert_eq!(listed["items"], json!([]));
}

#[test]
fn a_capsule_of_the_same_name_stays_as_it_is() {
    let dirs = home();
    at_home(&dirs).args(["capsule", "new", "team"]).run().success();
    let answer = at_home(&dirs).args(["migrate", "capsol", "--yes", "--json"]).run();
    let answer = answer.success().json();
    assert_eq!(item(&answer, "capsule", "Team")["status"], "leave");
    assert_eq!(item(&answer, "capsule", "Second")["status"], "take");
    let listed = at_home(&dirs).args(["capsule", "list", "--json"]).run().success().json();
    assert_eq!(listed["items"].as_array().unwrap().len(), 3, "{listed:#}");
}

#[test]
fn a_data_folder_that_is_named_is_used_where_it_is() {
    let dirs = TestDirs::new();
    dirs.write("kept/boxes.json", "[]");
    let data = dirs.root().join("kept");
    let run = || {
        let line = at_home(&dirs).env("CAPDECK_DATA_DIR", &data).env("CAPSOL_DATA_DIR", &data);
        line.args(["migrate", "capsol", "--json"]).run().success().json()
    };
    let answer = run();
    assert_eq!(answer["items"][0]["status"], "in-place", "{answer:#}");
}

#[test]
fn tools_in_the_form_of_cmp_are_used_where_they_are() {
    let dirs = TestDirs::new();
    let tool = "home/.cmp/tools/clock/cmp";
    let manifest = json!({
        "domain": "time", "name": "clock", "summary": "Tells the time of a place", "version": "1.2.0",
        "binary": "echo",
    });
    dirs.write(format!("{tool}/manifest.json"), manifest.to_string());
    let intents = json!({ "intents": [{
        "patterns": ["tell time", "re:what time.*"], "command": "echo now in {place}",
        "params": { "place": { "type": "string", "required": true } }, "idempotent": true,
    }] });
    dirs.write(format!("{tool}/capability.json"), intents.to_string());
    dirs.write("home/.cmp/tools/broken/cmp/manifest.json", "{");
    let before = tree(&dirs);
    let answer = at_home(&dirs).args(["migrate", "--yes", "--json"]).run().success().json();
    assert_eq!(answer["items"][0]["system"], "cmp");
    assert_eq!(answer["items"][0]["status"], "in-place");
    assert_eq!(item(&answer, "capability", "clock")["status"], "in-place");
    assert_eq!(item(&answer, "capability", "broken")["status"], "leave");
    let differences = answer["items"][0]["differences"].as_array().unwrap();
    assert!(!differences.is_empty());
    assert_same(&before, &tree(&dirs));

    let mut client = at_home(&dirs).serve(&["--exposure", "direct"]);
    client.initialize();
    let called: Value = client.request(
        "tools/call",
        json!({ "name": "clock__tell_time", "arguments": { "place": "Oslo" } }),
    );
    assert!(called["result"].to_string().contains("now in Oslo"), "{called}");
    client.close();
    let undone = at_home(&dirs).args(["migrate", "cmp", "--undo"]).run();
    assert_eq!(undone.code, Some(1), "{undone:?}");
    assert_same(&before, &tree(&dirs));
}
