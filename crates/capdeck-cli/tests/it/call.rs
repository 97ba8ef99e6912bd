//! `capdeck call`, `tools` and `describe`.

use std::fs;

use capdeck_test::{FakePlan, TestDirs};
use serde_json::{Value, json};

use crate::{capdeck, echo_file, json, run, shown};

fn with_fake() -> TestDirs {
    let dirs = TestDirs::new();
    dirs.write_config(&json!({"mcpServers": {"fake": FakePlan::default().deck_entry()}}));
    dirs
}

#[test]
fn a_command_line_tool_is_called_with_words() {
    let dirs = TestDirs::new();
    dirs.write("config/echo.md", echo_file("Echo"));
    for words in [&["call", "echo", "say", "text=a b"][..], &["call", "echo.say", "text=a b"]] {
        let finished = run(&dirs, words);
        assert_eq!(
            (finished.code, finished.stdout.as_str()),
            (Some(0), "a b\n"),
            "{}",
            finished.stderr
        );
    }
    let whole = json(&dirs, &["call", "echo", "say", "--args", r#"{"text": "hi"}"#]);
    assert_eq!(whole["isError"], false);
    assert_eq!(whole["content"][0]["text"], "hi\n");
}

#[test]
fn arguments_come_from_a_file_or_stdin_too() {
    let dirs = TestDirs::new();
    dirs.write("config/echo.md", echo_file("Echo"));
    dirs.write("project/args.json", r#"{"text": "from a file"}"#);
    let finished = run(&dirs, &["call", "echo.say", "--args", "@args.json"]).success();
    assert_eq!(finished.stdout, "from a file\n");
    let typed = capdeck(&dirs).args(["call", "echo.say", "--args", "-"]);
    assert_eq!(typed.stdin(r#"{"text": "typed"}"#).run().success().stdout, "typed\n");
    let merged = run(&dirs, &["call", "echo.say", "text=word", "--args", "@args.json"]);
    assert_eq!(merged.success().stdout, "word\n");
}

#[test]
fn an_mcp_server_receives_typed_arguments() {
    let dirs = with_fake();
    let sent = json(&dirs, &["call", "fake", "echo", "n:=12345678901234567890", "word=5"]);
    let text = sent["content"][0]["text"].as_str().unwrap();
    let received: Value = serde_json::from_str(text).unwrap();
    assert_eq!(received, json!({"n": 12_345_678_901_234_567_890_u64, "word": "5"}));
}

#[test]
fn wrong_arguments_never_reach_the_tool() {
    let dirs = TestDirs::new();
    dirs.write("config/echo.md", echo_file("Echo"));
    let finished = run(&dirs, &["call", "echo", "say", "txt=a", "text=b", "times=many"]);
    assert_eq!((finished.code, finished.stdout.as_str()), (Some(1), ""));
    assert!(finished.stderr.contains("times must be of type `integer`"), "{}", finished.stderr);
    assert!(
        finished.stderr.contains("call it as: say(text: string, times?: number)"),
        "{}",
        finished.stderr
    );

    let answer = run(&dirs, &["call", "echo", "say", "--json"]);
    let error = &answer.json()["error"];
    assert_eq!((answer.code, &error["code"]), (Some(1), &json!("REQUEST_INVALID")));
    assert!(error["details"].is_object(), "{error}");
}

#[test]
fn arguments_that_cannot_be_read_are_wrong_usage() {
    let dirs = TestDirs::new();
    for words in [
        &["call", "machine", "system", "--args", "{bad"][..],
        &["call", "machine", "system", "--args", "[1]"],
        &["call", "machine", "system", "--args", "@nowhere.json"],
        &["call", "machine", "system", "lonely"],
        &["call", "machine"],
    ] {
        let finished = run(&dirs, words);
        assert_eq!(finished.code, Some(2), "{words:?}: {}", finished.stderr);
        assert!(finished.stderr.starts_with("error: "), "{}", finished.stderr);
    }
}

#[test]
fn an_unknown_tool_is_answered_with_the_nearest() {
    let dirs = TestDirs::new();
    insta::assert_snapshot!(shown(&dirs, &run(&dirs, &["call", "machine", "uptme"])), @r"
    exit 1
    --- stdout
    --- stderr
    error: `machine` has no tool `uptme`
    hint: did you mean `uptime`?
    ");
}

#[test]
fn a_tool_error_is_exit_1() {
    let dirs = with_fake();
    let finished = run(&dirs, &["call", "fake", "tool_error"]);
    assert_eq!((finished.code, finished.stdout.as_str()), (Some(1), ""));
    assert!(finished.stderr.starts_with("error: `fake.tool_error` reported a failure\n"));
    let whole = run(&dirs, &["call", "fake", "tool_error", "--json"]);
    assert_eq!((whole.code, whole.json()["isError"].clone()), (Some(1), json!(true)));
}

#[test]
fn a_server_that_fails_is_explained_and_remembered() {
    let dirs = TestDirs::new();
    dirs.write_config(&json!({"mcpServers": {"gone": {
        "name": "Gone", "description": "A server that is not there.", "command": "no-such-program-here"
    }}}));
    let finished = run(&dirs, &["call", "gone", "anything"]);
    assert_eq!(finished.code, Some(1));
    assert!(finished.stderr.contains("no-such-program-here"), "{}", finished.stderr);
    let why = json(&dirs, &["why", "gone"]);
    let remembered = why["lastFailure"]["message"].as_str().unwrap();
    assert!(remembered.contains("no-such-program-here"), "{why}");
    // Every listing says so, until it answers.
    let item = json(&dirs, &["list"])["items"][0].clone();
    assert_eq!((&item["status"], &item["health"]["state"]), (&json!("ready"), &json!("failing")));
    assert_eq!((&item["health"]["times"], &why["health"]), (&json!(1), &item["health"]));
    let listed = run(&dirs, &["list"]).success();
    assert!(listed.stdout.contains("gone  failing  mcp"), "{}", listed.stdout);
    assert!(listed.stderr.contains("gone is failing since "), "{}", listed.stderr);
    let reported = run(&dirs, &["why", "gone"]).success().stdout;
    assert!(reported.starts_with("gone is failing\n"), "{reported}");
    assert!(run(&dirs, &["inspect", "gone"]).success().stdout.contains("status     failing: "));
    let doctor = json(&dirs, &["doctor"])["items"].to_string();
    assert!(doctor.contains("gone is failing since "), "{doctor}");
}

#[test]
fn a_silent_tool_ends_at_the_time_limit() {
    let dirs = with_fake();
    let finished = run(&dirs, &["call", "fake", "hang", "--timeout-ms", "300", "--json"]);
    assert_eq!(finished.code, Some(1));
    assert_eq!(finished.json()["error"]["code"], "TOOL_CALL_TIMEOUT");
}

#[test]
fn fields_keep_part_of_a_structured_result() {
    let dirs = with_fake();
    let whole = json(&dirs, &["call", "fake", "structured"]);
    let first = whole["structuredContent"].as_object().unwrap().keys().next().unwrap().clone();
    let part = json(&dirs, &["call", "fake", "structured", "--field", &first]);
    let kept: Vec<_> = part["structuredContent"].as_object().unwrap().keys().cloned().collect();
    assert_eq!(kept, [first]);
    let wrong = run(&dirs, &["call", "fake", "structured", "--field", "nope.nothing"]);
    assert_eq!(wrong.code, Some(1), "{}", wrong.stdout);
}

#[test]
fn tools_are_the_servers_own_definitions() {
    let odd = json!({
        "name": "odd", "description": "Odd.", "x-unknown": [1, {"a": null}],
        "inputSchema": {"type": "object", "$defs": {"a": {"type": "string"}}, "properties": {"p": {"$ref": "#/$defs/a"}}}
    });
    let dirs = TestDirs::new();
    let plan =
        FakePlan { behaviours: false, extra_tools: vec![odd.clone()], ..FakePlan::default() };
    dirs.write_config(&json!({"mcpServers": {"fake": plan.deck_entry()}}));
    assert_eq!(json(&dirs, &["tools", "fake"]), json!({"items": [odd]}));

    let mut described = json(&dirs, &["describe", "fake", "odd"]);
    assert_eq!(described.as_object_mut().unwrap().remove("capability"), Some(json!("fake")));
    assert_eq!(described, odd);
    let text = run(&dirs, &["describe", "fake.odd"]).success().stdout;
    assert!(text.starts_with("fake odd(p?: string)\n\nOdd.\n\ninput\n{"), "{text}");
}

#[test]
fn known_tools_need_no_connection_and_can_be_asked_again() {
    let dirs = TestDirs::new();
    let record = dirs.root().join("record.jsonl");
    let plan = FakePlan { record: Some(record.clone()), ..FakePlan::default() };
    dirs.write_config(&json!({"mcpServers": {"fake": plan.deck_entry()}}));
    let starts = || {
        let text = fs::read_to_string(&record).unwrap_or_default();
        text.lines().filter(|line| line.contains("\"started\"")).count()
    };
    json(&dirs, &["tools", "fake"]);
    json(&dirs, &["tools", "fake"]);
    json(&dirs, &["search", "echo"]);
    assert_eq!(starts(), 1);
    json(&dirs, &["tools", "fake", "--refresh"]);
    assert_eq!(starts(), 2);
}

/// What `capdeck tools` prints is what a shell takes: pasted behind `capdeck call` it reaches that tool.
#[test]
fn printed_names_can_be_pasted_into_a_shell() {
    let names =
        ["get-sum", "a b", "it's", "say \"hi\"", "$HOME", "a;b", "größe", "#1", "*", "line\nbreak"];
    let tools = names.iter().enumerate().map(|(number, name)| {
        json!({"name": name, "description": "An odd one.", "inputSchema": {"type": "object",
            "properties": {"which": {"const": number}}, "required": ["which"]}})
    });
    let plan = FakePlan {
        behaviours: false,
        tools: 0,
        extra_tools: tools.collect(),
        ..FakePlan::default()
    };
    let dirs = TestDirs::new();
    dirs.write_config(&json!({"mcpServers": {"fake": plan.deck_entry()}}));
    let listed = run(&dirs, &["tools", "fake"]).success().stdout;
    for number in 0..names.len() {
        let end = format!("(which: {number})");
        let line = listed.lines().find(|line| line.contains(&end));
        let line = line.unwrap_or_else(|| panic!("{end}: {listed}"));
        let printed = line.split(&end).next().unwrap();
        let output = std::process::Command::new("bash")
            .args(["-c", &format!("printf '%s\\0' call fake {printed} which:={number}")])
            .output()
            .unwrap();
        let words = String::from_utf8(output.stdout).unwrap();
        let words: Vec<&str> = words.split_terminator('\0').collect();
        assert_eq!(words.len(), 4, "{printed}");
        let called = run(&dirs, &words).success();
        assert_eq!(called.stdout.trim(), format!("{{\"which\":{number}}}"), "{printed}");
        // A hint after wrong arguments prints the same.
        let wrong = run(&dirs, words.get(..3).unwrap());
        assert!(wrong.stderr.contains(&format!("call it as: {printed}{end}")), "{}", wrong.stderr);
    }
}

/// A tool is named as agents show it, with any of the marks they put in front.
#[test]
fn names_that_agents_show_are_understood() {
    let dirs = with_fake();
    let sent = |words: &[&str]| {
        let called = run(&dirs, &[&["call"], words, &["a=1"]].concat()).success();
        assert_eq!(called.stdout.trim(), r#"{"a":"1"}"#, "{words:?}");
    };
    for words in [
        &["fake", "echo"][..],
        &["fake.echo"],
        &["fake__echo"],
        &["mcp__capdeck__fake__echo"],
        &["mcp_capdeck_fake__echo"],
        &["capdeck.fake__echo"],
        &["@fake.echo"],
        &["echo"],
    ] {
        sent(words);
    }
    let near = run(&dirs, &["call", "fake__ecko"]);
    assert_eq!((near.code, near.stdout.as_str()), (Some(1), ""));
    assert!(near.stderr.contains("did you mean `echo`?"), "{}", near.stderr);
    let which = run(&dirs, &["call", "fake", "a=1"]);
    assert_eq!(which.code, Some(2));
    assert!(which.stderr.starts_with("error: which tool of `fake`?\n"), "{}", which.stderr);
}

#[test]
fn all_arguments_can_be_one_word() {
    let dirs = with_fake();
    dirs.write("project/args.json", r#"{"from": {"a": "file"}}"#);
    let call = |words: &[&str]| run(&dirs, &[&["call", "fake", "echo"], words].concat()).success();
    assert_eq!(call(&[r#"{"n": 1, "a": null}"#]).stdout.trim(), r#"{"n":1,"a":null}"#);
    assert_eq!(call(&["@args.json"]).stdout.trim(), r#"{"from":{"a":"file"}}"#);
    let typed = capdeck(&dirs).args(["call", "fake.echo", "-"]).stdin(r#"{"a": "typed"}"#);
    assert_eq!(typed.run().success().stdout.trim(), r#"{"a":"typed"}"#);
    assert_eq!(call(&[r#"{"a": 1}"#, "b:=[2]"]).stdout.trim(), r#"{"a":1,"b":[2]}"#);
    let twice = run(&dirs, &["call", "fake", "echo", "{}", "--args", "{}"]);
    assert_eq!(twice.code, Some(2));
    assert!(twice.stderr.contains("given twice"), "{}", twice.stderr);
}

#[test]
fn a_timeout_is_written_with_its_unit() {
    let dirs = with_fake();
    let finished = run(&dirs, &["call", "fake", "hang", "--timeout", "300ms", "--json"]);
    assert_eq!(finished.json()["error"]["code"], "TOOL_CALL_TIMEOUT");
    assert_eq!(run(&dirs, &["call", "fake", "hang", "--timeout", "soon"]).code, Some(2));
}

#[test]
fn a_running_host_makes_the_call() {
    let dirs = TestDirs::new();
    let record = dirs.root().join("record.jsonl");
    let plan = FakePlan { record: Some(record.clone()), ..FakePlan::default() };
    dirs.write_config(&json!({"mcpServers": {"fake": plan.deck_entry()}}));
    let _host = capdeck(&dirs).up(&[]);
    for words in [&["fake", "echo"][..], &["mcp__capdeck__fake__echo"], &["fake.echo"]] {
        let called = run(&dirs, &[&["call"], words, &["a=b"]].concat()).success();
        assert_eq!(called.stdout.trim(), r#"{"a":"b"}"#);
    }
    let unknown = run(&dirs, &["call", "fake", "ecko"]);
    assert!(unknown.stderr.contains("did you mean `echo`?"), "{}", unknown.stderr);
    let text = fs::read_to_string(&record).unwrap();
    assert_eq!(text.lines().filter(|line| line.contains("\"started\"")).count(), 1);
}
