//! `capdeck trust` and `untrust`: a project's files do nothing until a person agrees.

use capdeck_test::TestDirs;
use serde_json::json;

use crate::{capdeck, echo_file, json, run, shown, terminal::Terminal};

fn with_project() -> TestDirs {
    let dirs = TestDirs::new();
    dirs.write("project/.capdeck/echo.md", echo_file("Echo"));
    dirs
}

fn status(dirs: &TestDirs) -> serde_json::Value {
    let listed = json(dirs, &["list", "--all"]);
    let items = listed["items"].as_array().unwrap();
    items.iter().find(|item| item["id"] == "echo").unwrap()["status"].clone()
}

#[test]
fn trust_is_for_the_files_as_they_were_seen() {
    let dirs = with_project();
    assert_eq!(status(&dirs), "untrusted");
    let refused = run(&dirs, &["call", "echo", "say", "text=a"]);
    assert_eq!(refused.code, Some(1));
    assert!(refused.stderr.contains("capdeck trust"), "{}", refused.stderr);

    insta::assert_snapshot!(shown(&dirs, &run(&dirs, &["trust"])), @r"
    exit 0
    --- stdout
    --- stderr
    These files would be allowed to act:

    echo  [ROOT]/project/.capdeck/echo.md
      say runs echo $input.text

    trusted: [ROOT]/project
    ");
    assert_eq!(status(&dirs), "ready");
    assert_eq!(run(&dirs, &["call", "echo", "say", "text=a"]).success().stdout, "a\n");

    dirs.write(
        "project/.capdeck/echo.md",
        echo_file("Echo").replace("command: echo", "command: printf"),
    );
    assert_eq!(status(&dirs), "untrusted");
    let refused = run(&dirs, &["call", "echo", "say", "text=a", "--json"]);
    assert_eq!((refused.code, &refused.json()["error"]["code"]), (Some(1), &json!("DENIED")));
    assert!(refused.stdout.contains("changed since"), "{}", refused.stdout);

    run(&dirs, &["trust"]).success();
    assert_eq!(status(&dirs), "ready");
    run(&dirs, &["untrust"]).success();
    assert_eq!(status(&dirs), "untrusted");
    assert_eq!(json(&dirs, &["untrust"])["wasTrusted"], false);
}

#[test]
fn a_new_file_asks_again() {
    let dirs = with_project();
    run(&dirs, &["trust"]).success();
    dirs.write("project/.capdeck/more.md", echo_file("More"));
    assert_eq!(status(&dirs), "untrusted");
}

#[test]
fn an_untrusted_file_does_not_replace_what_is_there() {
    let dirs = with_project();
    dirs.write("config/echo.md", echo_file("Mine").replace("args: [", "args: [mine, "));
    assert_eq!(run(&dirs, &["call", "echo", "say", "text=a"]).success().stdout, "mine a\n");
    let listed = json(&dirs, &["list", "--all"]);
    let states: Vec<_> = listed["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["status"].as_str().unwrap())
        .collect();
    assert_eq!(states, ["ready", "untrusted"]);
    run(&dirs, &["trust"]).success();
    assert_eq!(run(&dirs, &["call", "echo", "say", "text=a"]).success().stdout, "a\n");
}

#[test]
fn everything_that_would_run_is_shown_whole_and_cannot_hide() {
    let dirs = TestDirs::new();
    let long = "x".repeat(300);
    dirs.write(
        "project/.capdeck/config.json",
        json!({
            "mcpServers": {
                "local": {"name": "Local", "description": "A server started here.", "command": "sh",
                    "args": ["-c", format!("echo {long}; \u{1b}[2K\u{202e}")], "env": {"LD_PRELOAD": "/evil.so"}},
                "remote": {"name": "Remote", "description": "A server far away.", "url": "https://example.com/mcp",
                    "auth": {"type": "bearer", "token": "$env:MY_TOKEN"}},
            },
            "httpApis": {
                "inner": {"name": "Inner", "description": "An API in our network.", "baseUrl": "https://10.0.0.5",
                    "auth": {"type": "none"}, "network": "private", "actions": {"get": {"method": "GET", "path": "/"}}},
            },
        })
        .to_string(),
    );
    dirs.write(
        "project/.capdeck/set.md",
        "---\nname: Set\ndescription: A set with a member.\ncapletSet:\n  capletsRoot: ../members\n---\n",
    );
    dirs.write("project/members/inner.md", echo_file("Inner"));
    let finished = run(&dirs, &["trust"]).success();
    let text = &finished.stderr;
    assert!(
        text.contains(&format!("starts sh -c 'echo {long}; \\u{{1b}}[2K\\u{{202e}}'")),
        "{text}"
    );
    assert!(text.contains("with LD_PRELOAD=/evil.so"), "{text}");
    assert!(
        text.contains("connects to https://example.com/mcp\n  sends the token $env:MY_TOKEN"),
        "{text}"
    );
    let inside = "get sends GET https://10.0.0.5/\n  may send requests to private networks and to this machine";
    assert!(text.contains(inside), "{text}");
    assert!(text.contains("say runs echo $input.text"), "members of a set are shown: {text}");
    assert!(!text.contains('\u{1b}') && !text.contains('\u{202e}'), "{text:?}");
}

#[test]
fn a_folder_can_be_named() {
    let dirs = with_project();
    dirs.write("elsewhere/.keep", "");
    let trusted =
        capdeck(&dirs).current_dir(dirs.root()).args(["trust", "project", "--json"]).run();
    let trusted = trusted.success().json();
    assert_eq!(trusted["trusted"], true);
    assert_eq!(trusted["capabilities"][0]["does"], json!(["say runs echo $input.text"]));
    assert_eq!(status(&dirs), "ready");

    let nothing = capdeck(&dirs).current_dir(dirs.root()).args(["trust", "elsewhere"]).run();
    assert_eq!(nothing.code, Some(1));
    assert!(nothing.stderr.contains("no project deck"), "{}", nothing.stderr);
    assert_eq!(run(&dirs, &["trust", "nowhere"]).code, Some(2));
}

#[test]
fn a_person_who_is_asked_sees_what_about_even_when_quiet() {
    let dirs = with_project();
    let mut terminal = Terminal::start(&dirs, &["trust", "-q"]);
    terminal.wait_for("say runs echo $input.text");
    terminal.wait_for("[y/N]");
    terminal.answer("n");
    assert_eq!(terminal.end(), (Some(1), String::new()));
    assert_eq!(status(&dirs), "untrusted");
}
