//! `capdeck import` of files and pasted text.

use std::{fs, path::Path};

use capdeck_test::TestDirs;
use serde_json::{Value, json};

use crate::{capdeck, json as run_json, run, shown, terminal::Terminal};

/// The frontmatter of a capability file in the deck.
fn server(dirs: &TestDirs, id: &str) -> Value {
    run_json(dirs, &["inspect", id])["backend"].clone()
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}

#[test]
fn a_file_is_imported_with_its_limits_and_says_what_stays_behind() {
    let dirs = TestDirs::new();
    dirs.write(
        "project/codex.toml",
        "[mcp_servers.time]\ncommand = \"uvx\"\nargs = [\"mcp-server-time\"]\nstartup_timeout_sec = 40\n\
         tool_timeout_sec = 90\ndisabled_tools = [\"convert_time\"]\nrequired = true\n",
    );
    let finished = run(&dirs, &["import", "codex.toml"]);
    insta::assert_snapshot!(shown(&dirs, &finished), @r"
    exit 0
    --- stdout
    --- stderr
    Read [ROOT]/project/codex.toml: 1 server
    Imported time → [ROOT]/config/time.md
      startup timeout: 40 s
      call timeout: 90 s
      without these tools: convert_time
      not imported: required
    Test them: capdeck check
    This replaces the starter deck (`authoring`, `machine`); bring it back with: capdeck init --starter
    ");
    insta::assert_snapshot!(read(&dirs.config().join("time.md")), @r"
    ---
    name: time
    description: Tools of the MCP server `time`, started with `uvx`.
    mcpServer:
      command: uvx
      args:
      - mcp-server-time
      startupTimeoutMs: 40000
      callTimeoutMs: 90000
      tools:
        except:
        - convert_time
    ---

    # time

    Tools of the MCP server `time`, started with `uvx`.
    ");
    assert_eq!(server(&dirs, "time")["startupTimeoutMs"], 40_000);
}

#[test]
fn a_pasted_block_needs_no_file_and_no_frame() {
    let dirs = TestDirs::new();
    let paste = |text: &str| {
        let finished = capdeck(&dirs).args(["import", "-", "--json"]).stdin(text).run();
        finished.success().json()
    };
    let first = paste(
        "\"mcpServers\": {\n  \"time\": { \"command\": \"uvx\", \"args\": [\"mcp-server-time\"] }\n}\n",
    );
    assert_eq!(first["items"][0]["status"], "taken");
    assert_eq!(first["items"][0].get("scope"), None);
    assert_eq!(first["sources"], json!([{ "file": null, "servers": 1 }]));
    let second = paste("mcpServers:\n  docs:\n    url: https://docs.example.com/mcp\n");
    assert_eq!(second["items"][0]["id"], "docs");
    let third = paste("```json\n{ \"fetch\": { \"command\": \"uvx\" } }\n```\n");
    assert_eq!(third["items"][0]["id"], "fetch");
}

#[test]
fn inputs_of_the_editor_become_entries_of_the_vault() {
    let text = r#"{
  "inputs": [{ "id": "gh-token", "type": "promptString", "description": "GitHub token", "password": true }],
  "servers": { "gh": { "command": "x", "env": { "GITHUB_TOKEN": "${input:gh-token}" } } }
}"#;
    let dirs = TestDirs::new();
    dirs.write("project/mcp.json", text);
    let finished = run(&dirs, &["import", "mcp.json"]).success();
    let line = "  needs a value (GitHub token): capdeck vault set GH_GH_TOKEN";
    assert!(finished.stderr.contains(line), "{}", finished.stderr);
    let file = read(&dirs.config().join("gh.md"));
    assert!(file.contains("GITHUB_TOKEN: ${vault:GH_GH_TOKEN}"), "{file}");
    // The grant waits for the value.
    capdeck(&dirs).args(["vault", "set", "GH_GH_TOKEN"]).stdin("canary-4711").run().success();
    let kept = run_json(&dirs, &["vault", "get", "GH_GH_TOKEN"]);
    assert_eq!(kept["grants"][0]["capability"], "gh");
    // Another text cannot have that value by naming it.
    fs::remove_file(dirs.config().join("gh.md")).unwrap();
    let refused = run(&dirs, &["import", "mcp.json"]);
    assert_eq!(refused.code, Some(1));
    assert!(refused.stderr.contains("the vault has another value"), "{}", refused.stderr);

    let dirs = TestDirs::new();
    dirs.write("project/mcp.json", text);
    let mut terminal = Terminal::start(&dirs, &["import", "mcp.json"]);
    terminal.wait_for("GitHub token (not shown; empty to set GH_GH_TOKEN later): ");
    terminal.answer("canary-4712");
    terminal.wait_for("Saved GH_GH_TOKEN");
    assert_eq!(terminal.end().0, Some(0));
    let kept = run_json(&dirs, &["vault", "get", "GH_GH_TOKEN", "--show"]);
    assert_eq!(kept["value"], "canary-4712");
}

#[test]
fn servers_of_single_projects_come_with_the_agent_or_with_its_whole_file() {
    let dirs = TestDirs::new();
    fs::create_dir_all(dirs.project().join(".git")).unwrap();
    let here = dirs.project().canonicalize().unwrap();
    let text = json!({
        "mcpServers": { "db": { "command": "mine" } },
        "projects": {
            here.to_str().unwrap(): { "mcpServers": { "db": { "command": "here" }, "local": { "command": "l" } } },
            "/elsewhere/shop": { "mcpServers": { "db": { "command": "there" }, "local": { "command": "l" } } },
        },
    });
    let file = dirs.write("home/.claude.json", text.to_string());
    let finished = run(&dirs, &["import", "claude-code", "--dry-run"]);
    insta::assert_snapshot!(shown(&dirs, &finished), @r"
    exit 0
    --- stdout
    --- stderr
    Read [ROOT]/home/.claude.json: 3 servers
    Would import db → [ROOT]/config/db.md
    Would import db of [ROOT]/project → [ROOT]/config/db-project.md
    Would import local of [ROOT]/project → [ROOT]/config/local.md
    Claude Code has 2 servers of other projects; import them with: capdeck import [ROOT]/home/.claude.json
    ");
    let whole = run_json(&dirs, &["import", file.to_str().unwrap()]);
    let ids: Vec<&Value> =
        whole["items"].as_array().unwrap().iter().map(|item| &item["id"]).collect();
    assert_eq!(
        ids,
        [&json!("db"), &json!("db-project"), &json!("local"), &json!("db-shop"), &Value::Null]
    );
    assert_eq!(whole["items"][4]["status"], "exists");
}

#[test]
fn what_another_command_takes_is_sent_there() {
    let dirs = TestDirs::new();
    dirs.write("project/api.json", "{\"openapi\": \"3.1.0\", \"paths\": {}}");
    dirs.write("project/one.json", "{\"command\": \"uvx\", \"args\": [\"mcp-server-time\"]}");
    dirs.write("project/none.json", "{\"a\": 1}");
    dirs.write("project/broken.json", "{\n  \"mcpServers\": {,}\n}");
    dirs.write("project/deck/a.md", "x");
    for (source, code, hint) in [
        ("api.json", "NO_SERVERS", "capdeck add openapi ID --spec"),
        ("one.json", "NO_SERVERS", "capdeck add mcp ID -- uvx mcp-server-time"),
        ("none.json", "NO_SERVERS", "it needs a map such as"),
        ("broken.json", "FILE_UNREADABLE", "repair that place"),
        ("missing.json", "FILE_NOT_FOUND", "name a file, an agent"),
        ("owner/repo", "USAGE", "capdeck get owner/repo"),
        ("deck", "USAGE", "capdeck get deck"),
        ("https://github.com/owner/repo", "USAGE", "capdeck get https://github.com/owner/repo"),
        ("https://x.test/openapi.json", "USAGE", "capdeck add openapi ID --spec https://x.test"),
        ("https://x.test/mcp", "USAGE", "capdeck add mcp ID --url https://x.test/mcp"),
        ("cursr", "USAGE", "did you mean `cursor`?"),
        ("gemini", "USAGE", "did you mean `gemini-cli`?"),
    ] {
        let finished = run(&dirs, &["import", source, "--json"]);
        let error = finished.json()["error"].clone();
        assert_eq!(error["code"], code, "{source}: {error}");
        assert!(error["hint"].as_str().unwrap().contains(hint), "{source}: {error}");
    }
    let place = run(&dirs, &["import", "broken.json", "--json"]).json();
    assert_eq!(place["error"]["details"], json!({ "line": 2, "column": 18 }));
    let refused = run(&dirs, &["import", "one.json", "--replace"]);
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains("need an agent"), "{}", refused.stderr);
}
