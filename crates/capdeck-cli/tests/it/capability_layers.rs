//! A project's `capabilities.yaml` beside other files, other processes and odd names.

use std::fs;

use capdeck_test::{FakePlan, TestDirs, built_binary};
use serde_json::{Value, json};

use crate::{capdeck, json, run};

fn trusted(file: &Value) -> TestDirs {
    let dirs = TestDirs::new();
    dirs.write("project/capabilities.yaml", file.to_string());
    run(&dirs, &["trust", "--yes"]).success();
    dirs
}

fn server(plan: &FakePlan) -> Value {
    let (program, arguments) = plan.command();
    json!({ "cmd": program, "args": arguments })
}

fn listed(dirs: &TestDirs) -> Vec<String> {
    let mut agent = capdeck(dirs).serve(&[]);
    agent.initialize();
    let listed = agent.request("tools/list", json!({}))["result"]["tools"].clone();
    let names = listed.as_array().unwrap().iter();
    names.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_capability_that_another_file_replaces_is_not_narrowed_by_the_older_choice() {
    let dirs = trusted(&json!({
        "servers": [{ "id": "fake", "type": "mcp", "def": server(&FakePlan::default()) }],
        "tools": [
            { "id": "echo", "type": "mcp", "def": { "server": "@fake", "tool": "echo" } },
            { "id": "params", "type": "mcp", "def": { "server": "@fake", "tool": "params" } },
        ],
        "skills": [{ "id": "talk", "type": "inline",
            "def": { "content": "---\nname: talk\n---\n", "requires": ["fake.echo"] } }],
    }));
    run(&dirs, &["tools", "fake"]).success();
    let names = listed(&dirs);
    assert!(names.contains(&"fake__echo".to_owned()), "{names:?}");
    assert!(!names.contains(&"fake__params".to_owned()), "{names:?}");
    let why = json(&dirs, &["why", "fake", "params"]);
    assert_eq!(why["tool"]["requiredBySkill"], false, "{why}");

    // The project's own file of that id wins, and no one chose among its tools.
    let mut block = FakePlan::default().deck_entry();
    let (name, description) = (block["name"].take(), block["description"].take());
    block.as_object_mut().unwrap().retain(|_, value| !value.is_null());
    let front = json!({ "name": name, "description": description, "exposure": "direct", "mcpServer": block });
    dirs.write("project/.capdeck/fake.md", format!("---\n{front}\n---\n"));
    run(&dirs, &["trust", "--yes"]).success();
    run(&dirs, &["tools", "fake"]).success();
    let names = listed(&dirs);
    assert!(names.contains(&"fake__params".to_owned()), "{names:?}");
    let why = json(&dirs, &["why", "fake", "params"]);
    assert_eq!(why["tool"]["requiredBySkill"], Value::Null, "{why}");
}

#[test]
fn tools_are_chosen_of_a_server_that_a_plugin_brought() {
    let file = json!({
        "plugins": [{ "type": "github", "def": { "repo": "team/kit" } }],
        "tools": [
            { "id": "shout", "type": "mcp", "def": { "server": "@kit", "tool": "echo",
                "formatter": { "cmd": "tr a-z A-Z" } } },
            { "id": "spare", "type": "mcp", "def": { "server": "@kit", "tool": "params" } },
        ],
        "skills": [{ "id": "talk", "type": "inline",
            "def": { "content": "---\nname: talk\n---\n", "requires": ["@kit.shout"] } }],
    });
    let dirs = TestDirs::new();
    dirs.write("project/capabilities.yaml", file.to_string());
    // As `capdeck install` writes it.
    let mut block = FakePlan::default().deck_entry();
    let (name, description) = (block["name"].take(), block["description"].take());
    block.as_object_mut().unwrap().retain(|_, value| !value.is_null());
    let front = json!({ "name": name, "description": description, "mcpServer": block });
    dirs.write("project/.capdeck/kit.md", format!("---\n{front}\n---\n"));
    run(&dirs, &["trust", "--yes"]).success();
    let items = json(&dirs, &["tools", "kit"])["items"].clone();
    let names: Vec<_> = items.as_array().unwrap().iter().map(|one| one["name"].clone()).collect();
    assert_eq!(names, ["shout", "spare"]);
    assert_eq!(run(&dirs, &["call", "kit.shout", "a=b"]).success().stdout, "{\"A\":\"B\"}\n");
    let mut agent = capdeck(&dirs).serve(&["--exposure", "on-demand"]);
    agent.initialize();
    let set_up = json!({ "name": "setup_tools", "arguments": { "skills": ["talk"] } });
    let answer = agent.request("tools/call", set_up).to_string();
    assert!(answer.contains("kit.shout") && !answer.contains("kit.spare"), "{answer}");
}

#[test]
fn a_file_of_the_deck_chooses_among_a_servers_tools() {
    let dirs = TestDirs::new();
    for (id, tools) in
        [("some", json!({ "exactly": ["echo"] })), ("most", json!({ "except": ["echo"] }))]
    {
        let mut entry = FakePlan::default().deck_entry();
        entry["tools"] = tools;
        dirs.write(format!("config/{id}.md"), {
            let (name, description) = (entry["name"].take(), entry["description"].take());
            entry.as_object_mut().unwrap().retain(|_, value| !value.is_null());
            let front = json!({ "name": name, "description": description, "mcpServer": entry });
            format!("---\n{front}\n---\n")
        });
    }
    let names = |id: &str| -> Vec<String> {
        let items = json(&dirs, &["tools", id])["items"].clone();
        items
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["name"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(names("some"), ["echo"]);
    let most = names("most");
    assert!(most.len() > 20 && !most.contains(&"echo".to_owned()), "{most:?}");
    let refused = run(&dirs, &["call", "most.echo"]);
    assert_eq!(refused.code, Some(1), "{}", refused.stderr);
    assert!(refused.stderr.contains("has no tool `echo`"), "{}", refused.stderr);
}

#[test]
fn odd_tool_names_are_found_by_the_names_that_clients_can_send() {
    let odd = |name: &str| json!({ "name": name, "inputSchema": { "type": "object" } });
    let plan = FakePlan {
        extra_tools: vec![odd("files.get/info"), odd("files.delete/all")],
        ..FakePlan::default()
    };
    let dirs = trusted(&json!({
        "options": { "toolExposure": "on-demand" },
        "servers": [{ "id": "fake", "type": "mcp", "def": server(&plan),
            "expose": "except", "tools": ["files.delete/all"] }],
        "skills": [{ "id": "look", "type": "inline",
            "def": { "content": "---\nname: look\n---\n", "requires": ["@fake.files_get_info"] } }],
    }));
    let mut agent = capdeck(&dirs).serve(&[]);
    agent.initialize();
    let mut call = |name: &str, arguments: Value| {
        agent.request("tools/call", json!({ "name": name, "arguments": arguments }))["result"]
            .clone()
    };
    let set_up = call("setup_tools", json!({ "skills": ["look"] }));
    let listed = set_up["structuredContent"]["tools"][0].as_str().unwrap();
    let listed = listed.strip_suffix("()").unwrap();
    for name in [listed, "fake.files.get/info", "fake.files_get_info", "fake_files_get_info"] {
        let answer = call("call_tool", json!({ "name": name, "data": { "a": 1 } }));
        assert_eq!(answer["content"][0]["text"], "{\"a\":1}", "{name}: {answer}");
    }
    let gone = call("call_tool", json!({ "name": "fake.files_delete_all", "data": {} }));
    assert_eq!(gone["isError"], true, "{gone}");
}

#[test]
fn a_formatter_works_on_what_a_task_leaves() {
    for era in ["legacy", "modern"] {
        let program = built_binary("capdeck-test", "conformance-server");
        let dirs = trusted(&json!({
            "servers": [{ "id": "jobs", "type": "mcp",
                "def": { "cmd": program, "args": ["--stdio", "--era", era] } }],
            "tools": [{ "id": "compute", "type": "mcp", "def": { "server": "@jobs",
                "tool": "slow_compute", "formatter": { "cmd": "tr a-z A-Z" } } }],
        }));
        let mut agent = capdeck(&dirs).serve(&["--only", "jobs"]);
        agent.initialize_with(json!({ "tasks": {} }));
        let call = json!({ "name": "compute", "arguments": { "seconds": 0.0, "label": "it" } });
        let at_once = agent.request("tools/call", call.clone());
        assert_eq!(at_once["result"]["content"][0]["text"], "COMPUTED IT", "{era}: {at_once}");
        let mut as_task = call;
        as_task["task"] = json!({});
        let made = agent.request("tools/call", as_task);
        let id = json!({ "taskId": made["result"]["task"]["taskId"] });
        let result = agent.request("tasks/result", id);
        assert_eq!(result["result"]["content"][0]["text"], "COMPUTED IT", "{era}: {result}");
    }
}

#[test]
fn two_processes_prepare_a_tool_once() {
    // Each start leaves a line. The first one waits until it is let go on.
    let dirs = trusted(&json!({ "tools": [{ "id": "work", "type": "command", "def": {
        "init": { "cmd": "sh init.sh" },
        "run": { "cmd": "cat log" },
    } }] }));
    dirs.write(
        "project/init.sh",
        "echo started >> log\nmkfifo gate 2>/dev/null\ncat gate > /dev/null\n",
    );
    run(&dirs, &["trust", "--yes"]).success();
    let start = || {
        let mut client = capdeck(&dirs).serve(&[]);
        client.initialize();
        let call = json!({ "name": "commands__work", "arguments": {} });
        let id = client.send_request("tools/call", call);
        (client, id)
    };
    let (mut first, first_id) = start();
    let (mut second, second_id) = start();
    // Opening the gate waits for the one process that reads it.
    let gate = dirs.project().join("gate");
    while !gate.exists() {
        std::thread::yield_now();
    }
    fs::write(&gate, "go\n").unwrap();
    for (client, id) in [(&mut first, first_id), (&mut second, second_id)] {
        let answer = client.answer_to(id);
        assert_eq!(answer["result"]["content"][0]["text"], "started", "{answer}");
    }
}
