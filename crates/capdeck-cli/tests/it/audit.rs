//! `capdeck audit` and `capdeck log`: what agents did.

use std::{
    io::{BufRead as _, BufReader},
    process::{Command, Stdio},
};

use capdeck_test::{FakePlan, TestDirs};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::{capdeck, run};

fn deck() -> TestDirs {
    let dirs = TestDirs::new();
    dirs.write_config(&json!({"mcpServers": {"fake": FakePlan::default().deck_entry()}}));
    dirs
}

fn lines(dirs: &TestDirs, words: &[&str]) -> Vec<Value> {
    let finished = run(dirs, &[&["log", "--json"], words].concat()).success();
    finished.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn calls_of_agents_are_shown_with_their_outcome() {
    let dirs = deck();
    assert!(run(&dirs, &["audit"]).success().stderr.starts_with("no calls"));
    let mut agent = capdeck(&dirs).serve(&[]);
    agent.initialize();
    agent.close();
    run(&dirs, &["call", "fake", "echo", "secret=hidden"]).success();
    assert_eq!(run(&dirs, &["call", "fake", "tool_error"]).code, Some(1));

    let all = lines(&dirs, &[]);
    let calls: Vec<_> = all.iter().filter(|line| line["action"] == "tools/call").collect();
    assert_eq!(calls.len(), 2, "{all:?}");
    assert_eq!((&calls[0]["capability"], &calls[0]["tool"]), (&json!("fake"), &json!("echo")));
    assert_eq!((&calls[0]["outcome"], calls[0].get("errorCode")), (&json!("ok"), None));
    assert_eq!(
        (&calls[1]["outcome"], &calls[1]["errorCode"]),
        (&json!("error"), &json!("tool_error"))
    );
    assert!(calls[0]["elapsedMs"].is_u64() && calls[0]["at"].is_string());
    assert!(!format!("{all:?}").contains("hidden"));

    let table = run(&dirs, &["logs"]).success().stdout;
    assert!(table.starts_with("AT "), "{table}");
    assert!(table.contains("fake.echo") && table.contains("error: tool_error"), "{table}");
}

#[test]
fn the_report_is_filtered() {
    let dirs = deck();
    run(&dirs, &["call", "fake", "echo"]).success();
    run(&dirs, &["call", "fake", "tool_error"]);
    let agent = lines(&dirs, &["-n", "1"])[0]["agent"].as_str().unwrap().to_owned();
    let count = |words: &[&str]| lines(&dirs, words).len();
    for (words, expected) in [
        (&["--tool", "echo"][..], 1),
        (&["--capability", "fake"], 2),
        (&["--capability", "fake.tool_error"], 1),
        (&["--in", "other"], 0),
        (&["--outcome", "error"], 1),
        (&["--outcome", "denied"], 0),
        (&["--agent", &agent], 2),
        (&["--client", "someone-else"], 0),
        (&["--since", "1h"], 2),
        (&["--until", "2020-01-01"], 0),
        (&["-n", "1"], 1),
    ] {
        assert_eq!(count(words), expected, "{words:?}");
    }
    assert_eq!(run(&dirs, &["log", "--since", "yesterday"]).code, Some(2));
}

#[test]
fn what_happens_in_capsules_is_in_the_same_report() {
    let dirs = deck();
    dirs.write("project/plan.md", "Ship it.\n");
    run(&dirs, &["capsule", "new", "team"]).success();
    run(&dirs, &["capsule", "write", "team", "docs://plan", "plan.md"]).success();
    run(&dirs, &["call", "fake", "echo"]).success();
    let all = lines(&dirs, &[]);
    let written = all.iter().find(|line| line["uri"] == "docs://plan").unwrap();
    assert_eq!((&written["capsule"], &written["outcome"]), (&json!("team"), &json!("ok")));
    assert!(all.iter().any(|line| line["tool"] == "echo"), "{all:?}");
    // Reading the report is no part of it, and a filter for tools leaves capsules out.
    assert_eq!(lines(&dirs, &[]).len(), all.len());
    assert!(lines(&dirs, &["--tool", "echo"]).iter().all(|line| line.get("capsule").is_none()));
}

#[test]
fn a_follower_sees_calls_and_capsules_as_they_happen() {
    let dirs = deck();
    run(&dirs, &["call", "fake", "echo"]).success();
    let mut command = Command::new(env!("CARGO_BIN_EXE_capdeck"));
    dirs.isolate(&mut command).args(["log", "-f", "--json"]);
    let mut following = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut shown = BufReader::new(following.stdout.take().unwrap()).lines();
    let mut next = || -> Value { serde_json::from_str(&shown.next().unwrap().unwrap()).unwrap() };
    assert_eq!(next()["tool"], "echo");
    run(&dirs, &["call", "fake", "tool_error"]);
    assert_eq!(next()["tool"], "tool_error");
    dirs.write("project/plan.md", "Ship it.\n");
    run(&dirs, &["capsule", "new", "team"]).success();
    let made = next();
    assert_eq!((&made["action"], &made["capsule"]), (&json!("capsule.create"), &json!("team")));
    run(&dirs, &["capsule", "write", "team", "docs://plan", "plan.md"]).success();
    let written = next();
    assert_eq!((&written["uri"], &written["capsule"]), (&json!("docs://plan"), &json!("team")));
    let id = Pid::from_raw(i32::try_from(following.id()).unwrap()).unwrap();
    kill_process(id, Signal::INT).unwrap();
    assert_eq!(following.wait().unwrap().code(), Some(130));
}
