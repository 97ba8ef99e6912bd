//! Which variables of the environment programs get, and what is said of those they do not get.

use std::{fs, os::unix::fs::PermissionsExt as _};

use capdeck_test::TestDirs;
use serde_json::{Value, json};

use crate::capdeck;

/// An action that prints one variable, and what the block of its file says besides.
fn printing(variable: &str, more: &str) -> String {
    format!(
        "---\nname: Show\ndescription: Shows one variable.\ncliTools:\n{more}  actions:\n    show:\n      command: printenv\n      args: [{variable}]\n---\n"
    )
}

fn show(dirs: &TestDirs) -> (Option<i32>, String) {
    let run = capdeck(dirs)
        .env("AWS_PROFILE", "work")
        .env("GH_TOKEN", "canary-token")
        .args(["call", "show", "show"])
        .run();
    (run.code, run.stdout)
}

#[test]
fn a_file_names_the_variables_that_its_commands_get() {
    let dirs = TestDirs::new();
    for (more, expected) in [
        ("", None),
        ("  passEnv: [AWS_PROFILE]\n", Some("work")),
        ("  passEnv: ['AWS_*', MISSING]\n", Some("work")),
        ("  passEnv: [KUBECONFIG]\n", None),
        ("  passEnv: [AWS_PROFILE]\n  env: {AWS_PROFILE: own}\n", Some("own")),
    ] {
        dirs.write("config/show.md", printing("AWS_PROFILE", more));
        let (code, stdout) = show(&dirs);
        assert_eq!(
            stdout.contains(expected.unwrap_or("nothing")),
            expected.is_some(),
            "{more}: {stdout}"
        );
        assert_eq!(code == Some(0), expected.is_some(), "{more}: {stdout}");
    }
}

#[test]
fn a_deck_names_them_for_its_own_files_only() {
    let dirs = TestDirs::new();
    dirs.write_config(&json!({"options": {"passEnv": ["AWS_*"]}}));
    dirs.write("config/show.md", printing("AWS_PROFILE", ""));
    assert!(show(&dirs).1.contains("work"));

    // What the person's deck hands to its programs is not for the programs of a project.
    fs::remove_file(dirs.root().join("config/show.md")).unwrap();
    dirs.write("project/.capdeck/show.md", printing("AWS_PROFILE", ""));
    capdeck(&dirs).args(["trust", "--yes"]).run().success();
    assert_ne!(show(&dirs).0, Some(0));
    dirs.write("project/.capdeck/config.yaml", "options: {passEnv: [AWS_PROFILE]}\n");
    capdeck(&dirs).args(["trust", "--yes"]).run().success();
    assert!(show(&dirs).1.contains("work"));
}

#[test]
fn a_passed_secret_is_not_shown() {
    let dirs = TestDirs::new();
    dirs.write("config/show.md", printing("GH_TOKEN", "  passEnv: [GH_TOKEN]\n"));
    let (code, stdout) = show(&dirs);
    assert_eq!(code, Some(0), "{stdout}");
    assert!(!stdout.contains("canary-token") && stdout.contains("[redacted]"), "{stdout}");
}

#[test]
fn a_capability_file_names_them_for_its_servers_and_commands() {
    let dirs = TestDirs::new();
    let tools = "tools: [{id: show, type: command, group: show, def: {run: {cmd: printenv AWS_PROFILE}}}]\n";
    dirs.write("project/capabilities.yaml", tools);
    capdeck(&dirs).args(["trust", "--yes"]).run().success();
    assert_ne!(show(&dirs).0, Some(0));
    dirs.write(
        "project/capabilities.yaml",
        format!("options: {{passEnv: [AWS_PROFILE]}}\n{tools}"),
    );
    capdeck(&dirs).args(["trust", "--yes"]).run().success();
    assert!(show(&dirs).1.contains("work"));
}

#[test]
fn validate_and_check_say_what_a_program_was_not_given() {
    let dirs = TestDirs::new();
    let file = "---\nname: Cloud\ndescription: Lists buckets.\ncliTools:\n  actions:\n    list: {command: sh, args: [-c, 'aws s3 ls']}\n---\n";
    dirs.write("config/cloud.md", file);
    let with = |words: &[&str]| {
        let run = capdeck(&dirs).env("AWS_PROFILE", "work").env("UNRELATED", "x");
        run.args(words).run()
    };
    let found = with(&["validate", "--json"]).success().json();
    let [only] = found["items"].as_array().unwrap().as_slice() else { panic!("{found}") };
    assert_eq!(
        (&only["code"], &only["severity"]),
        (&json!("variable-not-given"), &json!("warning"))
    );
    assert_eq!(
        only["message"],
        "`AWS_PROFILE` (`aws`) is set here and does not reach the programs of `cloud`"
    );
    let fix = only["fix"].as_str().unwrap();
    assert!(
        fix.starts_with("if they need it, add `passEnv: [AWS_PROFILE]` to `cliTools` in "),
        "{fix}"
    );

    let checked = with(&["check", "cloud"]);
    assert!(checked.stderr.contains("`AWS_PROFILE` (`aws`) is set here"), "{}", checked.stderr);
    let report = with(&["check", "cloud", "--json"]).success().json();
    let expected = json!([{"name": "AWS_PROFILE", "usedBy": "`aws`"}]);
    assert_eq!(report["items"][0]["variablesNotGiven"], expected);

    // Nothing is said of what is given, or not set.
    dirs.write("config/cloud.md", file.replace("  actions:", "  passEnv: ['AWS_*']\n  actions:"));
    assert_eq!(with(&["validate", "--json"]).json()["items"], json!([]));
    dirs.write("config/cloud.md", file);
    let unset = capdeck(&dirs).args(["check", "cloud", "--json"]).run().json();
    assert_eq!(unset["items"][0].get("variablesNotGiven"), None::<&Value>);
}

/// A private registry that only the environment names.
#[test]
fn a_launcher_gets_the_registry_of_the_environment() {
    let dirs = TestDirs::new();
    let record = dirs.root().join("seen");
    let script = format!(
        "#!/bin/sh\nprintenv npm_config_registry UV_INDEX_URL > '{}'\nexit 1\n",
        record.display()
    );
    let program = dirs.write("npx", script);
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let entry = json!({"command": program, "args": ["-y", "one"], "startupTimeoutMs": 10_000});
    dirs.write_config(&json!({"mcpServers": {"one": entry}}));
    let run = capdeck(&dirs)
        .env("npm_config_registry", "https://npm.example")
        .env("UV_INDEX_URL", "https://uv.example");
    run.args(["check", "one"]).run();
    assert_eq!(fs::read_to_string(record).unwrap(), "https://npm.example\n");
}
