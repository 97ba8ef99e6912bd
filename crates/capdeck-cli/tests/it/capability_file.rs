//! A project with `capabilities.yaml`: its servers and commands, from the file to the answer.

use std::fs;

use capdeck_test::{FakePlan, TestDirs};
use serde_json::{Value, json};

use crate::{capdeck, json, run};

/// A project with this file, trusted.
fn trusted(file: &Value) -> TestDirs {
    let dirs = TestDirs::new();
    write(&dirs, file);
    run(&dirs, &["trust", "--yes"]).success();
    dirs
}

/// JSON is YAML, too.
fn write(dirs: &TestDirs, file: &Value) {
    dirs.write("project/capabilities.yaml", serde_json::to_string_pretty(file).unwrap());
}

fn fake_server(id: &str, more: Value) -> Value {
    let (program, arguments) = FakePlan::default().command();
    let mut def = json!({ "cmd": program, "args": arguments });
    for (key, value) in more.as_object().unwrap() {
        def[key] = value.clone();
    }
    json!({ "id": id, "type": "mcp", "def": def })
}

fn mcp_tool(id: &str, tool: &str, more: Value) -> Value {
    let mut def = json!({ "server": "@fake", "tool": tool });
    for (key, value) in more.as_object().unwrap() {
        def[key] = value.clone();
    }
    json!({ "id": id, "type": "mcp", "def": def })
}

fn command_tool(id: &str, run: Value) -> Value {
    json!({ "id": id, "type": "command", "def": { "run": run } })
}

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap()
}

fn tool_names(dirs: &TestDirs, id: &str) -> Vec<String> {
    let listed = json(dirs, &["tools", id]);
    let items = listed["items"].as_array().unwrap().iter();
    items.map(|item| item["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn nothing_happens_before_the_project_is_trusted() {
    let dirs = TestDirs::new();
    write(&dirs, &json!({ "tools": [command_tool("hello", json!({ "cmd": "echo hello" }))] }));
    let refused = run(&dirs, &["call", "commands.hello"]);
    assert_eq!(refused.code, Some(1));
    assert!(refused.stderr.contains("capdeck trust"), "{}", refused.stderr);
    let trust = run(&dirs, &["trust", "--yes"]).success();
    assert!(trust.stderr.contains("hello runs echo hello"), "{}", trust.stderr);
    for words in
        [&["call", "commands.hello"][..], &["call", "commands", "hello"], &["call", "hello"]]
    {
        assert_eq!(run(&dirs, words).success().stdout, "hello\n", "{words:?}");
    }
    write(&dirs, &json!({ "tools": [command_tool("hello", json!({ "cmd": "echo bye" }))] }));
    assert_eq!(run(&dirs, &["call", "hello"]).code, Some(1));
}

#[test]
fn a_chosen_tool_has_its_own_name_defaults_and_form() {
    let formatter = json!({ "formatter": { "cmd": "tr a-z A-Z" }, "defaults": { "count": 5 } });
    let dirs = trusted(&json!({
        "servers": [fake_server("fake", json!({}))],
        "tools": [
            mcp_tool("search", "echo", formatter),
            mcp_tool("broken", "echo", json!({ "formatter": { "cmd": "false" } })),
            mcp_tool("piped", "echo", json!({ "formatter": { "cmd": "cat | wc -l | tr -d ' '" } })),
            mcp_tool("failing", "tool_error", json!({ "formatter": { "cmd": "tr a-z A-Z" } })),
            mcp_tool("lost", "no_such_tool", json!({})),
        ],
    }));
    assert_eq!(tool_names(&dirs, "fake"), ["search", "broken", "piped", "failing"]);
    let called = json(&dirs, &["call", "fake.search", "query=rust"]);
    assert_eq!(text(&called), r#"{"QUERY":"RUST","COUNT":5}"#);
    let own = json(&dirs, &["call", "search", "query=rust", "count:=7", "_capa_raw:=true"]);
    assert_eq!(text(&own), r#"{"query":"rust","count":7}"#);
    let unchanged = json(&dirs, &["call", "broken", "query=rust"]);
    assert_eq!(text(&unchanged), r#"{"query":"rust"}"#);
    assert_eq!(text(&json(&dirs, &["call", "piped", "query=rust"])), "0");
    let failed = capdeck(&dirs).args(["call", "failing", "--json"]).run();
    assert_eq!(failed.json()["isError"], true);
    assert_ne!(text(&failed.json()), text(&failed.json()).to_uppercase());
    let missing = run(&dirs, &["call", "fake", "echo"]);
    assert!(missing.stderr.contains("`fake` has no tool `echo`"), "{}", missing.stderr);
}

#[test]
fn an_agent_sees_the_same_tools() {
    let dirs = trusted(&json!({
        "servers": [fake_server("fake", json!({}))],
        "tools": [mcp_tool("search", "echo", json!({ "defaults": { "count": 5 } }))],
    }));
    let mut agent = capdeck(&dirs).serve(&[]);
    agent.initialize();
    let listed = agent.request("tools/list", json!({}))["result"].clone();
    let names: Vec<&str> = listed["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["fake__search"]);
    let params = json!({ "name": "fake__search", "arguments": { "q": 1 } });
    assert_eq!(text(&agent.request("tools/call", params)["result"]), r#"{"q":1,"count":5}"#);
    agent.close();
    let mut alone = capdeck(&dirs).serve(&["--only", "fake"]);
    alone.initialize();
    let listed = alone.request("tools/list", json!({}))["result"].clone();
    assert_eq!(listed["tools"].as_array().unwrap().len(), 1);
    assert_eq!(listed["tools"][0]["name"], "search");
    alone.close();
}

#[test]
fn a_policy_offers_what_it_says() {
    let policy = |id: &str, expose: &str, tools: Value| {
        let mut server = fake_server(id, json!({}));
        server["expose"] = json!(expose);
        if !tools.is_null() {
            server["tools"] = tools;
        }
        server
    };
    let dirs = trusted(&json!({ "servers": [
        policy("some", "exactly", json!(["echo", "wait"])),
        policy("rest", "except", json!(["echo"])),
        policy("nothing", "none", Value::Null),
        policy("everything", "all", Value::Null),
    ] }));
    assert_eq!(tool_names(&dirs, "some"), ["echo", "wait"]);
    assert!(!tool_names(&dirs, "rest").contains(&"echo".to_owned()));
    assert!(tool_names(&dirs, "nothing").is_empty());
    assert!(tool_names(&dirs, "everything").len() > 10);
    assert_eq!(run(&dirs, &["call", "rest.echo", "a=b"]).code, Some(1));
    assert_eq!(text(&json(&dirs, &["call", "some.echo", "a=b"])), r#"{"a":"b"}"#);
}

#[test]
fn a_server_is_started_in_its_project_with_values_from_everywhere() {
    let (program, arguments) = FakePlan::default().command();
    let quoted: Vec<String> = arguments.iter().map(|word| format!("'{word}'")).collect();
    let line = format!("{} {}", program.display(), quoted.join(" "));
    let env = json!({
        "A": "${FromFile}",
        "B": "${my-key}",
        "C": "x-${FROM_ENVIRONMENT}",
        "D": { "fromEnv": "FROM_ENVIRONMENT" },
        "E": { "fromFile": "secrets/e" },
        "F": { "fromCommand": ["printf", "%s\n", "canary a b"] },
    });
    let dirs = TestDirs::new();
    dirs.write("project/.env", "FromFile=one\nmy-key='two'\n");
    dirs.write("project/secrets/e", "canary-three\n");
    write(
        &dirs,
        &json!({ "servers": [{
        "id": "My Server", "type": "mcp", "displayName": "Mine",
        "def": { "cmd": line, "env": env },
    }] }),
    );
    run(&dirs, &["trust", "--yes"]).success();
    let checked =
        capdeck(&dirs).env("FROM_ENVIRONMENT", "canary-four").args(["check", "My_Server"]);
    checked.run().success();
    let called = capdeck(&dirs)
        .env("FROM_ENVIRONMENT", "canary-four")
        .args(["call", "My_Server", "environment", "--json"])
        .run()
        .success()
        .json();
    let reported = text(&called);
    // Values from elsewhere are secrets, so a result that repeats them is scrubbed.
    for (name, value) in [("A", "one"), ("B", "two"), ("C", "x-[redacted]"), ("D", "[redacted]")] {
        assert!(reported.contains(&format!(r#""{name}":"{value}""#)), "{name}: {reported}");
    }
    assert!(!reported.contains("canary"), "{reported}");
    let project = dirs.project().canonicalize().unwrap();
    assert!(reported.contains(project.to_str().unwrap()), "{reported}");
}

#[test]
fn an_unset_variable_is_named_with_what_to_do() {
    let dirs = trusted(&json!({
        "servers": [fake_server("fake", json!({ "env": { "TOKEN": "${BraveKey}" } }))],
        "tools": [
            command_tool("needs", json!({ "cmd": "echo ${Other}" })),
            command_tool("fine", json!({ "cmd": "echo fine" })),
        ],
    }));
    let failed = run(&dirs, &["tools", "fake"]);
    assert_eq!(failed.code, Some(1));
    assert!(failed.stderr.contains("the variable `BraveKey` is not set"), "{}", failed.stderr);
    assert!(failed.stderr.contains("project/.env"), "{}", failed.stderr);
    assert!(failed.stderr.contains("capdeck vault set"), "{}", failed.stderr);
    let failed = run(&dirs, &["call", "needs"]);
    assert!(failed.stderr.contains("the variable `Other` is not set"), "{}", failed.stderr);
    assert_eq!(run(&dirs, &["call", "fine"]).success().stdout, "fine\n");
}

#[test]
fn the_vault_holds_what_is_set_nowhere_else() {
    let dirs = trusted(&json!({
        "tools": [command_tool("show", json!({ "cmd": "printenv TOKEN", "env": { "TOKEN": "${KEY}" } }))],
    }));
    let set = capdeck(&dirs).args(["vault", "set", "KEY", "--grant", "commands"]);
    set.stdin("canary-4711\n").run().success();
    let shown = run(&dirs, &["call", "show"]).success();
    assert_eq!(shown.stdout, "[redacted]\n");
}

#[test]
fn a_server_that_is_down_fails_its_own_calls_only() {
    let dead = json!({ "id": "dead", "type": "mcp", "def": { "url": "http://127.0.0.1:9/mcp" } });
    let dirs = trusted(&json!({
        "servers": [dead, fake_server("fake", json!({}))],
        "tools": [mcp_tool("say", "echo", json!({}))],
    }));
    assert_eq!(run(&dirs, &["call", "dead", "anything"]).code, Some(1));
    assert_eq!(text(&json(&dirs, &["call", "say", "a=b"])), r#"{"a":"b"}"#);
    let listed = json(&dirs, &["list"]);
    assert_eq!(listed["items"].as_array().unwrap().len(), 2);
}

#[test]
fn a_remote_server_gets_its_headers() {
    let wanted = Some(("X-Api-Key".to_owned(), "canary-77".to_owned()));
    let fake = FakePlan { http_required_header: wanted, ..FakePlan::default() }.start_http();
    let dirs = TestDirs::new();
    dirs.write("project/.env", "KEY=canary-77\n");
    dirs.write("project/key", "canary-77\n");
    let server = |id: &str, value: Value| json!({ "id": id, "type": "mcp", "def": { "url": fake.url, "headers": { "X-Api-Key": value } } });
    write(
        &dirs,
        &json!({ "servers": [
        server("named", json!("${KEY}")),
        server("filed", json!({ "fromFile": "key" })),
        server("wrong", json!("nothing")),
    ] }),
    );
    run(&dirs, &["trust", "--yes"]).success();
    for id in ["named", "filed"] {
        assert_eq!(text(&json(&dirs, &["call", id, "echo", "a=b"])), r#"{"a":"b"}"#, "{id}");
    }
    let refused = run(&dirs, &["call", "wrong", "echo"]);
    assert_ne!(refused.code, Some(0));
    assert!(!refused.stderr.contains("canary"), "{}", refused.stderr);
}

#[test]
fn arguments_stay_inside_their_words() {
    let args = json!([
        { "name": "what", "type": "string" },
        { "name": "data", "type": "object", "required": false },
        { "name": "count", "type": "number", "default": 2 },
    ]);
    let spec = json!({ "cmd": "printf '<%s>' --x={what} {data} {count} '{other}'", "args": args });
    let dirs = trusted(&json!({ "tools": [command_tool("show", spec)] }));
    let called = run(&dirs, &["call", "show", "what=a b; $(id) ${HOME} {count}"]).success();
    assert_eq!(called.stdout, "<--x=a b; $(id) ${HOME} {count}><><2><{other}>\n");
    let called = run(&dirs, &["call", "show", "what=x", r#"data:={"a":[1,"b c"]}"#, "count:=3"]);
    assert_eq!(called.success().stdout, "<--x=x><{\"a\":[1,\"b c\"]}><3><{other}>\n");
    let missing = run(&dirs, &["call", "show"]);
    assert_eq!(missing.code, Some(1));
    assert!(missing.stderr.contains("what"), "{}", missing.stderr);
}

#[test]
fn commands_run_in_their_folder_and_keep_their_exit_code() {
    let dirs = TestDirs::new();
    dirs.write("project/tools/here", "");
    let mut grouped = command_tool("where", json!({ "cmd": "pwd", "dir": "tools" }));
    grouped["group"] = json!("ops");
    let failing = command_tool("fail", json!({ "cmd": "ls /no/such/place" }));
    write(&dirs, &json!({ "tools": [grouped, failing] }));
    run(&dirs, &["trust", "--yes"]).success();
    let folder = dirs.project().canonicalize().unwrap().join("tools");
    assert_eq!(
        run(&dirs, &["call", "ops.where"]).success().stdout,
        format!("{}\n", folder.display())
    );
    let failed = capdeck(&dirs).args(["call", "fail", "--json"]).run();
    let result = failed.json();
    assert_eq!((failed.code, &result["isError"]), (Some(1), &json!(true)));
    let code = result["structuredContent"]["exitCode"].as_i64().unwrap();
    assert!(code > 0 && text(&result).contains(&code.to_string()), "{result}");
}

#[test]
fn an_init_runs_once_and_again_after_a_failure() {
    let dirs = TestDirs::new();
    let init = "cp --no-clobber seed done-{n}";
    let tool = json!({ "id": "work", "type": "command", "def": {
        "init": { "cmd": init, "args": [{ "name": "n", "type": "number", "default": 1 }] },
        "run": { "cmd": "cat log" },
    } });
    let count = json!({ "id": "count", "type": "command", "def": {
        "init": { "cmd": "tee -a log" },
        "run": { "cmd": "wc -l seed" },
    } });
    write(&dirs, &json!({ "tools": [tool, count] }));
    run(&dirs, &["trust", "--yes"]).success();
    dirs.write("project/log", "ready\n");
    let failed = run(&dirs, &["call", "work"]);
    assert_eq!(failed.code, Some(1));
    assert!(failed.stderr.contains("the initialisation of `work` failed"), "{}", failed.stderr);
    dirs.write("project/seed", "x\n");
    assert_eq!(run(&dirs, &["call", "work"]).success().stdout, "ready\n");
    let made = dirs.project().join("done-1");
    assert!(made.is_file());
    fs::remove_file(&made).unwrap();
    assert_eq!(run(&dirs, &["call", "work"]).success().stdout, "ready\n");
    assert!(!made.exists(), "it ran again");
}

#[test]
fn the_option_decides_how_tools_are_offered() {
    for (option, expected) in [
        ("expose-all", "direct"),
        ("on-demand", "on_demand"),
        ("search", "search"),
        ("none", "none"),
    ] {
        let dirs = trusted(&json!({
            "options": { "toolExposure": option },
            "tools": [command_tool("hello", json!({ "cmd": "echo hello" }))],
        }));
        let listed = json(&dirs, &["list"]);
        assert_eq!(listed["items"][0]["exposure"], expected, "{option}");
    }
}

#[test]
fn a_broken_file_is_reported_and_the_rest_works() {
    let dirs = TestDirs::new();
    dirs.write("config/echo.md", crate::echo_file("Echo"));
    dirs.write(
        "project/capabilities.yaml",
        "servers:\n  - { id: bad, type: mcp, def: {} }\ntools:\n  - { id: ok, type: command, def: { run: { cmd: echo ok } } }\n",
    );
    run(&dirs, &["trust", "--yes"]).success();
    let reported = run(&dirs, &["validate"]);
    assert_eq!(reported.code, Some(1));
    assert!(
        reported.stdout.contains("the server `bad` has neither `cmd` nor `url`"),
        "{}",
        reported.stdout
    );
    assert!(reported.stdout.contains("capabilities.yaml:2"), "{}", reported.stdout);
    assert_eq!(run(&dirs, &["call", "ok"]).success().stdout, "ok\n");
    dirs.write("project/capabilities.yaml", "servers: [\n");
    assert_eq!(run(&dirs, &["validate", "capabilities.yaml"]).code, Some(1));
    assert_eq!(run(&dirs, &["call", "echo.say", "text=hi"]).success().stdout, "hi\n");
    let schema = json(&dirs, &["schema", "capabilities"]);
    assert_eq!(schema["title"], "Capability file");
}
