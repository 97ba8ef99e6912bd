//! `capdeck list` and `inspect`.

use capdeck_test::{FakePlan, TestDirs};
use serde_json::json;

use crate::{echo_file, json, run, shown};

#[test]
fn an_empty_machine_has_the_starter_deck() {
    let dirs = TestDirs::new();
    let listed = json(&dirs, &["list"]);
    let ids: Vec<_> = listed["items"].as_array().unwrap().iter().map(|item| &item["id"]).collect();
    assert_eq!(ids, ["authoring", "machine"]);
    assert!(listed["items"].as_array().unwrap().iter().all(|item| item["status"] == "ready"));
}

#[test]
fn the_shape_of_an_item_is_exact() {
    let dirs = TestDirs::new();
    dirs.write_config(&json!({"mcpServers": {"one": {
        "name": "One", "description": "The lower one of two.", "command": "true"
    }}}));
    let file =
        dirs.write("config/one.md", echo_file("One").replace("cliTools", "tags: [a, b]\ncliTools"));
    let mut items = json(&dirs, &["list"])["items"].clone();
    let tokens = items[0]["tokens"].take().as_u64().unwrap();
    assert!(tokens > 20, "{tokens}");
    assert_eq!(
        items,
        json!([{
            "id": "one", "name": "One", "description": "Says the words it is given.", "tags": ["a", "b"],
            "backend": "cli", "exposure": "code_mode_and_search", "status": "ready",
            "health": {"state": "unchecked"}, "source": {"kind": "user-file", "path": file},
            "shadows": [{"kind": "user-config", "path": dirs.config().join("config.json")}],
            "tokens": null,
        }])
    );
}

#[test]
fn everything_that_is_not_ready_says_why() {
    let dirs = TestDirs::new();
    dirs.write("config/broken.md", "no frontmatter at all\n");
    dirs.write("config/off.md", echo_file("Off").replace("actions:", "disabled: true\n  actions:"));
    dirs.write("config/echo.md", echo_file("Echo"));
    dirs.write(
        "config/later.md",
        echo_file("Later").replace(
            "cliTools",
            "setup: { verify: [{ label: There, command: test, args: [-e, marker] }] }\ncliTools",
        ),
    );
    dirs.write(
        "config/bound.md",
        echo_file("Bound").replace("cliTools", "projectBinding: { required: true }\ncliTools"),
    );
    let brief = run(&dirs, &["list"]);
    insta::assert_snapshot!(shown(&dirs, &brief), @r"
    exit 0
    --- stdout
    ID     STATUS     BACKEND  EXPOSURE              TOOLS  DESCRIPTION
    bound  hidden     cli      code_mode_and_search  1      Says the words it is given.
    echo   unchecked  cli      code_mode_and_search  1      Says the words it is given.
    later  hidden     cli      code_mode_and_search  1      Says the words it is given.
    --- stderr
    bound is hidden: it works only inside a project, and there is none here; start capdeck in a project, or with --project DIR
    later is hidden: its set-up has not been run; capdeck setup later
    warning: `broken` does not load: the file does not start with `---`
    see what to correct with: capdeck validate
    ");
    let all = json(&dirs, &["list", "--all"]);
    let states: Vec<_> = all["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| (item["id"].as_str().unwrap(), item["status"].as_str().unwrap()))
        .collect();
    assert_eq!(
        states,
        [
            ("bound", "hidden"),
            ("broken", "quarantined"),
            ("echo", "ready"),
            ("later", "hidden"),
            ("off", "disabled")
        ]
    );
    assert_eq!(all["items"][1]["backend"], json!(null));
}

#[test]
fn inspect_shows_the_card_of_anything_that_loads() {
    let dirs = TestDirs::new();
    let shown_starter = run(&dirs, &["inspect", "machine"]);
    assert!(
        shown_starter.stdout.starts_with("machine  This machine\n"),
        "{}",
        shown_starter.stdout
    );

    dirs.write_config(&json!({"mcpServers": {"fake": FakePlan::default().deck_entry()}}));
    let card = json(&dirs, &["inspect", "fake"]);
    assert_eq!((&card["id"], &card["backend"]["type"]), (&json!("fake"), &json!("mcp")));
    assert_eq!((&card["status"], &card["tools"]), (&json!("ready"), &json!(null)));

    json(&dirs, &["tools", "fake"]);
    let card = json(&dirs, &["inspect", "fake"]);
    assert_eq!(card["tools"][0], "echo");
}

#[test]
fn an_unknown_id_is_answered_with_the_nearest() {
    let dirs = TestDirs::new();
    insta::assert_snapshot!(shown(&dirs, &run(&dirs, &["inspect", "machne"])), @r"
    exit 1
    --- stdout
    --- stderr
    error: there is no capability `machne`
    hint: did you mean `machine`?
    ");
    let answer = run(&dirs, &["inspect", "machne", "--json"]);
    assert_eq!(answer.code, Some(1));
    assert_eq!(
        answer.json(),
        json!({"error": {
            "code": "SERVER_NOT_FOUND", "message": "there is no capability `machne`",
            "hint": "did you mean `machine`?"
        }})
    );
}

#[test]
fn text_of_others_cannot_reach_the_terminal() {
    let dirs = TestDirs::new();
    let text =
        echo_file("Echo").replace("Says the words it is given.", "\"Says \\e[31mred\\e[0m words\"");
    dirs.write("config/echo.md", text);
    let listed = run(&dirs, &["list"]).success();
    assert!(!listed.stdout.contains('\x1b'), "{:?}", listed.stdout);
    assert!(listed.stdout.contains(r"\u{1b}[31mred"), "{:?}", listed.stdout);
}
