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

#[test]
fn a_line_of_the_shell_is_completed_to_the_values_of_its_flags() {
    let dirs = TestDirs::new();
    dirs.write(
        "config/issueTracker.md",
        "---\nname: Issues\ndescription: The issues of a project.\ncliTools:\n  actions:\n    createIssue:\n      \
         description: Creates one.\n      command: echo\n      inputSchema:\n        type: object\n        properties:\n          \
         state: { enum: [open, closed] }\n          kinds: { type: array, items: { enum: [bug, idea] } }\n          \
         maxAge: { type: integer }\n          urgent: { type: boolean }\n          json: { type: string }\n---\n",
    );
    let complete = |line: &[&str]| candidates(&dirs, line);
    assert_eq!(complete(&["sh", "is"]), ["issue-tracker"]);
    assert_eq!(complete(&["sh", "issue-tracker", "cr"]), ["create-issue"]);
    assert_eq!(
        complete(&["sh", "issueTracker", ""]).first().map(String::as_str),
        Some("create-issue")
    );
    for tool in ["create-issue", "createIssue"] {
        let line = |word| complete(&["sh", "issue-tracker", tool, word]);
        assert_eq!(line("--max"), ["--max-age"]);
        assert_eq!(line("--no-"), ["--no-urgent"]);
        assert_eq!(line("--js"), ["--json"]);
        assert_eq!(line("--dry"), ["--dry-run"]);
        assert_eq!(line("--state="), ["--state=open", "--state=closed"]);
    }
    let flags = ["sh", "issue-tracker", "create-issue", "--urgent", "--kinds", ""];
    assert_eq!(complete(&flags), ["bug", "idea"]);
    let config = dirs.config();
    let named =
        ["--config", config.to_str().unwrap(), "sh", "issue-tracker", "create-issue", "--st"];
    assert_eq!(complete(&named), ["--state"]);
    let after_nothing = complete(&["sh", "nothing", ""]);
    assert!(after_nothing.iter().all(|word| word.starts_with("--")), "{after_nothing:?}");
}
