//! `capdeck budget`.

use capdeck_test::{FakePlan, TestDirs};
use serde_json::json;

use crate::{json, run};

#[test]
fn costs_are_counted_per_mode() {
    let dirs = TestDirs::new();
    let plan = FakePlan { behaviours: false, tools: 40, ..FakePlan::default() };
    dirs.write_config(&json!({"mcpServers": {"fake": plan.deck_entry()}}));
    let budget = json(&dirs, &["budget"]);
    let item = &budget["items"][0];
    let keys: Vec<_> = item.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(keys, ["id", "tools", "direct", "progressive", "search", "onDemand", "codeMode"]);
    assert_eq!(item["tools"], json!(40));
    let cost = |mode: &str| item[mode].as_u64().unwrap();
    assert!(cost("direct") > cost("progressive"), "{item}");
    assert!(cost("search") <= 350, "{item}");
    assert!(cost("onDemand") <= 200, "{item}");
    assert!(cost("codeMode") <= 600, "{item}");
    let sums = ["capabilities", "tools", "direct"].map(|sum| budget[sum].as_u64().unwrap());
    assert_eq!(sums, [1, 40, cost("direct")]);
    let text = run(&dirs, &["budget"]).success().stdout;
    let last = text.lines().last().unwrap();
    assert!(last.starts_with("1 server, 40 tools: "), "{last}");
    assert!(last.ends_with(&format!(" → {} tokens", budget["total"])), "{last}");
    let both = cost("search") + cost("codeMode");
    let total = budget["total"].as_u64().unwrap();
    assert!(total.abs_diff(both) <= 4, "the deck is offered by code and by search: {budget}");
    let listed = &json(&dirs, &["list"])["items"][0]["tokens"];
    assert_eq!(listed, &item["direct"], "both count the same");
    assert_eq!(&json(&dirs, &["inspect", "fake"])["tokens"], listed);
}

#[test]
fn what_is_not_known_is_asked_or_left_open() {
    let dirs = TestDirs::new();
    dirs.write_config(&json!({"mcpServers": {
        "fake": FakePlan::default().deck_entry(),
        "gone": {"name": "Gone", "description": "A server that is not there.", "command": "no-such-program-here"},
    }}));
    let cached = json(&dirs, &["budget", "--cached"]);
    assert_eq!(cached["items"][0]["direct"], json!(null));
    let finished = run(&dirs, &["budget"]);
    assert_eq!(finished.code, Some(0));
    assert!(finished.stderr.contains("the tools of `gone` are not known"), "{}", finished.stderr);
    let known = json(&dirs, &["budget", "--cached"]);
    assert!(known["items"][0]["direct"].as_u64().unwrap() > 100);
}
