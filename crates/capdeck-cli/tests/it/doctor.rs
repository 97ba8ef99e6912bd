//! `capdeck doctor`.

use std::net::TcpListener;

use capdeck_test::TestDirs;
use serde_json::{Value, json};

use crate::{capdeck, echo_file, json};

fn messages(report: &Value, status: &str) -> Vec<String> {
    let items = report["items"].as_array().unwrap().iter();
    let fits = items.filter(|item| item["status"] == status);
    fits.map(|item| {
        format!("{}: {}", item["check"].as_str().unwrap(), item["message"].as_str().unwrap())
    })
    .collect()
}

#[test]
fn a_fresh_machine_is_well() {
    let dirs = TestDirs::new();
    // This port is free on every machine.
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let finished =
        capdeck(&dirs).arg("doctor").env("CAPDECK_PORT", free.to_string()).run().success();
    assert_eq!(finished.stderr, "No problems found\n");
    assert!(
        finished.stdout.contains("usable capabilities: 2 (the starter deck)"),
        "{}",
        finished.stdout
    );
}

#[test]
fn what_is_missing_is_named_with_a_fix() {
    let dirs = TestDirs::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    dirs.write("config/broken.md", "nothing\n");
    dirs.write_config(&json!({"mcpServers": {
        "one": {"name": "One", "description": "Wants a program.", "command": "no-such-program-here"},
        "two": {"name": "Two", "description": "Wants a variable.", "command": "sh", "env": {"A": "${NOT_SET_HERE}"}},
        "three": {"name": "Three", "description": "Wants a variable.", "command": "sh", "env": {"A": "${NOT_SET_HERE}"}},
    }}));
    dirs.write("project/.capdeck/echo.md", echo_file("Echo"));
    let finished = capdeck(&dirs).args(["doctor", "--json"]).env("CAPDECK_PORT", &port).run();
    assert_eq!(finished.code, Some(1), "a broken file is an error");
    let report = finished.json();
    let warnings = messages(&report, "warning");
    for expected in [
        "project: ".to_owned(),
        "program: `no-such-program-here` is not on the PATH (one)".to_owned(),
        "variable: environment variable `NOT_SET_HERE` is not set (three, two)".to_owned(),
        format!("port: 127.0.0.1:{port} is in use"),
    ] {
        assert!(
            warnings.iter().any(|warning| warning.starts_with(&expected)),
            "{expected}: {warnings:#?}"
        );
    }
    assert!(
        messages(&report, "error")
            .iter()
            .any(|error| error.starts_with("capability: broken is quarantined"))
    );
    for item in report["items"].as_array().unwrap() {
        assert_eq!(item["status"] == "ok", item.get("fix").is_none(), "{item}");
    }
}

#[test]
fn a_folder_that_cannot_be_written_is_an_error() {
    let dirs = TestDirs::new();
    let file = dirs.write("a-file", "");
    for (check, variable, below) in [
        ("state", "CAPDECK_STATE_DIR", ""),
        ("cache", "CAPDECK_CACHE_DIR", "deep/er"),
        ("data", "CAPDECK_DATA_DIR", ""),
    ] {
        let folder = if below.is_empty() { file.clone() } else { file.join(below) };
        let finished = capdeck(&dirs).args(["doctor", "--json"]).env(variable, &folder).run();
        assert_eq!(finished.code, Some(1), "{check}");
        let report = finished.json();
        let items = report["items"].as_array().unwrap();
        let found = items.iter().find(|item| item["check"] == check).unwrap();
        let message = format!("cannot write to {}: ", folder.display());
        assert!(found["message"].as_str().unwrap().starts_with(&message), "{found}");
        let fix = format!("{} is no folder: move it away, or name another", file.display());
        assert!(found["fix"].as_str().unwrap().starts_with(&fix), "{found}");
    }
    assert!(json(&dirs, &["doctor"])["version"].is_string());
}

/// Everything that keeps `up` from starting is an error here, with the same next step.
#[test]
fn what_up_would_not_start_with_is_an_error() {
    let dirs = TestDirs::new();
    let find = |dirs: &TestDirs, variable: (&str, &str)| {
        let asked = |words: &[&str]| capdeck(dirs).args(words).env(variable.0, variable.1).run();
        let refused = asked(&["up", "--json"]).json()["error"].clone();
        let finished = asked(&["doctor", "--json"]);
        assert_eq!(finished.code, Some(1), "{variable:?}");
        let report = finished.json();
        let items = report["items"].as_array().unwrap();
        let found = items.iter().find(|item| item["check"] == "up").unwrap();
        let message =
            format!("`capdeck up` does not start: {}", refused["message"].as_str().unwrap());
        assert_eq!((&found["message"], &found["fix"]), (&json!(message), &refused["hint"]));
    };
    find(&dirs, ("CAPDECK_PORT", "seventy"));
    find(&dirs, ("CAPSOL_TOKEN_TTL_SECONDS", "5"));
    find(&dirs, ("CAPDECK_PUBLIC_URL", "deck.example"));
    dirs.write_config(&json!({"serve": {"trustedProxies": ["nowhere"]}}));
    find(&dirs, ("CAPDECK_PORT", "0"));
}

/// Agents that are connected are named; what of earlier set-ups is in the way has a next step.
#[test]
fn agents_and_their_old_entries_are_named() {
    let dirs = TestDirs::new();
    let bin = env!("CARGO_BIN_EXE_capdeck");
    dirs.write(
        "home/.cursor/mcp.json",
        json!({"mcpServers": {
            "capdeck": {"command": bin, "args": ["serve"]},
            "github": {"command": "npx", "args": ["-y", "server-github"]},
        }})
        .to_string(),
    );
    dirs.write(
        "home/.codex/config.toml",
        "[mcp_servers.capdeck]\ncommand = \"/nowhere/capdeck\"\nargs = [\"serve\", \"--config\", \"/no/such/deck\"]\n",
    );
    dirs.write(
        "home/.gemini/settings.json",
        json!({"mcpServers": {"time": {"command": "uvx", "args": ["mcp-server-time"]}}})
            .to_string(),
    );
    let report = json(&dirs, &["doctor"]);
    let found = messages(&report, "ok");
    let agents = found.iter().find(|message| message.starts_with("agents: ")).unwrap();
    assert!(agents.contains("connected: cursor, codex"), "{agents}");
    assert!(agents.contains("gemini-cli (1 server of its own)"), "{agents}");
    let items = report["items"].as_array().unwrap();
    for (message, fix) in [
        ("cursor has 1 server beside capdeck: github", "capdeck import cursor --replace"),
        ("codex starts /nowhere/capdeck, which is not there", "capdeck connect codex"),
        ("codex starts capdeck with --config /no/such/deck", "capdeck connect codex"),
    ] {
        let found =
            items.iter().find(|item| item["message"].as_str().unwrap().starts_with(message));
        let found = found.unwrap_or_else(|| panic!("{message}: {report:#}"));
        assert_eq!((&found["status"], &found["fix"]), (&json!("warning"), &json!(fix)));
    }
}

#[test]
fn live_asks_every_capability() {
    let dirs = TestDirs::new();
    dirs.write("config/echo.md", echo_file("Echo"));
    dirs.write_config(&json!({"mcpServers": {
        "gone": {"name": "Gone", "description": "A server that is not there.", "command": "no-such-program-here"},
    }}));
    let finished = capdeck(&dirs).args(["doctor", "--live", "--json"]).run();
    assert_eq!(finished.code, Some(1));
    let report = finished.json();
    let ok = messages(&report, "ok");
    assert!(ok.iter().any(|message| message.starts_with("live: echo answers: 1 tool, ")), "{ok:?}");
    let errors = messages(&report, "error");
    assert!(errors.iter().any(|message| message.starts_with("live: gone: ")), "{errors:?}");
}
