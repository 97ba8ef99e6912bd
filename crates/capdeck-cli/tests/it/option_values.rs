//! A caller's value does not become an option of the program that gets it.

use capdeck_test::TestDirs;
use serde_json::{Value, json};

use crate::{cmp::install, json, run};

const CAPLET: &str = r#"---
name: Shell words
description: Says the words it is given.
cliTools:
  actions:
    plain:
      command: printf
      args: ["<%s>\n", "$input.value"]
      inputSchema: { type: object, properties: { value: { type: [string, number] } } }
    ended:
      command: printf
      args: ["<%s>\n", "--", "$input.value"]
      inputSchema: { type: object, properties: { value: { type: string } } }
    inside:
      command: printf
      args: ["<%s>\n", "--value=$input.value"]
      inputSchema: { type: object, properties: { value: { type: string } } }
    allowed:
      command: printf
      args: ["<%s>\n", "$input.value"]
      inputSchema: { type: object, properties: { value: { type: string, allowLeadingDash: true } } }
    chosen:
      command: printf
      args: ["<%s>\n", "$input.value"]
      inputSchema: { type: object, properties: { value: { enum: ["-v", "plain"] } } }
    degrees:
      command: printf
      args: ["<%s>\n", "$input.value"]
      inputSchema: { type: object, properties: { value: { type: number, minimum: -90 } } }
---
"#;

const PROJECT: &str = r#"
tools:
  - id: list
    type: command
    def: { run: { cmd: "ls {p}", args: [{ name: p }] } }
  - id: list_ended
    type: command
    def: { run: { cmd: "ls -- {p}", args: [{ name: p }] } }
  - id: list_allowed
    type: command
    def: { run: { cmd: "ls {p}", args: [{ name: p, allowLeadingDash: true }] } }
  - id: list_twice
    type: command
    def: { run: { cmd: "ls {p}{q}", args: [{ name: p }, { name: q }] } }
"#;

fn call(
    dirs: &TestDirs,
    capability: &str,
    tool: &str,
    arguments: &Value,
) -> Result<String, String> {
    let arguments = arguments.to_string();
    let ran = run(dirs, &["call", capability, tool, "--args", &arguments]);
    if ran.code == Some(0) { Ok(ran.stdout) } else { Err(ran.stderr) }
}

#[track_caller]
fn assert_refused(answer: Result<String, String>, argument: &str) {
    let error = answer.expect_err("the value became an option");
    assert!(error.contains(&format!("argument `{argument}` begins with `-`")), "{error}");
    assert!(error.contains("allowLeadingDash: true"), "{error}");
}

#[test]
fn actions_of_a_caplet() {
    let dirs = TestDirs::new();
    dirs.write("config/words.md", CAPLET);
    let call = |tool: &str, value: Value| call(&dirs, "words", tool, &json!({ "value": value }));
    for value in [json!("--help"), json!("-5"), json!("-"), json!(-5)] {
        assert_refused(call("plain", value), "value");
    }
    assert_refused(call("chosen", json!("plain")).and(call("plain", json!("-v"))), "value");
    for (tool, value, said) in [
        ("plain", json!("a -b"), "<a -b>"),
        ("ended", json!("--help"), "<--help>"),
        ("inside", json!("-x"), "<--value=-x>"),
        ("allowed", json!("-x"), "<-x>"),
        ("chosen", json!("-v"), "<-v>"),
        ("degrees", json!(-5), "<-5>"),
    ] {
        let answer = call(tool, value.clone()).unwrap();
        assert!(answer.contains(said), "{tool} {value}: {answer}");
    }
}

#[test]
fn commands_of_a_capability_file() {
    let dirs = TestDirs::new();
    dirs.write("project/capabilities.yaml", PROJECT);
    dirs.write("project/-n", "");
    run(&dirs, &["trust", "--yes"]).success();
    assert_refused(call(&dirs, "commands", "list", &json!({ "p": "--help" })), "p");
    assert_refused(call(&dirs, "commands", "list_twice", &json!({ "p": "", "q": "-l" })), "q");
    let ended = call(&dirs, "commands", "list_ended", &json!({ "p": "-n" }));
    assert_eq!(ended.as_deref(), Ok("-n\n"));
    let allowed = call(&dirs, "commands", "list_allowed", &json!({ "p": "--version" }));
    assert!(allowed.is_ok_and(|text| text.starts_with("ls ")));
}

#[test]
fn commands_of_a_cmp_tool() {
    let dirs = TestDirs::new();
    install(
        &dirs,
        r#"{ "domain": "email", "name": "box", "summary": "Mail", "version": "1.0.0" }"#,
        r#"{ "intents": [
            { "patterns": ["say words"], "command": "inbox words {text} {list}",
              "params": { "text": { "type": "string", "default": "-d" }, "list": { "type": "array<string>" } } },
            { "patterns": ["say ended"], "command": "inbox words -- {list}",
              "params": { "list": { "type": "array<string>" } } },
            { "patterns": ["say allowed"], "command": "inbox words {list}",
              "params": { "list": { "type": "array<string>", "allowLeadingDash": true } } },
            { "patterns": ["say joined"], "command": "inbox words {list}.txt",
              "params": { "list": { "type": "array<string>" } } }
        ] }"#,
    );
    assert_refused(call(&dirs, "box", "say_words", &json!({ "text": "--limit" })), "text");
    assert_refused(call(&dirs, "box", "say_words", &json!({ "list": ["a", "-b"] })), "list");
    assert_refused(call(&dirs, "box", "say_joined", &json!({ "list": ["-a", "b"] })), "list");
    for (tool, arguments, said) in [
        ("say_words", json!({ "list": ["a"] }), "<words>\n<-d>\n<a>\n"),
        ("say_ended", json!({ "list": ["-a", "-b"] }), "<words>\n<-->\n<-a>\n<-b>\n"),
        ("say_allowed", json!({ "list": ["-a"] }), "<words>\n<-a>\n"),
        ("say_joined", json!({ "list": ["a", "-b"] }), "<words>\n<a,-b.txt>\n"),
    ] {
        let found = json(&dirs, &["call", "box", tool, "--args", &arguments.to_string()]);
        assert_eq!(found["content"][0]["text"], said, "{tool}");
    }
}
