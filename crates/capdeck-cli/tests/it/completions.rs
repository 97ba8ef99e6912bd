//! `capdeck completions`, and the answers its scripts ask for.

use capdeck_test::{FakePlan, TestDirs};
use serde_json::json;

use crate::{capdeck, json, run};

fn candidates(dirs: &TestDirs, line: &[&str]) -> Vec<String> {
    let asked =
        capdeck(dirs).env("CAPDECK_COMPLETE", "fish").arg("--").arg("capdeck").args(line).run();
    let answer = asked.success().stdout;
    answer.lines().map(|line| line.split('\t').next().unwrap().to_owned()).collect()
}

#[test]
fn every_shell_has_a_script_that_asks_this_binary() {
    let dirs = TestDirs::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = run(&dirs, &["completions", shell]).success().stdout;
        assert!(script.contains("CAPDECK_COMPLETE"), "{shell}: {script}");
    }
    assert_eq!(run(&dirs, &["completions", "tcsh"]).code, Some(2));
}

#[test]
fn commands_ids_tools_and_arguments_are_completed() {
    let dirs = TestDirs::new();
    assert!(candidates(&dirs, &["va"]).contains(&"validate".to_owned()));
    assert_eq!(candidates(&dirs, &["inspect", "ma"]), ["machine"]);
    assert_eq!(candidates(&dirs, &["describe", "machine", "n"]), ["now"]);
    assert_eq!(candidates(&dirs, &["call", "machine.u"]), ["machine.uptime"]);
    assert_eq!(candidates(&dirs, &["call", "machine", "now", "z"]), ["zone="]);
    assert_eq!(candidates(&dirs, &["call", "machine.now", "z"]), ["zone="]);
}

#[test]
fn nothing_is_started_to_complete_a_line() {
    let dirs = TestDirs::new();
    let record = dirs.root().join("record.jsonl");
    let plan = FakePlan { record: Some(record.clone()), ..FakePlan::default() };
    dirs.write_config(&json!({"mcpServers": {"fake": plan.deck_entry()}}));
    assert_eq!(candidates(&dirs, &["tools", "f"]), ["fake"]);
    assert!(candidates(&dirs, &["call", "fake", "ec"]).is_empty());
    assert!(!record.exists());
    json(&dirs, &["tools", "fake"]);
    assert_eq!(candidates(&dirs, &["call", "fake", "ec"]), ["echo"]);
}
