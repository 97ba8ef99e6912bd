//! `capdeck approvals`, `approve`, and calls that need a person's word.

use capdeck_test::{StdioClient, TestDirs};
use serde_json::{Value, json};

use crate::{capdeck, json, run, shown};

/// A deck with one command that says it is destructive.
pub(crate) fn destructive() -> TestDirs {
    let dirs = TestDirs::new();
    dirs.write(
        "config/files.md",
        "---\nname: Files\ndescription: Files of this folder.\ncliTools:\n  actions:\n    remove:\n      \
         description: Removes a file.\n      command: echo\n      args: [removed, $input.path]\n      \
         annotations: { destructiveHint: true }\n      inputSchema:\n        type: object\n        \
         properties: { path: { type: string } }\n        required: [path]\n---\n",
    );
    dirs
}

/// Calls `files.remove` as an agent.
pub(crate) fn remove(client: &mut StdioClient, path: &str) -> Value {
    let arguments = json!({"name": "files__remove", "data": {"path": path}});
    let answer = client.request("tools/call", json!({"name": "call_tool", "arguments": arguments}));
    answer["result"].clone()
}

pub(crate) fn waiting_id(result: &Value) -> String {
    assert_eq!(result["isError"], true, "{result}");
    let error = &result["structuredContent"]["error"];
    assert_eq!(error["code"], "APPROVAL_REQUIRED", "{result}");
    error["details"]["approval"]["id"].as_str().unwrap().to_owned()
}

fn ran(result: &Value) -> bool {
    result["isError"] != true && result.to_string().contains("removed")
}

#[test]
fn an_approved_call_can_be_repeated_once_while_the_host_runs() {
    let dirs = destructive();
    let mut client = capdeck(&dirs).serve(&[]);
    client.initialize();
    let refused = remove(&mut client, "old.txt");
    let id = waiting_id(&refused);
    let text = refused["content"][0]["text"].as_str().unwrap();
    assert!(text.contains(&format!("capdeck approve {id}")), "{text}");

    let listed = json(&dirs, &["approvals"]);
    let item = &listed["items"][0];
    assert_eq!(
        [&item["id"], &item["state"], &item["capability"], &item["tool"], &item["arguments"]],
        [
            &json!(id),
            &json!("waiting"),
            &json!("files"),
            &json!("remove"),
            &json!(r#"{"path":"old.txt"}"#)
        ]
    );
    assert_eq!(
        run(&dirs, &["doctor", "--json"]).json()["items"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|item| item["check"] == "approvals")
            .count(),
        1
    );

    let approved = json(&dirs, &["approve", &id]);
    assert_eq!(approved["approval"]["state"], "approved");
    assert!(!ran(&remove(&mut client, "other.txt")));
    assert!(ran(&remove(&mut client, "old.txt")));
    assert_ne!(waiting_id(&remove(&mut client, "old.txt")), id);
    client.close();
}

#[test]
fn a_standing_approval_holds_until_it_is_revoked() {
    let dirs = destructive();
    let mut client = capdeck(&dirs).serve(&[]);
    client.initialize();
    let id = waiting_id(&remove(&mut client, "a"));
    run(&dirs, &["approve", &id, "--always"]).success();
    assert!(ran(&remove(&mut client, "b")) && ran(&remove(&mut client, "c")));
    assert_eq!(run(&dirs, &["call", "files", "remove", "path=d"]).success().stdout, "removed d\n");
    assert_eq!(json(&dirs, &["approvals"])["items"][0]["state"], "standing");
    let shown = run(&dirs, &["approvals"]).success().stdout;
    assert!(shown.contains("files.remove") && shown.contains("standing"), "{shown}");
    run(&dirs, &["approve", "--revoke", &id]).success();
    waiting_id(&remove(&mut client, "e"));
    client.close();
}

#[test]
fn unknown_ids_are_said() {
    let dirs = TestDirs::new();
    insta::assert_snapshot!(shown(&dirs, &run(&dirs, &["approve", "abc"])), @r"
    exit 1
    --- stdout
    --- stderr
    error: there is no approval `abc`; a waiting call expires after one hour
    hint: see what waits with: capdeck approvals
    ");
    assert_eq!(run(&dirs, &["approve", "--revoke", "abc"]).code, Some(1));
    assert_eq!(run(&dirs, &["approve", "abc", "--always", "--revoke"]).code, Some(2));
    assert_eq!(json(&dirs, &["approvals"]), json!({"items": []}));
    let refused = run(&dirs, &["approve", "abc", "--json"]);
    assert_eq!(refused.json()["error"]["code"], "APPROVAL_NOT_FOUND");
}

#[test]
fn a_call_without_a_terminal_waits_for_the_person() {
    let dirs = destructive();
    for words in [
        &["call", "files", "remove", "path=x"][..],
        &["sh", "files", "remove", "--path", "x"],
        &["call", "files", "remove", "path=x", "--json"],
        &["run", "-e", "await caplets.files.remove({ path: 'x' })"],
    ] {
        let refused = run(&dirs, words);
        assert_eq!(refused.code, Some(1), "{words:?}: {}", refused.stderr);
        let said = format!("{}{}", refused.stdout, refused.stderr);
        let waiting = json(&dirs, &["approvals"])["items"].clone();
        let id = waiting[0]["id"].as_str().unwrap_or_else(|| panic!("{words:?}: {said}"));
        assert!(
            said.contains(&format!("the person runs: capdeck approve {id}")),
            "{words:?}: {said}"
        );
        // Who reads this may be an agent, which must not learn here how to approve its own call.
        assert!(!said.contains("--yes") && !said.contains("hint: run: "), "{words:?}: {said}");
        run(&dirs, &["approve", id, "--revoke"]).success();
    }
    let refused = run(&dirs, &["call", "files", "remove", "path=x", "--json"]);
    let id = refused.json()["error"]["details"]["approval"]["id"].as_str().unwrap().to_owned();
    run(&dirs, &["approve", &id]).success();
    let done = run(&dirs, &["call", "files", "remove", "path=x"]).success();
    assert_eq!(done.stdout, "removed x\n");
    assert_eq!(run(&dirs, &["call", "files", "remove", "path=x"]).code, Some(1), "once is once");

    let help = run(&dirs, &["sh", "files", "remove", "--help"]).success().stdout;
    assert!(help.contains("Requires approval") && !help.contains("--yes"), "{help}");
    let done = run(&dirs, &["call", "files", "remove", "path=x", "--yes"]).success();
    assert_eq!(done.stdout, "removed x\n");
    dirs.write("config/config.yaml", "policy:\n  - allow: { capability: files }\n");
    run(&dirs, &["call", "files", "remove", "path=x"]).success();
}

#[test]
fn why_tells_what_the_policy_says() {
    let dirs = destructive();
    let policy = |dirs: &TestDirs, words: &[&str]| {
        let mut line = vec!["why", "files", "remove"];
        line.extend(words);
        let tool = json(dirs, &line)["tool"].clone();
        (
            tool["policy"].as_str().unwrap().to_owned(),
            tool["policyBecause"].as_str().unwrap().to_owned(),
        )
    };
    let pair = |one: &str, other: &str| (one.to_owned(), other.to_owned());
    assert_eq!(policy(&dirs, &[]), pair("ask", "it is marked destructive"));
    dirs.write(
        "config/config.yaml",
        "policy:\n  - deny: { tool: 'rem*', principal: 'agent-*' }\n  - allow: { annotation: destructive }\n",
    );
    assert_eq!(policy(&dirs, &[]), pair("allow", "rule 2 of your policy"));
    assert_eq!(policy(&dirs, &["--client", "agent-1"]), pair("deny", "rule 1 of your policy"));
    let text = run(&dirs, &["why", "files.remove", "--client", "agent-1"]).success().stdout;
    assert!(text.contains("does not exist for this client"), "{text}");
}

#[test]
fn a_denied_tool_is_unknown_at_the_command_line_too() {
    let dirs = destructive();
    dirs.write("config/config.yaml", "policy:\n  - deny: { tool: remove }\n");
    let denied = run(&dirs, &["call", "files", "remove", "path=x", "--yes"]);
    let unknown = run(&dirs, &["call", "files", "abcdef", "path=x", "--yes"]);
    assert_eq!(denied.stderr.replace("remove", "abcdef"), unknown.stderr);
    assert_eq!(json(&dirs, &["tools", "files"])["items"], json!([]));
}

#[test]
fn a_client_that_can_show_a_form_is_asked_in_the_middle_of_the_call() {
    let dirs = destructive();
    let mut client = capdeck(&dirs).serve(&[]);
    client.initialize_with(json!({"elicitation": {}}));
    for (decision, runs) in [("no", false), ("once", true), ("always", true)] {
        let arguments = json!({"name": "files__remove", "data": {"path": decision}});
        let call =
            client.send_request("tools/call", json!({"name": "call_tool", "arguments": arguments}));
        let question = client.incoming("elicitation/create");
        let message = question["params"]["message"].as_str().unwrap().to_owned();
        assert!(message.starts_with("Run `remove` of `files`?"), "{message}");
        let reply = json!({"action": "accept", "content": {"decision": decision}});
        client.respond(&question["id"], reply);
        assert_eq!(ran(&client.answer_to(call)["result"]), runs, "{decision}");
    }
    // No one is asked any more.
    assert!(ran(&remove(&mut client, "x")));
    client.close();
}
