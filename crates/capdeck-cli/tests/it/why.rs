//! `capdeck why`.

use capdeck_test::{FakePlan, TestDirs};
use serde_json::json;

use crate::{capdeck, echo_file, json, run, shown};

#[test]
fn the_starter_deck_explains_itself() {
    let dirs = TestDirs::new();
    insta::assert_snapshot!(shown(&dirs, &run(&dirs, &["why", "machine", "now"])), @r"
    exit 0
    --- stdout
    machine is unchecked
      from           starter/machine.md (built in, used while nothing else is configured)
      exposure       code_mode_and_search (the host's default)
      agents see it  from code, by `code_mode`, and by `search`
      the tool       not listed; callable as `machine__now`
      policy         allowed (no matching rule)
      health         not asked yet; ask with: capdeck check machine
    --- stderr
    ");
}

#[test]
fn layers_exposures_and_names_are_reported() {
    let dirs = TestDirs::new();
    dirs.write_config(&json!({
        "options": {"exposure": "progressive"},
        "mcpServers": {"echo": FakePlan::default().deck_entry(), "fake": FakePlan::default().deck_entry()}
    }));
    dirs.write(
        "config/echo.md",
        echo_file("Echo").replace("cliTools", "exposure: direct\ncliTools"),
    );
    dirs.write("config/shy.md", echo_file("Shy").replace("cliTools", "exposure: none\ncliTools"));
    let echo = json(&dirs, &["why", "echo.say"]);
    assert_eq!(echo["exposureFrom"], "its own file");
    let tool = json!({
        "name": "say", "agentName": "echo__say", "listed": true,
        "policy": "allow", "policyBecause": "no matching rule",
    });
    assert_eq!(echo["tool"], tool);
    assert_eq!(echo["shadows"][0]["kind"], "user-config");
    let fake = json(&dirs, &["why", "fake"]);
    assert_eq!(fake["exposureFrom"], "the deck's config");
    assert_eq!(fake["seen"], "as one tool `fake` with an `operation` argument");
    let shy = json(&dirs, &["why", "shy"]);
    assert_eq!((&shy["visible"], &shy["status"]), (&json!(false), &json!("ready")));
}

#[test]
fn a_broken_file_is_explained_not_denied() {
    let dirs = TestDirs::new();
    dirs.write("config/broken.md", "no frontmatter\n");
    let broken = json(&dirs, &["why", "broken"]);
    assert_eq!((&broken["status"], &broken["visible"]), (&json!("quarantined"), &json!(false)));
    assert!(broken["nextStep"].as_str().unwrap().starts_with("capdeck validate "));
}

#[test]
fn unknown_things_fail_with_a_suggestion() {
    let dirs = TestDirs::new();
    assert!(run(&dirs, &["why", "machin"]).stderr.contains("did you mean `machine`?"));
    let tool = run(&dirs, &["why", "machine", "noww"]);
    assert_eq!(tool.code, Some(1));
    assert!(tool.stderr.contains("did you mean `now`?"), "{}", tool.stderr);
    assert_eq!(run(&dirs, &["why", "machine.now", "now"]).code, Some(2));
}

#[test]
fn an_agent_sees_what_its_own_entry_gives_it() {
    let dirs = TestDirs::new();
    for id in ["echo", "loud", "other"] {
        dirs.write(format!("config/{id}.md"), echo_file(id));
        run(&dirs, &["tools", id]).success();
    }
    let config =
        "policy:\n  - deny: { capability: loud }\nviews:\n  reader: { capabilities: [echo] }\n";
    dirs.write("config/config.yaml", config);
    let connect = |words: &[&str]| {
        let line = capdeck(&dirs).args(["connect", "--force"]).args(words);
        line.env("PATH", "/usr/bin:/bin").run().success();
    };
    let answer = |words: &[&str]| {
        let shown = capdeck(&dirs).arg("why").args(words).arg("--json").run().success().json();
        let because = shown["items"][0]["because"].as_str().unwrap_or_default().to_owned();
        (shown["visible"].as_bool().unwrap(), because)
    };
    assert_eq!(answer(&["echo.say", "--for", "cursor"]), (false, String::new()));
    connect(&["cursor", "--view", "reader"]);
    connect(&["codex", "--only", "other", "--exposure", "direct"]);
    connect(&["windsurf", "--only", "other"]);
    connect(&["gemini-cli"]);
    for (words, visible, because) in [
        (&["echo.say", "--for", "cursor"][..], true, "from code, by `code_mode`, and by `search`"),
        (&["other.say", "--for", "cursor"], false, "the view `reader` does not have it"),
        (&["other", "--for", "codex"], true, "each tool listed as `other__<tool>`"),
        (&["echo", "say", "--for", "codex"], false, "the client is given only `other`"),
        (&["other.say", "--for", "windsurf"], true, "under its own name, as the only server"),
        (&["echo.say", "--for", "windsurf"], false, "the client is given only `other`"),
        (&["loud.say", "--for", "gemini-cli"], false, "denied by rule 1 of your policy"),
    ] {
        assert_eq!(answer(words), (visible, because.to_owned()), "{words:?}");
    }
    let text = run(&dirs, &["why", "other.say", "--for", "cursor"]).success();
    let line = "Cursor does not see other.say: the view `reader` does not have it\n  entry  ";
    assert!(text.stdout.starts_with(line), "{}", text.stdout);
    let unknown = run(&dirs, &["why", "nope", "--for", "zed"]);
    assert_eq!(unknown.code, Some(1));
}
