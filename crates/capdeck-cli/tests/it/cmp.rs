//! `capdeck cmp …`, and CMP tools as part of the deck.

use std::{fs, os::unix::fs::PermissionsExt as _, path::PathBuf};

use capdeck_test::TestDirs;
use serde_json::{Value, json};

use crate::{capdeck, echo_file, json, run, shown, terminal::Terminal};

/// A stand-in for a mail program. It says how it was called, one word per line, and answers some commands in JSON.
const PROGRAM: &str = r#"#!/bin/sh
case "$1" in
  summary) printf '[{"name": "me", "unread": 3, "agent": "%s"}]\n' "$CMP_AGENT" ;;
  analyze) printf '[{"id": "%s"}]\n' "$3" ;;
  delete) shift; printf '{"deleted": %d}\n' "$#" ;;
  words) for word in "$@"; do printf '<%s>\n' "$word"; done ;;
  broken) echo "no mail today" >&2; exit 4 ;;
  restore) echo "restored, in words" ;;
esac
"#;

const MANIFEST: &str = r#"{
  "domain": "email", "name": "box", "summary": "Mail management: triage, delete, restore",
  "version": "1.0.0", "tags": ["mail"]
}"#;

const CAPABILITY: &str = r#"{
  "intents": [
    { "patterns": ["check email", "unread count"], "command": "inbox summary --json", "returns": { "type": "array" } },
    { "patterns": ["analyze emails"], "command": "inbox analyze --count {count} --json",
      "params": { "count": { "type": "integer", "default": 20, "description": "How many" } } },
    { "patterns": ["delete emails"], "command": "inbox delete {ids}", "destructive": true, "idempotent": false,
      "params": { "ids": { "type": "array<string>", "required": true } }, "returns": { "type": "object" } },
    { "patterns": ["archive emails"], "command": "inbox words archive {ids}", "confirm": true,
      "params": { "ids": { "type": "array<string>", "required": true } } },
    { "patterns": ["say words"], "command": "inbox words {text} --tag={text} {list} --limit {limit}",
      "params": { "text": { "type": "string", "required": true }, "list": { "type": "array<string>" },
                  "limit": { "type": "integer" } } },
    { "patterns": ["fail loudly"], "command": "inbox broken" },
    { "patterns": ["restore emails"], "command": "inbox restore", "returns": { "type": "object" } }
  ]
}"#;

fn program(dirs: &TestDirs, path: &str) {
    let path = dirs.write(path, PROGRAM);
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Puts a tool `box` with the stand-in program where tools are found, and gives its folder.
pub(crate) fn install(dirs: &TestDirs, manifest: &str, capability: &str) -> PathBuf {
    dirs.write("home/.cmp/tools/box/cmp/manifest.json", manifest);
    dirs.write("home/.cmp/tools/box/cmp/capability.json", capability);
    program(dirs, "home/.cmp/tools/box/bin/inbox");
    dirs.home().join(".cmp/tools/box")
}

fn with_box() -> TestDirs {
    let dirs = TestDirs::new();
    install(&dirs, MANIFEST, CAPABILITY);
    dirs
}

#[test]
fn tools_are_part_of_the_deck() {
    let dirs = with_box();
    let listed = json(&dirs, &["list"]);
    let item = &listed["items"][0];
    assert_eq!((&item["id"], &item["backend"]), (&json!("box"), &json!("cmp")));
    assert_eq!((&item["status"], &item["source"]["kind"]), (&json!("ready"), &json!("cmp")));
    assert_eq!(item["tags"], json!(["email", "mail"]));
    let described = json(&dirs, &["describe", "box", "delete_emails"]);
    assert_eq!(
        described["annotations"],
        json!({ "destructiveHint": true, "idempotentHint": false })
    );
    assert_eq!(described["outputSchema"], json!({ "type": "object" }));
    let found = json(&dirs, &["search", "unread count"]);
    assert_eq!(found["items"][0]["name"], "check_email", "patterns are searched: {found}");
    run(&dirs, &["check", "box"]).success();

    let result = json(&dirs, &["call", "box", "check_email"]);
    let mail = json!([{ "name": "me", "unread": 3, "agent": "1" }]);
    assert_eq!(result["structuredContent"], json!({ "result": mail }));
    let counted = json(&dirs, &["call", "box", "analyze_emails", "--args", r#"{"count": "5"}"#]);
    assert_eq!(counted["structuredContent"], json!({ "result": [{ "id": "5" }] }));
    let refused = run(&dirs, &["call", "box", "analyze_emails", "--args", r#"{"count": "5x"}"#]);
    assert!(refused.stderr.contains("count must be of type `integer`"), "{}", refused.stderr);
}

#[test]
fn a_deck_of_ones_own_is_above_and_the_variable_names_more() {
    let dirs = with_box();
    dirs.write("config/box.md", echo_file("Mine"));
    dirs.write("elsewhere/cmp/manifest.json", MANIFEST.replace("\"box\"", "\"other\""));
    dirs.write("elsewhere/cmp/capability.json", CAPABILITY);
    let path = format!(
        "{}::{}",
        dirs.root().join("elsewhere").display(),
        dirs.root().join("gone").display()
    );
    let listed =
        capdeck(&dirs).env("CMP_TOOL_PATH", &path).args(["list", "--json"]).run().success().json();
    let ids: Vec<(&str, &str)> = listed["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| (item["id"].as_str().unwrap(), item["backend"].as_str().unwrap()))
        .collect();
    assert_eq!(ids, [("box", "cli"), ("other", "cmp")]);
    assert_eq!(listed["items"][0]["shadows"][0]["kind"], "cmp");
    let problems = capdeck(&dirs).env("CMP_TOOL_PATH", &path).args(["validate", "--json"]).run();
    let problems = problems.json();
    assert_eq!(problems["items"][0]["code"], "not-a-tool", "{problems}");
}

#[test]
fn words_find_an_intent_and_run_it() {
    let dirs = with_box();
    insta::assert_snapshot!(shown(&dirs, &run(&dirs, &["cmp", "intent", "analyze emails"])), @r#"
    exit 0
    --- stdout
    box.analyze_emails (says exactly `analyze emails`)
      runs    inbox analyze --count {count} --json
      param   count integer, 20 by default: How many
    --- stderr
    run it by adding --run
    "#);
    let found = json(&dirs, &["cmp", "intent", "unread count"]);
    assert_eq!((&found["capability"], &found["tool"]), (&json!("box"), &json!("check_email")));
    assert_eq!((&found["match"], &found["output"]), (&json!("exact"), &Value::Null));
    let ran = json(&dirs, &["cmp", "intent", "unread count", "--run"]);
    assert_eq!(ran["output"], json!([{ "name": "me", "unread": 3, "agent": "1" }]));
    let ran = json(&dirs, &["cmp", "intent", "analyze emails", "--run", "--param", "count=7"]);
    assert_eq!(ran["output"], json!([{ "id": "7" }]));
    let text = run(&dirs, &["cmp", "intent", "check email", "--run"]).success();
    assert!(text.stdout.contains("\"unread\": 3"), "{}", text.stdout);
}

#[test]
fn words_that_deny_or_ask_about_a_change_select_nothing() {
    let dirs = with_box();
    insta::assert_snapshot!(shown(&dirs, &run(&dirs, &["cmp", "intent", "don't delete emails"])), @r#"
    exit 1
    --- stdout
    --- stderr
    error: `don't delete emails` could mean any of: `box.delete_emails` (the words deny it), `box.analyze_emails`
    hint: to run one, ask for it in the words of one of its patterns; see: capdeck cmp list --json
    "#);
    for (words, doubt) in [
        ("how do I delete emails safely", "question"),
        ("if I delete emails, are they gone", "supposed"),
        ("delete", "verb-alone"),
        ("never archive emails", "negated"),
    ] {
        let refused = run(&dirs, &["cmp", "intent", words, "--run", "--yes", "--json"]);
        assert_eq!(refused.code, Some(1), "{words}: {}", refused.stdout);
        let error = &refused.json()["error"];
        assert_eq!(error["code"], "AMBIGUOUS", "{words}: {error}");
        assert_eq!(error["details"]["candidates"][0]["doubt"], doubt, "{words}: {error}");
    }
    let polite = json(&dirs, &["cmp", "intent", "can you delete those emails?"]);
    assert_eq!(polite["tool"], "delete_emails");
}

#[test]
fn what_is_not_one_intent_is_never_run() {
    let dirs = with_box();
    insta::assert_snapshot!(shown(&dirs, &run(&dirs, &["cmp", "intent", "weather"])), @r#"
    exit 1
    --- stdout
    --- stderr
    error: no CMP tool answers to `weather`
    hint: see what there is with: capdeck cmp list
    "#);
    insta::assert_snapshot!(shown(&dirs, &run(&dirs, &["cmp", "intent", "triage", "--run"])), @r#"
    exit 1
    --- stdout
    --- stderr
    error: only the summary of `box` fits `triage`, and none of its intents
    hint: it answers to: check email; analyze emails; delete emails; archive emails; say words; fail loudly; restore emails
    "#);
    dirs.write("home/.cmp/tools/two/cmp/manifest.json", MANIFEST.replace("\"box\"", "\"two\""));
    dirs.write("home/.cmp/tools/two/cmp/capability.json", CAPABILITY);
    let refused = run(&dirs, &["cmp", "intent", "check email", "--run", "--json"]);
    let error = &refused.json()["error"];
    assert_eq!((refused.code, &error["code"]), (Some(1), &json!("AMBIGUOUS")));
    assert_eq!(error["details"]["candidates"].as_array().unwrap().len(), 2);
    assert_eq!(run(&dirs, &["cmp", "intent", " "]).code, Some(2));
}

#[test]
fn a_person_is_asked_before_what_wants_it() {
    let dirs = with_box();
    for words in ["delete emails", "archive emails"] {
        let refused =
            run(&dirs, &["cmp", "intent", words, "--run", "--param", "ids=[\"a\"]", "--json"]);
        let error = &refused.json()["error"];
        assert_eq!(
            (refused.code, &error["code"]),
            (Some(1), &json!("APPROVAL_REQUIRED")),
            "{error}"
        );
        let hint = error["hint"].as_str().unwrap();
        assert!(hint.starts_with("the person runs: capdeck approve "), "{error}");
    }
    let words =
        ["cmp", "intent", "delete emails", "--run", "--yes", "--param", "ids=[\"a\", \"b c\"]"];
    assert_eq!(json(&dirs, &words)["output"], json!({ "deleted": 2 }));
    let why = run(&dirs, &["why", "box", "archive_emails"]).success();
    assert!(why.stdout.contains("its file requires approval"), "{}", why.stdout);
    // An agent meets the same gate.
    let mut agent = capdeck(&dirs).serve(&["--only", "box"]);
    agent.initialize();
    let call = |name: &str| json!({ "name": name, "arguments": { "ids": ["a"] } });
    for name in ["delete_emails", "archive_emails"] {
        let answer = agent.request("tools/call", call(name));
        assert!(answer.to_string().contains("requires approval"), "{answer}");
    }
    agent.close();
}

#[test]
fn hostile_values_stay_one_word() {
    let dirs = with_box();
    for value in ["a b", "'; echo pwned #", "$(id)", "`id`", "a --limit", "a\nb", "\"", "*", ""] {
        let arguments = json!({ "text": value, "list": [value] });
        let result = json(&dirs, &["call", "box", "say_words", "--args", &arguments.to_string()]);
        let text = result["content"][0]["text"].as_str().unwrap();
        assert_eq!(text, format!("<words>\n<{value}>\n<--tag={value}>\n<{value}>\n"), "{value}");
    }
}

#[test]
fn failures_say_what_the_program_said() {
    let dirs = with_box();
    insta::assert_snapshot!(shown(&dirs, &run(&dirs, &["cmp", "intent", "fail loudly", "--run"])), @r#"
    exit 1
    --- stdout
    --- stderr
    error: `box.fail_loudly` reported a failure
    exit code 4

    no mail today
    "#);
    let result = run(&dirs, &["call", "box", "restore_emails", "--json"]).json();
    assert_eq!((&result["isError"], &result["structuredContent"]), (&json!(true), &Value::Null));
    assert!(result["content"][0]["text"].as_str().unwrap().contains("restored, in words"));
    for param in ["ids", "=x", "ids=a"] {
        let refused =
            run(&dirs, &["cmp", "intent", "archive emails", "--run", "--yes", "--param", param]);
        assert_eq!(refused.code, Some(2), "{param}: {}", refused.stderr);
    }
    fs::remove_file(dirs.home().join(".cmp/tools/box/bin/inbox")).unwrap();
    let missing = run(&dirs, &["check", "box"]);
    assert!(missing.stdout.contains("inbox") || missing.stderr.contains("inbox"), "{missing:?}");
}

#[test]
fn listing_and_validating() {
    let dirs = with_box();
    dirs.write("home/.cmp/tools/bad/cmp/manifest.json", MANIFEST.replace("\"box\"", "\"bad\""));
    dirs.write(
        "home/.cmp/tools/bad/cmp/capability.json",
        r#"{"intents": [{"patterns": ["x"], "command": "a | b"}]}"#,
    );
    insta::assert_snapshot!(shown(&dirs, &run(&dirs, &["cmp", "list"])), @r#"
    exit 0
    --- stdout
    ID   DOMAIN  VERSION  INTENTS  SUMMARY
    box  email   1.0.0    7        Mail management: triage, delete, restore
    --- stderr
    warning: `bad` does not load: `|` is for a shell, and commands are run without one
    see what to correct with: capdeck cmp validate [ROOT]/home/.cmp/tools/bad
    "#);
    assert_eq!(json(&dirs, &["cmp", "list", "nothing"]), json!({ "items": [] }));
    let listed = json(&dirs, &["cmp", "list", "EMAIL"]);
    assert_eq!(
        listed["items"][0]["intents"][0]["patterns"],
        json!(["check email", "unread count"])
    );
    let tool = dirs.home().join(".cmp/tools/bad");
    insta::assert_snapshot!(shown(&dirs, &run(&dirs, &["cmp", "validate", tool.to_str().unwrap()])), @r#"
    exit 1
    --- stdout
    error[needs-shell]: `|` is for a shell, and commands are run without one
     --> [ROOT]/home/.cmp/tools/bad/cmp/capability.json:1:45
      |
    1 | {"intents": [{"patterns": ["x"], "command": "a | b"}]}
      |                                             ^^
      = fix: quote it if it is meant as text, or put the script into `bin/`
    --- stderr
    1 error; 0 capabilities OK
    "#);
    let long = MANIFEST.replace("\"mail\"", &["\"a long tag\""; 20].join(", "));
    dirs.write("home/.cmp/tools/box/cmp/manifest.json", long);
    let tool = dirs.home().join(".cmp/tools/box");
    for command in [&["cmp", "validate"][..], &["validate"]] {
        let words: Vec<&str> = command.iter().copied().chain([tool.to_str().unwrap()]).collect();
        let found = json(&dirs, &words);
        assert_eq!(found["items"][0]["code"], "manifest-tokens", "{found}");
    }
    let schema = json(&dirs, &["schema", "cmp"]);
    assert!(schema["$defs"]["Intent"].is_object() && schema["$defs"]["Manifest"].is_object());
}

#[test]
fn the_snippet_costs_the_same_few_tokens() {
    let dirs = TestDirs::new();
    let before = json(&dirs, &["cmp", "snippet"]);
    let tokens = before["tokens"].as_u64().unwrap();
    assert!((60..=100).contains(&tokens), "{tokens}");
    assert_eq!(json(&with_box(), &["cmp", "snippet"]), before);
    let text = run(&dirs, &["cmp", "snippet"]).success();
    assert_eq!(text.stdout, before["text"].as_str().unwrap());
    assert_eq!(text.stderr, format!("{tokens} tokens (o200k)\n"));
}

#[test]
fn commands_are_exported_and_read_again() {
    let dirs = TestDirs::new();
    dirs.write("config/echo.md", echo_file("Echo"));
    let folder = dirs.home().join(".cmp/tools/echo");
    let words = ["cmp", "export", "echo", folder.to_str().unwrap()];
    run(&dirs, &words).success();
    run(&dirs, &words).success();
    fs::remove_file(dirs.config().join("echo.md")).unwrap();
    let said = run(&dirs, &["call", "echo", "say", "text=a b"]).success();
    assert_eq!(said.stdout, "a b\n");
    let again = dirs.root().join("again");
    run(&dirs, &["cmp", "export", "echo", again.to_str().unwrap()]).success();
    for name in ["manifest.json", "capability.json"] {
        let read = |folder: &PathBuf| fs::read_to_string(folder.join("cmp").join(name)).unwrap();
        assert_eq!(read(&folder), read(&again), "{name}");
    }
    fs::write(again.join("cmp/manifest.json"), "mine").unwrap();
    let refused = run(&dirs, &["cmp", "export", "echo", again.to_str().unwrap(), "--json"]);
    assert_eq!((refused.code, &refused.json()["error"]["code"]), (Some(1), &json!("FILE_EXISTS")));
    assert_eq!(fs::read_to_string(again.join("cmp/manifest.json")).unwrap(), "mine");
    run(&dirs, &["cmp", "export", "echo", again.to_str().unwrap(), "--force"]).success();
    assert_ne!(fs::read_to_string(again.join("cmp/manifest.json")).unwrap(), "mine");
    assert_eq!(run(&dirs, &["cmp", "export", "nobody", "x"]).code, Some(1));
}

#[test]
fn a_new_tool_is_noticed_by_a_running_host() {
    let dirs = with_box();
    let mut agent = capdeck(&dirs).serve(&["--exposure", "direct"]);
    agent.initialize();
    let before = agent.request("tools/list", json!({}));
    assert!(before.to_string().contains("box__check_email"), "{before}");
    dirs.write("home/.cmp/tools/two/cmp/manifest.json", MANIFEST.replace("\"box\"", "\"two\""));
    dirs.write("home/.cmp/tools/two/cmp/capability.json", CAPABILITY);
    agent.incoming("notifications/tools/list_changed");
    let after = agent.request("tools/list", json!({}));
    assert!(after.to_string().contains("two__check_email"), "{after}");
    agent.close();
}

/// The format's own example, with a program that replaces the real one.
#[test]
fn the_formats_own_example_works() {
    let data = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/cmp/inboxd");
    if !data.is_dir() {
        println!("skipped: no shared data");
        return;
    }
    let dirs = TestDirs::new();
    for name in ["manifest.json", "capability.json", "examples.json"] {
        let text = fs::read(data.join("cmp").join(name)).unwrap();
        dirs.write(format!("home/.cmp/tools/inboxd/cmp/{name}"), text);
    }
    program(&dirs, "home/.cmp/tools/inboxd/bin/inbox");
    assert_eq!(json(&dirs, &["validate"]), json!({ "items": [] }));
    let listed = json(&dirs, &["cmp", "list", "email"]);
    assert_eq!(listed["items"][0]["intents"].as_array().unwrap().len(), 5);
    let ran =
        json(&dirs, &["cmp", "intent", "How many unread emails do I have? check email", "--run"]);
    assert_eq!(ran["output"][0]["unread"], 3);
    let ran = json(&dirs, &["cmp", "intent", "list recent emails", "--run", "--param", "count=10"]);
    assert_eq!((&ran["tool"], &ran["output"][0]["id"]), (&json!("analyze_emails"), &json!("10")));
    let delete =
        ["cmp", "intent", "delete emails", "--run", "--param", "ids=[\"abc123\", \"def456\"]"];
    assert_eq!(run(&dirs, &delete).code, Some(1));
    let ran = json(&dirs, &[&delete[..], &["--yes"]].concat());
    // `delete --ids abc123 def456 --confirm`.
    assert_eq!(ran["output"], json!({ "deleted": 4 }));
    for phrase in ["undo delete", "undelete", "recover messages"] {
        assert_eq!(json(&dirs, &["cmp", "intent", phrase])["tool"], "restore_emails");
    }
    let copy = dirs.root().join("copy");
    run(&dirs, &["cmp", "export", "inboxd", copy.to_str().unwrap()]).success();
    let read = |path: PathBuf| serde_json::from_slice::<Value>(&fs::read(path).unwrap()).unwrap();
    assert_eq!(read(copy.join("cmp/manifest.json")), read(data.join("cmp/manifest.json")));
}

#[test]
fn examples_are_exported_with_their_tool() {
    let dirs = with_box();
    let examples = "{\"examples\": [{\"intent\": \"What is new?\"}]}\n";
    dirs.write("home/.cmp/tools/box/cmp/examples.json", examples);
    let copy = dirs.root().join("copy");
    let words = ["cmp", "export", "box", copy.to_str().unwrap()];
    run(&dirs, &words).success();
    assert_eq!(fs::read_to_string(copy.join("cmp/examples.json")).unwrap(), examples);
    dirs.write("copy/cmp/examples.json", "{}");
    let refused = run(&dirs, &words);
    assert!(
        refused.code == Some(1) && refused.stderr.contains("examples.json"),
        "{}",
        refused.stderr
    );
}

#[test]
fn the_question_before_a_run_can_be_answered_and_left() {
    let dirs = with_box();
    let words = ["cmp", "intent", "delete emails", "--run", "--param", r#"ids=["a1"]"#];
    let mut yes = Terminal::start(&dirs, &words);
    yes.wait_for("requires approval. Call it? [y/N]");
    yes.answer("y");
    let (code, answer) = yes.end();
    assert_eq!((code, answer.as_str()), (Some(0), "{\"deleted\": 1}\n"));

    let mut left = Terminal::start(&dirs, &words);
    left.wait_for("Call it? [y/N]");
    left.interrupt();
    left.wait_for("interrupted");
    let (code, answer) = left.end();
    assert_eq!((code, answer.as_str()), (Some(130), ""));
}
