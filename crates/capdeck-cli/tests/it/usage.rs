//! Wrong usage, output formats and closed pipes.

use std::process::Stdio;

use capdeck_test::TestDirs;
use serde_json::json;

use crate::{capdeck, run, shown};

#[test]
fn help_and_version_are_data() {
    let dirs = TestDirs::new();
    for words in [["--help"], ["--version"]] {
        let finished = run(&dirs, &words).success();
        assert!(finished.stdout.contains("capdeck") && finished.stderr.is_empty());
    }
}

#[test]
fn help_is_a_command_too() {
    let dirs = TestDirs::new();
    for (words, same) in [
        (&["help"][..], &["--help"][..]),
        (&["help", "list"], &["list", "--help"]),
        (&["vault", "help", "set"], &["vault", "set", "--help"]),
    ] {
        assert_eq!(run(&dirs, words).success().stdout, run(&dirs, same).stdout, "{words:?}");
    }
}

#[test]
fn help_has_groups_and_all_of_it_on_request() {
    let dirs = TestDirs::new();
    let (short, all) = (run(&dirs, &["help"]).success(), run(&dirs, &["help", "--all"]).success());
    assert!(short.stdout.contains("\nStart:\n  import "), "{}", short.stdout);
    for (command, on_first_page) in [("connect", true), ("artifacts", false)] {
        let line = format!("\n  {command} ");
        assert_eq!(short.stdout.contains(&line), on_first_page, "{}", short.stdout);
        assert!(all.stdout.contains(&line), "{}", all.stdout);
    }
    let unknown = run(&dirs, &["help", "nope"]);
    assert_eq!(unknown.code, Some(2));
    assert!(unknown.stderr.contains("'nope'"), "{}", unknown.stderr);
}

#[test]
fn a_command_that_lists_needs_no_word_for_it() {
    let dirs = TestDirs::new();
    for (words, same) in [
        (&["pins"][..], &["pins", "list"][..]),
        (&["auth"], &["auth", "status"]),
        (&["runs"], &["runs", "list"]),
        (&["artifacts"], &["artifacts", "list"]),
        (&["approve"], &["approvals"]),
        (&["vault"], &["vault", "list"]),
        (&["cmp"], &["cmp", "list"]),
        (&["capsule"], &["capsule", "list"]),
        (&["ls"], &["list"]),
    ] {
        let (short, whole) = (run(&dirs, words).success(), run(&dirs, same).success());
        assert_eq!((short.stdout, short.stderr), (whole.stdout, whole.stderr), "{words:?}");
        let (short, whole) = (crate::json(&dirs, words), crate::json(&dirs, same));
        assert_eq!(short, whole, "{words:?}");
    }
}

#[test]
fn a_mistake_is_exit_2_on_stderr() {
    let dirs = TestDirs::new();
    for words in
        [&["lisst"][..], &["list", "--nope"], &["describe"], &["--color", "pink", "list"], &[]]
    {
        let finished = run(&dirs, words);
        assert_eq!((finished.code, finished.stdout.as_str()), (Some(2), ""), "{words:?}");
        assert!(!finished.stderr.is_empty(), "{words:?}");
    }
}

#[test]
fn a_mistake_is_json_when_json_is_asked_for() {
    let dirs = TestDirs::new();
    let finished = run(&dirs, &["list", "--nope", "--json"]);
    assert_eq!((finished.code, finished.stderr.as_str()), (Some(2), ""));
    let error = &finished.json()["error"];
    assert_eq!(error["code"], "USAGE");
    assert!(error["message"].as_str().unwrap().contains("--nope"), "{error}");
    let near = &run(&dirs, &["doctr", "--json"]).json()["error"];
    assert_eq!(near["hint"], "a similar subcommand exists: 'doctor'");
}

/// The host speaks to agents, which pass a hint on; on the command line the person reads it.
#[test]
fn hints_are_for_the_person_who_types() {
    let dirs = TestDirs::new();
    dirs.write("project/.capdeck/echo.md", crate::echo_file("Echo"));
    dirs.write("config/machine.md", crate::echo_file("Machine"));
    for (words, hint) in [
        (&["call", "qqqqq", "x"][..], "see what there is with: capdeck list"),
        (&["call", "machine", "qqqqq"], "see its tools with: capdeck tools machine"),
        (&["call", "echo", "x"], "the person reviews the files, then runs: capdeck trust"),
    ] {
        let error = &run(&dirs, &[words, &["--json"]].concat()).json()["error"];
        assert_eq!(error["hint"], hint, "{error}");
    }
    let checked = run(&dirs, &["check", "qqqqq"]);
    assert_eq!(checked.stderr, "qqqqq: see what there is with: capdeck list\n");
}

#[test]
fn a_mistake_in_json_says_all_that_a_person_sees() {
    let dirs = TestDirs::new();
    for (words, message, hint) in [
        (
            &["search"][..],
            "the following required arguments were not provided: <QUERY>...",
            "write it as: capdeck search --json <QUERY>...",
        ),
        (
            &["schema", "nope"],
            "invalid value 'nope' for '<FORMAT>' [possible values: caplet, config, capabilities, cmp]",
            "see: capdeck --help",
        ),
        (&["doctr"], "unrecognized subcommand 'doctr'", "a similar subcommand exists: 'doctor'"),
        (
            &["add"],
            "'capdeck add' requires a subcommand but one was not provided [subcommands: mcp, openapi, graphql, google-discovery, http, cli, help]",
            "write it as: capdeck add [OPTIONS] <COMMAND>",
        ),
    ] {
        let words = [words, &["--json"]].concat();
        let finished = run(&dirs, &words);
        let expected = json!({"error": {"code": "USAGE", "message": message, "hint": hint}});
        assert_eq!((finished.code, finished.json()), (Some(2), expected), "{words:?}");
    }
}

#[test]
fn folders_that_are_not_there_are_exit_2() {
    let dirs = TestDirs::new();
    let file = dirs.write("a-file", "");
    let missing = run(&dirs, &["list", "--config", "nowhere"]);
    insta::assert_snapshot!(shown(&dirs, &missing), @r"
    exit 2
    --- stdout
    --- stderr
    error: --config: there is no folder `[ROOT]/project/nowhere`
    hint: make it with: capdeck init --config [ROOT]/project/nowhere
    ");
    assert_eq!(run(&dirs, &["list", "--project", "nowhere"]).code, Some(2));
    let hint = "hint: move the file away, or name a folder\n";
    let named = run(&dirs, &["list", "--config", file.to_str().unwrap()]);
    let set = capdeck(&dirs).arg("list").env("CAPDECK_CONFIG_DIR", &file).run();
    for finished in [named, set] {
        assert_eq!(finished.code, Some(2), "{}", finished.stderr);
        assert!(finished.stderr.ends_with(hint), "{}", finished.stderr);
    }
    let init = run(&dirs, &["init", "--config", file.to_str().unwrap()]);
    let hint = "hint: a file is where a folder should be; move it away\n";
    assert!(init.stderr.ends_with(hint), "{}", init.stderr);
    let new = capdeck(&dirs).args(["capsule", "new", "team"]).env("CAPDECK_DATA_DIR", &file).run();
    assert!(new.stderr.ends_with("capdeck doctor\n"), "{}", new.stderr);
}

#[test]
fn a_bad_log_filter_is_exit_2() {
    let dirs = TestDirs::new();
    let finished = capdeck(&dirs).arg("list").env("CAPDECK_LOG", "capdeck=loud").run();
    assert_eq!(finished.code, Some(2));
    assert!(finished.stderr.contains("CAPDECK_LOG"), "{}", finished.stderr);
}

#[test]
fn the_log_goes_to_stderr_only() {
    let dirs = TestDirs::new();
    let finished = run(&dirs, &["list", "--json", "-vv"]).success();
    assert!(finished.json()["items"].is_array());
}

#[test]
fn a_reader_that_leaves_early_is_no_failure() {
    let dirs = TestDirs::new();
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_capdeck"));
    dirs.isolate(&mut command).args(["schema", "config"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // The pipe is closed before the command writes its 100 KB.
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn output_that_is_lost_is_a_failure() {
    if !std::path::Path::new("/dev/full").exists() {
        println!("skipped: no /dev/full on this system");
        return;
    }
    let dirs = TestDirs::new();
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_capdeck"));
    dirs.isolate(&mut command).arg("list").stdout(full);
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("could not be written"));
}

#[test]
fn colours_are_for_terminals_or_on_request() {
    let dirs = TestDirs::new();
    assert!(!run(&dirs, &["list"]).stdout.contains('\x1b'));
    assert!(run(&dirs, &["list", "--color", "always"]).stdout.contains('\x1b'));
    assert!(!run(&dirs, &["list", "--color", "never"]).stdout.contains('\x1b'));
}

#[test]
fn quiet_leaves_only_data_and_errors() {
    let dirs = TestDirs::new();
    dirs.write("config/broken.md", "none\n");
    let finished = run(&dirs, &["list", "-q"]);
    assert_eq!((finished.code, finished.stderr.as_str()), (Some(0), ""));
    assert!(run(&dirs, &["inspect", "nope", "-q"]).stderr.starts_with("error: "));
}

#[test]
fn schemas_are_json_schemas() {
    let dirs = TestDirs::new();
    for (format, key) in [("caplet", "mcpServer"), ("config", "mcpServers")] {
        let schema = run(&dirs, &["schema", format]).success().json();
        assert_eq!(schema["$schema"], json!("https://json-schema.org/draft/2020-12/schema"));
        assert!(schema["properties"][key].is_object(), "{format}");
    }
}

#[test]
fn nothing_is_needed_of_the_environment() {
    let dirs = TestDirs::new();
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_capdeck"));
    command.env_clear().current_dir(dirs.project());
    let deck = dirs.config();
    command.env("CAPDECK_CONFIG_DIR", &deck).env("CAPDECK_STATE_DIR", dirs.state());
    let output =
        command.env("CAPDECK_CACHE_DIR", dirs.cache()).args(["list", "--json"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
}
