//! `capdeck setup`: hidden until its declared set-up has been approved and verified.

use capdeck_test::TestDirs;
use serde_json::json;

use crate::{capdeck, echo_file, json, run, shown};

/// A capability whose set-up makes a marker file and then looks for it.
fn with_setup(verify: &str) -> TestDirs {
    let dirs = TestDirs::new();
    let marker = dirs.root().join("marker");
    let setup = format!(
        "setup:\n  commands:\n    - {{ label: Make the marker, command: touch, args: ['{marker}'] }}\n  verify:\n    \
         - {{ label: Look for it, command: '{verify}', args: ['{marker}'] }}\ncliTools",
        marker = marker.display()
    );
    dirs.write("config/echo.md", echo_file("Echo").replace("cliTools", &setup));
    dirs
}

#[test]
fn approval_and_verification_make_it_visible() {
    let dirs = with_setup("ls");
    let hidden = run(&dirs, &["call", "echo", "say", "text=a"]);
    assert_eq!(hidden.code, Some(1));
    assert!(hidden.stderr.contains("capdeck setup echo"), "{}", hidden.stderr);

    let unapproved = run(&dirs, &["setup", "echo"]);
    insta::assert_snapshot!(shown(&dirs, &unapproved), @r"
    exit 1
    --- stdout
    --- stderr
    The set-up of echo:
      set-up runs: touch [ROOT]/marker (Make the marker)
      set-up checks: ls [ROOT]/marker (Look for it)

    error: the set-up was not approved
    hint: the person reads the plan above, then runs in a terminal: capdeck setup echo
    ");
    assert!(!dirs.root().join("marker").exists(), "nothing runs without approval");

    let done = run(&dirs, &["setup", "echo", "--yes"]).success();
    assert!(
        done.stderr.ends_with("1/2 Make the marker: done\n2/2 Look for it: done\necho is set up\n"),
        "{}",
        done.stderr
    );
    assert_eq!(run(&dirs, &["call", "echo", "say", "text=a"]).success().stdout, "a\n");

    let edited = std::fs::read_to_string(dirs.config().join("echo.md")).unwrap();
    dirs.write("config/echo.md", edited.replace("command: echo", "command: printf"));
    assert_eq!(
        json(&dirs, &["list"])["items"][0]["status"],
        "hidden",
        "a changed file is verified again"
    );
}

#[test]
fn a_failed_check_keeps_it_hidden() {
    let dirs = with_setup("false");
    let failed = run(&dirs, &["setup", "echo", "--yes"]);
    assert_eq!(failed.code, Some(1));
    assert!(failed.stderr.contains("failed at `Look for it`"), "{}", failed.stderr);
    assert_eq!(json(&dirs, &["list"])["items"][0]["status"], "hidden");
    let report = run(&dirs, &["setup", "echo", "--yes", "--json"]);
    assert_eq!((report.code, &report.json()["succeeded"]), (Some(1), &json!(false)));
}

#[test]
fn an_untrusted_project_cannot_run_its_set_up() {
    let dirs = TestDirs::new();
    let marker = dirs.root().join("marker");
    let setup = format!(
        "setup:\n  commands: [{{ label: Evil, command: touch, args: ['{}'] }}]\ncliTools",
        marker.display()
    );
    dirs.write("project/.capdeck/echo.md", echo_file("Echo").replace("cliTools", &setup));
    let refused = run(&dirs, &["setup", "echo", "--yes"]);
    assert_eq!(refused.code, Some(1));
    assert!(refused.stderr.contains("capdeck trust"), "{}", refused.stderr);
    assert!(!marker.exists());
}

#[test]
fn what_declares_no_set_up_says_so() {
    let dirs = TestDirs::new();
    let finished = run(&dirs, &["setup", "machine", "--yes"]);
    assert_eq!(finished.code, Some(1));
    assert!(finished.stderr.contains("declares no set-up"), "{}", finished.stderr);
    assert_eq!(capdeck(&dirs).args(["setup", "nowhere"]).run().code, Some(1));
}

#[test]
fn a_file_with_several_sets_up_each_that_needs_it() {
    let dirs = TestDirs::new();
    let child = |name: &str, verify: &str| {
        let marker = dirs.root().join(name);
        let marker = marker.display();
        format!(
            "  {name}:\n    setup: {{ commands: [{{ label: Make {name}, command: touch, args: ['{marker}'] }}], \
             verify: [{{ label: Look for {name}, command: '{verify}', args: ['{marker}'] }}] }}\n    \
             actions: {{ say: {{ command: echo, args: [{name}] }} }}\n"
        )
    };
    let file = |verify: &str| {
        format!(
            "---\nname: Suite\ndescription: Several commands in one file.\ncliTools:\n{}{}  \
             plain:\n    actions: {{ say: {{ command: echo }} }}\n---\n",
            child("one", "ls"),
            child("two", verify)
        )
    };
    dirs.write("config/suite.md", file("false"));
    let failed = run(&dirs, &["setup", "suite", "--yes"]);
    assert_eq!(failed.code, Some(1));
    assert!(failed.stderr.contains("suite__one is set up"), "{}", failed.stderr);
    assert!(failed.stderr.contains("`suite__two` failed at `Look for two`"), "{}", failed.stderr);

    dirs.write("config/suite.md", file("ls"));
    let unapproved = run(&dirs, &["setup", "suite"]);
    assert_eq!(unapproved.code, Some(1));
    for plan in ["The set-up of suite__one:", "The set-up of suite__two:"] {
        assert!(unapproved.stderr.contains(plan), "{}", unapproved.stderr);
    }
    let done = json(&dirs, &["setup", "suite", "--yes"]);
    assert_eq!((&done["id"], &done["succeeded"]), (&json!("suite"), &json!(true)));
    let ids: Vec<_> = done["items"].as_array().unwrap().iter().map(|one| &one["id"]).collect();
    assert_eq!(ids, ["suite__one", "suite__two"]);
    for name in ["one", "two"] {
        let said = run(&dirs, &["call", &format!("suite__{name}"), "say"]).success();
        assert_eq!(said.stdout, format!("{name}\n"));
    }
}
