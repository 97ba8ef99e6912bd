//! `capdeck run` and `capdeck types`.

use capdeck_test::{FakePlan, TestDirs};
use serde_json::json;

use crate::{capdeck, echo_file, json, run};

fn deck() -> TestDirs {
    let dirs = TestDirs::new();
    dirs.write("config/echo.md", echo_file("Echo"));
    dirs
}

#[test]
fn code_prints_what_it_returns() {
    let dirs = deck();
    for (code, shown) in [
        ("(await caplets.echo.say({ text: 'hi' })).stdout.trim()", "hi\n"),
        ("return { a: [1] }", "{\n  \"a\": [\n    1\n  ]\n}\n"),
        ("1 + 1", "2\n"),
        ("undefined", ""),
    ] {
        let finished = run(&dirs, &["run", "-e", code]).success();
        assert_eq!((finished.stdout.as_str(), finished.stderr.as_str()), (shown, ""), "{code}");
    }
}

#[test]
fn code_comes_from_a_file_or_a_pipe() {
    let dirs = deck();
    let file = dirs.write("project/answer.ts", "const answer: number = 42;\nanswer");
    let file = file.to_str().unwrap();
    assert_eq!(run(&dirs, &["run", file]).success().stdout, "42\n");
    for words in [&["run", "-"][..], &["run"]] {
        let piped = capdeck(&dirs).args(words).stdin("'piped'").run().success();
        assert_eq!(piped.stdout, "piped\n", "{words:?}");
    }
    let missing = run(&dirs, &["run", "nowhere.ts"]);
    assert_eq!(missing.code, Some(2), "{}", missing.stderr);
    assert!(missing.stderr.contains("cannot read nowhere.ts"), "{}", missing.stderr);
    assert_eq!(run(&dirs, &["run", file, "-e", "1"]).code, Some(2));
}

#[test]
fn logs_and_remarks_go_to_stderr() {
    let finished = run(&deck(), &["run", "-e", "console.log('step', 1); [Promise.resolve(2)]"]);
    let finished = finished.success();
    assert_eq!(finished.stdout, "[\n  2\n]\n");
    assert!(finished.stderr.starts_with("step 1\n"), "{}", finished.stderr);
    assert!(finished.stderr.contains("warning: "), "{}", finished.stderr);
}

#[test]
fn a_failure_shows_its_line() {
    let dirs = deck();
    let file = dirs.write("project/bad.ts", "const a = 1;\n  a.b.c();\n");
    let finished = run(&dirs, &["run", file.to_str().unwrap()]);
    assert_eq!((finished.code, finished.stdout.as_str()), (Some(1), ""));
    assert!(finished.stderr.contains("bad.ts:2:"), "{}", finished.stderr);
    assert!(finished.stderr.contains("\n    a.b.c();\n"), "{}", finished.stderr);
    assert!(finished.stderr.lines().any(|line| line.trim() == "^"), "{}", finished.stderr);
    let unknown = run(&dirs, &["run", "-e", "await caplets.ecko.say()"]);
    assert_eq!(unknown.code, Some(1));
    assert!(unknown.stderr.contains("did you mean `caplets.echo`?"), "{}", unknown.stderr);
}

#[test]
fn json_is_the_whole_answer_with_the_exit_code() {
    let dirs = deck();
    let answer = json(&dirs, &["run", "-e", "7"]);
    assert_eq!((&answer["ok"], &answer["value"]), (&json!(true), &json!(7)));
    let failed = capdeck(&dirs).args(["run", "-e", "throw 'no'", "--json"]).run();
    assert_eq!(failed.code, Some(1));
    let failed = failed.json();
    assert_eq!(failed["ok"], false, "{failed}");
    assert_eq!(failed["error"]["details"]["thrown"], "no", "{failed}");
    let late =
        capdeck(&dirs).args(["run", "-e", "for (;;) {}", "--timeout-ms", "200", "--json"]).run();
    assert_eq!(late.json()["error"]["code"], "sandbox_timeout");
}

#[test]
fn a_call_that_is_asked_about_needs_approval() {
    let dirs = TestDirs::new();
    let wipe = json!({"name": "wipe", "annotations": {"destructiveHint": true}});
    let plan = FakePlan { extra_tools: vec![wipe], ..FakePlan::default() };
    dirs.write_config(&json!({"mcpServers": {"fake": plan.deck_entry()}}));
    let code = "await caplets.fake.wipe(); 'done'";
    let refused = run(&dirs, &["run", "-e", code]);
    assert_eq!(refused.code, Some(1));
    assert!(refused.stderr.contains("the person runs: capdeck approve "), "{}", refused.stderr);
    assert_eq!(run(&dirs, &["run", "-e", code, "--yes"]).success().stdout, "done\n");
}

#[test]
fn types_are_shown_for_one_tool_one_capability_or_all() {
    let dirs = deck();
    dirs.write_config(&json!({"mcpServers": {"fake": FakePlan::default().deck_entry()}}));
    let one = run(&dirs, &["types", "echo.say"]).success().stdout;
    assert!(one.contains("say(args: {") && one.contains("text: string"), "{one}");
    let all = json(&dirs, &["types"]);
    let ids: Vec<_> = all["items"].as_array().unwrap().iter().map(|item| &item["id"]).collect();
    assert_eq!(ids, ["echo", "fake"]);
    assert!(all["items"][1]["typeScript"].is_null(), "no server was asked: {all}");
    let asked = json(&dirs, &["types", "fake"]);
    assert!(asked["items"][0]["typeScript"].as_str().unwrap().contains("echo("), "{asked}");
    let unknown = run(&dirs, &["types", "ecko"]);
    assert_eq!(unknown.code, Some(1));
    assert!(unknown.stderr.contains("did you mean `echo`?"), "{}", unknown.stderr);
}

#[test]
fn a_question_in_a_run_reaches_a_client_on_stdio() {
    let dirs = TestDirs::new();
    dirs.write_config(&json!({"mcpServers": {"fake": FakePlan::default().deck_entry()}}));
    let mut client = capdeck(&dirs).serve(&["--exposure", "code_mode"]);
    client.initialize_with(json!({"elicitation": {}}));
    let tools = client.request("tools/list", json!({}))["result"]["tools"].to_string();
    assert!(tools.contains("\"code_mode\""), "{tools}");
    let code = json!({"code": "await caplets.fake.ask_elicitation()"});
    let id = client.send_request("tools/call", json!({"name": "code_mode", "arguments": code}));
    let question = client.incoming("elicitation/create");
    client.respond(&question["id"], json!({"action": "accept", "content": {"name": "Ada"}}));
    let answer = client.answer_to(id);
    assert!(answer.to_string().contains("Ada"), "{answer}");
    client.close();
}
