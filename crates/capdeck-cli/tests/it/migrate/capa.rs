//! `capdeck migrate capa`: a project that `capa install` has set up.

use std::fs;

use capdeck_test::{FakePlan, TestDirs};
use serde_json::{Value, json};

use super::{assert_same, at_home, item, tree};

const SECRET: &str = "canary-variable";

/// The project, the state of CAPA, and what it wrote for Claude Code, Cursor and Codex.
fn home() -> TestDirs {
    let dirs = TestDirs::new();
    fs::create_dir(dirs.project().join(".git")).unwrap();
    let (program, arguments) = FakePlan::default().command();
    let file = json!({
        "providers": ["claude-code", "cursor", "codex"],
        "options": { "toolExposure": "expose-all" },
        "servers": [{ "id": "fake", "type": "mcp", "def": {
            "cmd": program, "args": arguments, "env": { "TOKEN": "${Brave_Key}" },
        } }],
        "tools": [{ "id": "say", "type": "mcp", "def": { "server": "@fake", "tool": "echo" } }],
        "skills": [{ "id": "triage", "type": "inline", "def": {
            "content": "---\nname: triage\ndescription: Sorts\n---\nSort it.\n",
        } }],
        "rules": [{ "id": "style", "type": "inline", "content": "Whole words." }],
        "hooks": [{ "id": "guard", "on": "beforeShell", "command": "./guard.sh" }],
        "agents": { "additional": [{ "id": "house", "type": "inline", "content": "Be kind." }] },
    });
    dirs.write("project/capabilities.yaml", serde_json::to_string_pretty(&file).unwrap());
    write_agents(&dirs);
    write_database(&dirs);
    dirs
}

fn write_agents(dirs: &TestDirs) {
    let url = "http://127.0.0.1:5912/project-12ab/mcp";
    let mcp = json!({ "mcpServers": {
        "other": { "command": "other" }, "capa": { "type": "http", "url": url },
    } });
    dirs.write("project/.mcp.json", serde_json::to_string_pretty(&mcp).unwrap());
    let activity = |event: &str| {
        json!({ "type": "command", "name": format!("capa:capa-sys-activity-{event}"),
            "command": format!("capa activity-ingest --project project-12ab --event {event} --provider claude-code") })
    };
    let settings = json!({
        "model": "x",
        "hooks": {
            "PreToolUse": [
                { "matcher": "Bash", "hooks": [
                    { "type": "command", "command": "./mine.sh" },
                    { "type": "command", "command": "./guard.sh", "name": "capa:guard" },
                ] },
            ],
            "SessionStart": [{ "matcher": "", "hooks": [activity("sessionStart")] }],
        },
    });
    dirs.write("project/.claude/settings.json", serde_json::to_string_pretty(&settings).unwrap());
    dirs.write(
        "project/.cursor/mcp.json",
        json!({ "mcpServers": { "capa": { "url": url } } }).to_string(),
    );
    let cursor = json!({ "version": 1, "hooks": {
        "beforeShellExecution": [{ "command": "./guard.sh", "name": "capa:guard" }],
        "stop": [{ "command": "capa activity-ingest --event stop", "name": "capa:capa-sys-activity-stop" }],
    } });
    dirs.write("project/.cursor/hooks.json", cursor.to_string());
    dirs.write(
        "project/.codex/config.toml",
        format!("model = \"x\"\n\n[mcp_servers.capa]\nurl = \"{url}\"\n"),
    );
    for folder in [".claude", ".cursor", ".agents"] {
        let skill = "---\nname: triage\ndescription: Sorts\n---\nSort it as CAPA wrote it.\n";
        dirs.write(format!("project/{folder}/skills/triage/SKILL.md"), skill);
    }
    dirs.write("project/.claude/rules/style.md", "Whole words.");
    dirs.write("project/.cursor/rules/style.mdc", "Whole words.");
    for name in ["CLAUDE.md", "AGENTS.md"] {
        let text = "# Mine\n\n<!-- capa:start:house -->\nBe kind.\n<!-- capa:end:house -->\n";
        dirs.write(format!("project/{name}"), text);
    }
}

fn write_database(dirs: &TestDirs) {
    fs::create_dir_all(dirs.home().join(".capa")).unwrap();
    let database = rusqlite::Connection::open(dirs.home().join(".capa/capa.db")).unwrap();
    database
        .execute_batch(
            "CREATE TABLE projects (id TEXT PRIMARY KEY, path TEXT UNIQUE NOT NULL);
             CREATE TABLE variables (id INTEGER PRIMARY KEY, project_id TEXT, key TEXT, value TEXT);",
        )
        .unwrap();
    let project = dirs.project().canonicalize().unwrap();
    database
        .execute("INSERT INTO projects VALUES ('project-12ab', ?1)", [project.to_str().unwrap()])
        .unwrap();
    database
        .execute("INSERT INTO variables VALUES (1, 'project-12ab', 'Brave_Key', ?1)", [SECRET])
        .unwrap();
}

fn hooks(dirs: &TestDirs) -> String {
    let read = |name: &str| fs::read_to_string(dirs.project().join(name)).unwrap();
    [".claude/settings.json", ".cursor/hooks.json", ".codex/config.toml"].map(read).concat()
}

#[test]
fn install_names_the_way_in_and_changes_nothing() {
    let dirs = home();
    let before = tree(&dirs);
    for line in [&["install", "--yes"][..], &["install", "--yes", "--force"]] {
        let refused = at_home(&dirs).args(line).run();
        assert_eq!(refused.code, Some(1), "{refused:?}");
        assert!(refused.stderr.contains("capdeck migrate capa"), "{}", refused.stderr);
    }
    assert_same(&before, &tree(&dirs));
    let doctor = at_home(&dirs).args(["doctor", "--json"]).run().json().to_string();
    assert!(doctor.contains("a set-up of CAPA is here and not taken over"), "{doctor}");
}

#[test]
fn a_project_is_taken_over_used_and_put_back() {
    let dirs = home();
    let before = tree(&dirs);
    let shown = at_home(&dirs).args(["migrate", "capa", "--dry-run", "--json"]).run();
    let shown = shown.success().json();
    assert_same(&before, &tree(&dirs));
    let mcp = item(&shown, "file", ".mcp.json")["note"].as_str().unwrap().to_owned();
    assert!(mcp.contains("the MCP entry `capa`"), "{mcp}");
    assert_eq!(item(&shown, "secret", "Brave_Key")["status"], "take");

    let taken = at_home(&dirs).args(["migrate", "capa", "--yes"]).run().success();
    assert!(!taken.stderr.contains(SECRET) && !taken.stdout.contains(SECRET), "{taken:?}");
    let mcp = fs::read_to_string(dirs.project().join(".mcp.json")).unwrap();
    assert!(mcp.contains("\"capdeck\"") && mcp.contains("\"other\""), "{mcp}");
    assert!(!mcp.contains("5912"), "{mcp}");
    let hooks = hooks(&dirs);
    assert!(!hooks.contains("activity-ingest") && !hooks.contains("\"capa:"), "{hooks}");
    assert!(hooks.contains("./mine.sh") && hooks.contains("capdeck:guard"), "{hooks}");
    assert_eq!(hooks.matches("./guard.sh").count(), 3, "once for each agent: {hooks}");
    let skill = fs::read_to_string(dirs.project().join(".claude/skills/triage/SKILL.md")).unwrap();
    assert!(!skill.contains("CAPA"), "{skill}");
    let text = fs::read_to_string(dirs.project().join("CLAUDE.md")).unwrap();
    assert_eq!(text.matches("capa:start:house").count(), 1, "{text}");

    let mut client = at_home(&dirs).serve(&["--exposure", "direct"]);
    client.initialize();
    let tools: Value = client.request("tools/list", json!({}));
    let name = tools["result"]["tools"].as_array().unwrap().iter();
    let names: Vec<&str> = name.filter_map(|tool| tool["name"].as_str()).collect();
    let tool =
        names.iter().find(|name| name.ends_with("say")).unwrap_or_else(|| panic!("{names:?}"));
    let called =
        client.request("tools/call", json!({ "name": tool, "arguments": { "text": "hello" } }));
    assert!(called["result"].to_string().contains("hello"), "{called}");
    client.close();

    // Installing again changes nothing, and nothing of CAPA comes back.
    let again = at_home(&dirs).args(["install", "--json"]).run().success().json();
    assert_eq!(again["items"], json!([]), "{again:#}");

    let undone = at_home(&dirs).args(["migrate", "--undo", "--json"]).run().success().json();
    assert_eq!(undone["items"][0]["stays"], json!([]), "{undone:#}");
    assert_same(&before, &tree(&dirs));
}

#[test]
fn a_project_without_its_traces_is_none_of_its_business() {
    let dirs = TestDirs::new();
    dirs.write("project/capabilities.yaml", "providers: [cursor]\n");
    let nothing = at_home(&dirs).args(["migrate", "capa"]).run();
    assert_eq!(nothing.code, Some(1));
    assert!(nothing.stderr.contains("nothing of CAPA"), "{}", nothing.stderr);
}

#[test]
fn a_failure_of_the_installation_puts_the_rest_back() {
    let dirs = home();
    // A folder where a skill's file should be staged.
    let file = dirs.project().canonicalize().unwrap().join(".cursor/skills/triage/SKILL.md");
    let hash = capdeck_storage::sha256_hex(file.as_os_str().as_encoded_bytes());
    let blocked = file.with_file_name(format!(".capdeck-{}.new", hash.get(..12).unwrap()));
    let before = tree(&dirs);
    fs::create_dir(&blocked).unwrap();
    fs::write(blocked.join("x"), "").unwrap();
    let failed = at_home(&dirs).args(["migrate", "capa", "--yes"]).run();
    assert_eq!(failed.code, Some(1), "{failed:?}");
    fs::remove_dir_all(&blocked).unwrap();
    assert_same(&before, &tree(&dirs));
}
