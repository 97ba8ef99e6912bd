//! `capdeck connect`, `disconnect` and `import`: agents' files as the binary leaves them.

use std::{fs, os::unix::fs::symlink, path::PathBuf};

use capdeck_test::{CapdeckRun, TestDirs};
use serde_json::{Value, json};

use crate::{capdeck, json as run_json, shown, terminal::Terminal};

/// The binary with itself on the `PATH`, in a project.
fn at_home(dirs: &TestDirs) -> CapdeckRun {
    let bin = dirs.root().join("bin");
    if !bin.exists() {
        fs::create_dir_all(dirs.project().join(".git")).unwrap();
        fs::create_dir(&bin).unwrap();
        symlink(env!("CARGO_BIN_EXE_capdeck"), bin.join("capdeck")).unwrap();
    }
    capdeck(dirs).env("PATH", format!("{}:/usr/bin:/bin", bin.display()))
}

fn project_dir(dirs: &TestDirs) -> PathBuf {
    dirs.project().canonicalize().unwrap()
}

#[test]
fn a_change_is_shown_and_not_made_with_dry_run() {
    let dirs = TestDirs::new();
    let text = "{\n  // mine\n  \"mcpServers\": {\n    \"a\": { \"command\": \"a\", \"env\": { \"A_TOKEN\": \"very-secret\" } }\n  }\n}\n";
    let file = dirs.write("home/.cursor/mcp.json", text);
    let finished = at_home(&dirs).args(["connect", "cursor", "--dry-run"]).run();
    insta::assert_snapshot!(shown(&dirs, &finished), @r#"
    exit 0
    --- stdout
    --- [ROOT]/home/.cursor/mcp.json
    +++ [ROOT]/home/.cursor/mcp.json
    @@ -1,6 +1,10 @@
     {
       // mine
       "mcpServers": {
    -    "a": { "command": "a", "env": { "A_TOKEN": [hidden] } }
    +    "a": { "command": "a", "env": { "A_TOKEN": [hidden] } },
    +    "capdeck": {
    +      "command": "capdeck",
    +      "args": ["serve"]
    +    }
       }
     }
    --- stderr
    Cursor: `capdeck` would be added to [ROOT]/home/.cursor/mcp.json (user scope)
    "#);
    assert_eq!(fs::read_to_string(file).unwrap(), text);
    assert_eq!(fs::read_dir(dirs.state()).unwrap().count(), 0);
}

#[test]
fn connecting_is_reported_listed_and_taken_back() {
    let dirs = TestDirs::new();
    let finished = at_home(&dirs).args(["connect", "claude-code", "codex"]).run();
    insta::assert_snapshot!(shown(&dirs, &finished), @r"
    exit 0
    --- stdout
    --- stderr
    Codex asks before each call that may change something, and refuses it where it cannot ask; let it call with --approve-calls (Capdeck still asks before destructive calls)
    Claude Code: `capdeck` added to [ROOT]/project/.mcp.json (project scope)
    Codex: `capdeck` added to [ROOT]/home/.codex/config.toml (user scope)
    restart the agent, or reload its MCP servers, to see your capabilities there
    ");
    let toml = dirs.home().join(".codex/config.toml");
    assert_eq!(
        fs::read_to_string(&toml).unwrap(),
        "[mcp_servers.capdeck]\ncommand = \"capdeck\"\nargs = [\"serve\"]\n"
    );
    let listed = at_home(&dirs).args(["connect", "--list", "--json"]).run().success().json();
    let connected: Vec<&Value> = listed["items"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|item| item["status"] == "connected")
        .collect();
    assert_eq!(connected.len(), 2, "{connected:?}");
    assert_eq!(
        *connected[0],
        json!({
            "client": "claude-code", "title": "Claude Code", "scope": "project", "isDefaultScope": true,
            "file": project_dir(&dirs).join(".mcp.json"), "key": "mcpServers",
            "installed": false, "exists": true, "status": "connected",
        })
    );
    let table = at_home(&dirs).args(["connect", "--list", "--scope", "user"]).run().success();
    assert!(table.stdout.contains("codex           user   connected"), "{}", table.stdout);

    let again = at_home(&dirs).args(["connect", "codex", "--json"]).run().success().json();
    let item = json!({
        "client": "codex", "scope": "user", "file": toml, "name": "capdeck", "change": "none", "dryRun": false,
    });
    assert_eq!(again, json!({ "items": [item] }));

    let finished = at_home(&dirs).args(["disconnect", "claude-code", "codex"]).run();
    insta::assert_snapshot!(shown(&dirs, &finished), @r"
    exit 0
    --- stdout
    --- stderr
    Claude Code: [ROOT]/project/.mcp.json (project scope) removed: nothing else was in it
    Codex: [ROOT]/home/.codex/config.toml (user scope) removed: nothing else was in it
    ");
    assert!(!dirs.home().join(".codex").exists() && !dirs.project().join(".mcp.json").exists());
    let again = at_home(&dirs).args(["disconnect", "codex"]).run().success();
    assert!(again.stderr.contains("nothing to change"), "{}", again.stderr);
}

#[test]
fn calls_without_a_question_are_written_where_an_agent_knows_them() {
    let dirs = TestDirs::new();
    let file = |name: &str| fs::read_to_string(dirs.home().join(name)).unwrap();
    at_home(&dirs).args(["connect", "codex", "cursor", "--approve-calls"]).run().success();
    let approving = "args = [\"serve\"]\ndefault_tools_approval_mode = \"approve\"\n";
    assert!(file(".codex/config.toml").ends_with(approving), "{}", file(".codex/config.toml"));
    assert!(!file(".cursor/mcp.json").contains("approv"));
    // Taking it back gives the agent less, so nothing stops it.
    at_home(&dirs).args(["connect", "codex"]).run().success();
    assert!(!file(".codex/config.toml").contains("approv"));
}

#[test]
fn an_agent_is_found_by_its_program() {
    let dirs = TestDirs::new();
    at_home(&dirs).args(["list"]).run().success();
    let program = dirs.root().join("bin/codex");
    let codex = || {
        let listed = at_home(&dirs).args(["connect", "--list", "--json"]).run().success().json();
        let items = listed["items"].as_array().unwrap().clone();
        items.into_iter().find(|item| item["client"] == "codex").unwrap()
    };
    assert_eq!((&codex()["installed"], codex().get("program")), (&json!(false), None));
    fs::write(&program, "").unwrap();
    assert_eq!((&codex()["installed"], &codex()["program"]), (&json!(true), &json!(program)));
    fs::remove_file(&program).unwrap();
    fs::create_dir(&program).unwrap();
    assert_eq!(codex()["installed"], false, "a folder is no program");
}

#[test]
fn commands_at_the_same_time_lose_nothing_of_each_other() {
    let dirs = TestDirs::new();
    let file = dirs.write("home/.cursor/mcp.json", r#"{ "mcpServers": {} }"#);
    let names: Vec<String> = (0..8).map(|number| format!("deck-{number}")).collect();
    let all = |command: &str| {
        std::thread::scope(|scope| {
            for name in &names {
                let line = at_home(&dirs).args([command, "cursor", "--name", name]);
                scope.spawn(move || line.run().success());
            }
        });
    };
    all("connect");
    let text: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    let mut written: Vec<&String> = text["mcpServers"].as_object().unwrap().keys().collect();
    written.sort();
    assert_eq!(written, names.iter().collect::<Vec<_>>());
    all("disconnect");
    let text: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!(text, json!({ "mcpServers": {} }));
}

#[test]
fn the_entry_says_what_was_asked_for() {
    let dirs = TestDirs::new();
    let entry = |words: &[&str], key: &str| {
        let finished =
            at_home(&dirs).args(["connect", "--json", "--force"]).args(words).run().success();
        let file = finished.json()["items"][0]["file"].as_str().unwrap().to_owned();
        let value: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
        value[key]["capdeck"].clone()
    };
    let project = project_dir(&dirs);
    assert_eq!(
        entry(&["vscode"], "servers"),
        json!({ "type": "stdio", "command": "capdeck", "args": ["serve", "--project", "${workspaceFolder}"] })
    );
    assert_eq!(
        entry(&["cursor", "--project", "."], "mcpServers"),
        json!({ "command": "capdeck", "args": ["serve", "--project", project] })
    );
    assert_eq!(
        entry(&["windsurf", "--url", "http://127.0.0.1:7717"], "mcpServers"),
        json!({ "serverUrl": "http://127.0.0.1:7717/mcp" })
    );
    // A desktop program is not given a name that only a shell can find.
    assert_eq!(
        entry(&["claude-desktop"], "mcpServers"),
        json!({ "command": dirs.root().join("bin/capdeck"), "args": ["serve"] })
    );
    // Without a `capdeck` on the PATH that is this one, the entry has its path.
    let elsewhere =
        capdeck(&dirs).env("PATH", "/usr/bin:/bin").args(["connect", "gemini-cli"]).run();
    elsewhere.success();
    let text = fs::read_to_string(dirs.home().join(".gemini/settings.json")).unwrap();
    assert!(text.contains(env!("CARGO_BIN_EXE_capdeck")), "{text}");
    let shared = capdeck(&dirs).env("PATH", "/usr/bin:/bin").args(["connect", "claude-code"]).run();
    let shared = shared.success();
    assert!(shared.stderr.contains("only on this machine"), "{}", shared.stderr);
}

#[test]
fn refusals_name_the_file_and_the_way_out() {
    let dirs = TestDirs::new();
    dirs.write("home/.claude.json", "{\"mcpServers\": {\"capdeck\": {\"command\": \"other\"}}}");
    dirs.write("home/.cursor/mcp.json", "{\n  \"mcpServers\": {,}\n}");
    let error = |words: &[&str]| {
        let finished = at_home(&dirs).arg("--json").args(words).run();
        let error = finished.json()["error"].clone();
        (finished.code.unwrap(), error["code"].as_str().unwrap().to_owned(), error)
    };
    let (code, name, _) = error(&["connect", "claude-code", "--scope", "user"]);
    assert_eq!((code, name.as_str()), (1, "NAME_TAKEN"));
    let (code, name, shown) = error(&["connect", "cursor"]);
    assert_eq!((code, name.as_str()), (1, "FILE_UNREADABLE"));
    assert_eq!((&shown["details"]["line"], &shown["details"]["column"]), (&json!(2), &json!(18)));
    let (code, name, _) = error(&["disconnect", "claude-code"]);
    assert_eq!((code, name.as_str()), (1, "NOT_OURS"));
    let (code, name, _) = error(&["connect", "windsurf", "--scope", "project"]);
    assert_eq!((code, name.as_str()), (2, "USAGE"));
    let (code, name, _) = error(&["connect", "windsurf", "--url", "http://me:pass@host"]);
    assert_eq!((code, name.as_str()), (2, "USAGE"));
    // One that cannot be done leaves the others undone.
    let (code, _, _) = error(&["connect", "codex", "cursor"]);
    assert_eq!(code, 1);
    assert!(!dirs.home().join(".codex").exists());
    fs::remove_dir(dirs.project().join(".git")).unwrap();
    let (code, name, _) = error(&["connect", "claude-code", "--scope", "project"]);
    assert_eq!((code, name.as_str()), (2, "NO_PROJECT"));
    let typo = at_home(&dirs).args(["connect", "cursr"]).run();
    assert_eq!(typo.code, Some(2));
    assert!(typo.stderr.contains("'cursor'"), "{}", typo.stderr);
}

const SERVERS: &str = r#"{
  "mcpServers": {
    "git hub": { "command": "gh-mcp", "args": ["--read"], "env": { "GH_TOKEN": "canary-4711", "MODE": "x" }, "autoApprove": [] },
    "docs": { "url": "https://docs.example.com/mcp" }, // the manual
    "asks": { "command": "x", "args": ["${command:y}"] },
    "capdeck": { "command": "capdeck", "args": ["serve"] }
  }
}
"#;

#[test]
fn servers_of_an_agent_are_taken_over_without_their_secrets() {
    let dirs = TestDirs::new();
    let file = dirs.write("home/.cursor/mcp.json", SERVERS);
    let dry = at_home(&dirs).args(["import", "cursor", "--dry-run"]).run();
    insta::assert_snapshot!(shown(&dirs, &dry), @r"
    exit 1
    --- stdout
    --- stderr
    Read [ROOT]/home/.cursor/mcp.json: 4 servers
    Would import git hub → [ROOT]/config/git-hub.md
      in the vault: GIT_HUB_GH_TOKEN
      not imported: autoApprove (which calls need approval is set by `policy` in the config)
    Would import docs → [ROOT]/config/docs.md
    asks: not imported: it uses `command`, which only the client knows
    ");
    assert_eq!(fs::read_dir(dirs.config()).unwrap().count(), 0);

    let taken =
        at_home(&dirs).args(["import", "cursor", "git hub", "docs", "--json"]).run().success();
    let expected = json!([
        { "name": "git hub", "scope": "user", "status": "taken", "id": "git-hub",
          "path": dirs.config().join("git-hub.md"), "secrets": ["GIT_HUB_GH_TOKEN"], "ignored": ["autoApprove"] },
        { "name": "docs", "scope": "user", "status": "taken", "id": "docs",
          "path": dirs.config().join("docs.md"), "secrets": [], "ignored": [] },
    ]);
    assert_eq!(taken.json()["items"], expected);
    let text = fs::read_to_string(dirs.config().join("git-hub.md")).unwrap();
    insta::assert_snapshot!(text, @r"
    ---
    name: git hub
    description: Tools of the MCP server `git hub`, started with `gh-mcp`.
    mcpServer:
      command: gh-mcp
      args:
      - --read
      env:
        GH_TOKEN: ${vault:GIT_HUB_GH_TOKEN}
        MODE: x
    ---

    # git hub

    Tools of the MCP server `git hub`, started with `gh-mcp`.
    ");
    assert!(!taken.stdout.contains("canary-4711") && !taken.stderr.contains("canary-4711"));
    let kept = at_home(&dirs).args(["vault", "get", "GIT_HUB_GH_TOKEN", "--show", "--json"]).run();
    let kept = kept.success().json();
    assert_eq!(kept["value"], "canary-4711", "{kept}");
    assert_eq!(kept["grants"][0]["capability"], "git-hub");
    assert_eq!(fs::read_to_string(&file).unwrap(), SERVERS, "the agent's file is as it was");
    let ids: Vec<Value> = run_json(&dirs, &["list"])["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["id"].clone())
        .collect();
    assert_eq!(ids, [json!("docs"), json!("git-hub")]);

    let again = at_home(&dirs).args(["import", "cursor", "docs", "--json"]).run().success().json();
    assert_eq!(again["items"][0]["status"], "exists");
    let unknown = at_home(&dirs).args(["import", "cursor", "nope", "--json"]).run();
    assert_eq!(unknown.json()["error"]["code"], "SERVER_NOT_FOUND");
}

#[test]
fn servers_that_were_replaced_come_back() {
    let dirs = TestDirs::new();
    let servers = SERVERS
        .replace(",\n    \"capdeck\": { \"command\": \"capdeck\", \"args\": [\"serve\"] }", "");
    let file = dirs.write("home/.cursor/mcp.json", &servers);
    let done = at_home(&dirs).args(["import", "cursor", "--replace", "--json"]).run();
    assert_eq!(done.code, Some(1), "one could not be taken");
    assert_eq!(done.json()["files"][0]["change"], "add");
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains("\"asks\"") && text.contains("\"capdeck\""), "{text}");
    assert!(!text.contains("gh-mcp") && !text.contains("docs.example.com"), "{text}");
    at_home(&dirs).args(["disconnect", "cursor"]).run().success();
    assert_eq!(fs::read_to_string(&file).unwrap(), servers);
}

#[test]
fn an_entry_limits_its_agent_and_is_not_widened_unasked() {
    let dirs = TestDirs::new();
    dirs.write("config/config.yaml", "mcpServers:\n  github: { command: x }\n  time: { command: y }\nviews:\n  reader: { capabilities: [github] }\n  bad: { capabilities: [gitub], tools: [time.now] }\n");
    let file = dirs.home().join(".cursor/mcp.json");
    let args = || {
        let value: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
        value["mcpServers"]["capdeck"]["args"].clone()
    };
    at_home(&dirs)
        .args(["connect", "cursor", "--only", "github,time", "--exposure", "search"])
        .run()
        .success();
    assert_eq!(args(), json!(["serve", "--only", "github,time", "--exposure", "search"]));
    let refused = at_home(&dirs).args(["connect", "cursor"]).run();
    insta::assert_snapshot!(shown(&dirs, &refused), @r#"
    exit 1
    --- stdout
    --- stderr
    error: the entry `capdeck` in `[ROOT]/home/.cursor/mcp.json` has what the new one would not: --only github,time, --exposure search
    --- [ROOT]/home/.cursor/mcp.json
    +++ [ROOT]/home/.cursor/mcp.json
    @@ -2,7 +2,7 @@
       "mcpServers": {
         "capdeck": {
           "command": "capdeck",
    -      "args": ["serve", "--only", "github,time", "--exposure", "search"]
    +      "args": ["serve"]
         }
       }
     }
    hint: repeat those flags to keep them, or replace the entry with --force
    "#);
    at_home(&dirs).args(["connect", "cursor", "--view", "reader", "--force"]).run().success();
    assert_eq!(args(), json!(["serve", "--view", "reader"]));
    // A key that was added by hand stays.
    let text = fs::read_to_string(&file)
        .unwrap()
        .replace("\"command\"", "\"env\": { \"A\": \"1\" },\n      \"command\"");
    fs::write(&file, &text).unwrap();
    let refused = at_home(&dirs).args(["connect", "cursor", "--view", "reader", "--json"]).run();
    assert_eq!(refused.json()["error"]["details"]["lost"], json!(["env"]));
    assert_eq!(fs::read_to_string(&file).unwrap(), text);
    for (words, code, hint) in [
        (&["--view", "readr"][..], "USAGE", "did you mean `reader`?"),
        (&["--view", "bad"], "VIEW_INVALID", "did you mean `github`?"),
        (&["--only", "gitub"], "SERVER_NOT_FOUND", "did you mean `github`?"),
        (&["--url", "http://h:1", "--only", "a,b"], "USAGE", "make a view"),
        (&["--url", "http://h:1", "--exposure", "search"], "USAGE", "options.exposure"),
    ] {
        let refused = at_home(&dirs).args(["connect", "windsurf", "--json"]).args(words).run();
        let error = refused.json()["error"].clone();
        assert_eq!(error["code"], code, "{words:?}: {error}");
        assert!(error["hint"].as_str().unwrap().contains(hint), "{words:?}: {error}");
    }
    at_home(&dirs)
        .args(["connect", "windsurf", "--url", "http://h:1", "--view", "any"])
        .run()
        .success();
    let text = fs::read_to_string(dirs.home().join(".codeium/windsurf/mcp_config.json")).unwrap();
    assert!(text.contains("http://h:1/views/any/mcp"), "{text}");
}

#[test]
fn every_entry_of_every_project_goes_at_once() {
    let dirs = TestDirs::new();
    let before = "{\n  \"mcpServers\": {}\n}\n";
    let file = dirs.write("home/.cursor/mcp.json", before);
    dirs.write("other/.git/HEAD", "");
    let other = dirs.root().join("other");
    at_home(&dirs).args(["connect", "cursor", "codex", "claude-code"]).run().success();
    at_home(&dirs).args(["connect", "cursor", "--name", "second"]).run().success();
    at_home(&dirs)
        .args(["connect", "claude-code", "--project", other.to_str().unwrap()])
        .run()
        .success();
    assert!(other.join(".mcp.json").exists() && dirs.project().join(".mcp.json").exists());
    let gone = at_home(&dirs).args(["disconnect", "--all", "--json"]).run().success().json();
    assert_eq!(gone["items"].as_array().unwrap().len(), 5, "{gone}");
    assert_eq!(fs::read_to_string(&file).unwrap(), before);
    assert!(!other.join(".mcp.json").exists() && !dirs.project().join(".mcp.json").exists());
    assert!(!dirs.home().join(".codex").exists());
    let again = at_home(&dirs).args(["disconnect", "--all"]).run().success();
    assert!(again.stderr.contains("No agent is connected"), "{}", again.stderr);
}

#[test]
fn without_a_name_the_installed_agents_are_offered() {
    let dirs = TestDirs::new();
    fs::create_dir_all(dirs.project().join(".git")).unwrap();
    fs::create_dir_all(dirs.home().join(".codex")).unwrap();
    dirs.write("home/.cursor/mcp.json", SERVERS);
    let listed = at_home(&dirs).args(["connect"]).run();
    insta::assert_snapshot!(shown(&dirs, &listed), @r"
    exit 2
    --- stdout
    --- stderr
    error: name the agents
    installed here:
      cursor  connected, [ROOT]/home/.cursor/mcp.json
      codex   [ROOT]/home/.codex/config.toml
    hint: capdeck connect codex
    ");
    let listed = at_home(&dirs).args(["import"]).run();
    insta::assert_snapshot!(shown(&dirs, &listed), @r"
    exit 2
    --- stdout
    --- stderr
    error: name the agents
    installed here:
      cursor  3 servers: git hub, docs, asks
    hint: capdeck import cursor
    ");
    let path = [("PATH", "/usr/bin:/bin".to_owned())];
    let mut terminal = Terminal::start_with(&dirs, &["connect"], &path);
    terminal.wait_for("Which ones to connect?");
    terminal.answer("nope");
    terminal.wait_for("there is no agent `nope`");
    terminal.wait_for("[codex] ");
    terminal.answer("all");
    terminal.wait_for("Let Codex call without its own question? [y/N]");
    terminal.answer("y");
    assert_eq!(terminal.end().0, Some(0));
    let entry = fs::read_to_string(dirs.home().join(".codex/config.toml")).unwrap();
    assert!(entry.contains("default_tools_approval_mode = \"approve\""), "{entry}");
    let mut terminal = Terminal::start_with(&dirs, &["import"], &path);
    terminal.wait_for("[cursor] ");
    terminal.answer("cursor");
    assert_eq!(terminal.end().0, Some(1), "one server cannot be imported");
    assert!(dirs.config().join("docs.md").exists());
}
