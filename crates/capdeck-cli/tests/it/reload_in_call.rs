//! Files that change in the middle of a call: it is decided and made by one definition, never by parts of two.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use capdeck_test::{FakePlan, StdioClient, TestDirs};
use serde_json::{Value, json};

use crate::capdeck;

/// A capability with a destructive command that prints `word`, and a tool `marker`, by which a client sees that the file was read again.
fn files(word: &str, marker: &str) -> String {
    format!(
        "---\nname: Files\ndescription: Files of this folder.\ncliTools:\n  actions:\n    remove:\n      \
         description: Removes a file.\n      command: echo\n      args: [{word}, $input.path]\n      \
         annotations: {{ destructiveHint: true }}\n      inputSchema:\n        type: object\n        \
         properties: {{ path: {{ type: string }} }}\n        required: [path]\n    {marker}:\n      \
         description: Says nothing.\n      command: \"true\"\n---\n"
    )
}

/// A client that can be asked, and knows the list of tools.
fn asked_client(dirs: &TestDirs) -> StdioClient {
    let mut client = capdeck(dirs).serve(&["--exposure", "direct"]);
    client.initialize_with(json!({"elicitation": {}}));
    client.request("tools/list", json!({}));
    client
}

fn remove(client: &mut StdioClient) -> u64 {
    let params = json!({"name": "files__remove", "arguments": {"path": "a"}});
    client.send_request("tools/call", params)
}

/// The question whether the call may run.
fn question(client: &mut StdioClient) -> Value {
    client.incoming("elicitation/create")["id"].clone()
}

fn answer(client: &mut StdioClient, question: &Value, decision: &str) {
    client.respond(question, json!({"action": "accept", "content": {"decision": decision}}));
}

/// Writes a file of the deck and waits until the host has read it.
fn rewrite(client: &mut StdioClient, dirs: &TestDirs, path: &str, text: impl AsRef<[u8]>) {
    dirs.write(path, text);
    client.incoming("notifications/tools/list_changed");
}

#[test]
fn an_approval_holds_for_the_definition_that_was_asked_about() {
    for (decision, outcome) in [("once", "changed a"), ("no", "did not approve")] {
        let dirs = TestDirs::new();
        dirs.write("config/files.md", files("removed", "first"));
        let mut client = asked_client(&dirs);
        let call = remove(&mut client);
        let first = question(&mut client);
        rewrite(&mut client, &dirs, "config/files.md", files("changed", "second"));
        answer(&mut client, &first, "once");
        let second = question(&mut client);
        answer(&mut client, &second, decision);
        let result = client.answer_to(call)["result"].to_string();
        assert!(result.contains(outcome) && !result.contains("removed"), "{result}");
        client.close();
    }
}

#[test]
fn an_approval_is_not_asked_for_again_when_other_files_changed() {
    let dirs = TestDirs::new();
    dirs.write("config/files.md", files("removed", "first"));
    let mut client = asked_client(&dirs);
    let call = remove(&mut client);
    let first = question(&mut client);
    rewrite(&mut client, &dirs, "config/other.md", crate::echo_file("Other"));
    answer(&mut client, &first, "once");
    let result = client.answer_to(call)["result"].to_string();
    assert!(result.contains("removed a"), "{result}");
    client.close();
}

#[test]
fn a_rule_that_came_while_a_person_was_asked_is_obeyed() {
    let dirs = TestDirs::new();
    dirs.write("config/files.md", files("removed", "first"));
    let mut client = asked_client(&dirs);
    let call = remove(&mut client);
    let first = question(&mut client);
    let policy = "policy:\n  - deny: { capability: files, tool: remove }\n";
    rewrite(&mut client, &dirs, "config/config.yaml", policy);
    answer(&mut client, &first, "once");
    let result = client.answer_to(call)["result"].clone();
    assert_eq!(result["structuredContent"]["error"]["code"], "TOOL_NOT_FOUND", "{result}");
    client.close();
}

#[test]
fn a_capability_that_went_while_a_person_was_asked_is_not_called() {
    let dirs = TestDirs::new();
    dirs.write("config/files.md", files("removed", "first"));
    dirs.write("config/other.md", crate::echo_file("Other"));
    let mut client = asked_client(&dirs);
    let call = remove(&mut client);
    let first = question(&mut client);
    std::fs::remove_file(dirs.root().join("config/files.md")).unwrap();
    client.incoming("notifications/tools/list_changed");
    answer(&mut client, &first, "once");
    let result = client.answer_to(call)["result"].clone();
    assert_eq!(result["structuredContent"]["error"]["code"], "SERVER_NOT_FOUND", "{result}");
    client.close();
}

/// Waits for a file that a program of the test makes.
fn until_exists(path: &Path) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !path.exists() {
        assert!(Instant::now() < deadline, "waited too long for {}", path.display());
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A server that waits with its start while a file says so. `generation` makes it another definition, and is what its tools are reported by.
fn slow_server(dirs: &TestDirs, generation: &str) -> Value {
    let plan = FakePlan {
        name: generation.to_owned(),
        behaviours: false,
        everything: false,
        extra_tools: vec![
            json!({"name": "params", "description": "Shows it", "inputSchema": {"type": "object"}}),
            json!({"name": generation, "description": "Tells the generations apart"}),
        ],
        record: Some(dirs.root().join(format!("{generation}.record"))),
        ..FakePlan::default()
    };
    let (program, arguments) = plan.command();
    let script = r#"if [ -e "$2/hold" ]; then touch "$2/waits"; cat "$2/gate" > /dev/null; fi; exec "$0" --plan "$1""#;
    json!({"mcpServers": {"slow": {
        "name": "Slow", "description": "A server of the test", "command": "sh",
        "args": ["-c", script, program, arguments[1], dirs.root()], "startupTimeoutMs": 60_000,
    }}})
}

/// How many calls a generation of the server received.
fn calls(dirs: &TestDirs, generation: &str) -> usize {
    let text = std::fs::read_to_string(dirs.root().join(format!("{generation}.record")));
    text.unwrap_or_default().lines().filter(|line| line.contains("\"tools/call\"")).count()
}

#[test]
fn a_call_under_way_finishes_with_the_definition_it_began_with() {
    let dirs = TestDirs::new();
    dirs.write_config(&slow_server(&dirs, "old"));
    asked_client(&dirs).close();
    dirs.write("hold", "");
    let gate = dirs.root().join("gate");
    let status = std::process::Command::new("mkfifo").arg(&gate).status().unwrap();
    assert!(status.success());

    let mut client = asked_client(&dirs);
    let params = json!({"name": "slow__params", "arguments": {}});
    let call = client.send_request("tools/call", params.clone());
    until_exists(&dirs.root().join("waits"));
    // The new definition is another program that would answer at once.
    std::fs::remove_file(dirs.root().join("hold")).unwrap();
    dirs.write_config(&slow_server(&dirs, "new"));
    client.incoming("notifications/tools/list_changed");
    let answered = client.request("tools/call", params.clone());
    assert_ne!(answered["result"]["isError"], true, "{answered}");
    assert_eq!((calls(&dirs, "old"), calls(&dirs, "new")), (0, 1));
    std::fs::write(&gate, "go").unwrap();
    let first = client.answer_to(call);
    assert_ne!(first["result"]["isError"], true, "{first}");
    assert_eq!((calls(&dirs, "old"), calls(&dirs, "new")), (1, 1));
    // The old connection took no place from the new one.
    client.request("tools/call", params);
    assert_eq!((calls(&dirs, "old"), calls(&dirs, "new")), (1, 2));
    let starts = std::fs::read_to_string(dirs.root().join("new.record")).unwrap();
    assert_eq!(starts.matches("\"started\"").count(), 1, "{starts}");
    client.close();
}
