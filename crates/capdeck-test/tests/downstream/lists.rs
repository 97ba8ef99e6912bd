//! Servers that list in pages, twice, without end, or not at all.

use capdeck_test::{FakePlan, fake::FakeFault};
use serde_json::json;

use crate::scene::Scene;

#[test]
fn all_pages_are_read() {
    let plan =
        FakePlan { behaviours: false, tools: 55, page_size: Some(10), ..FakePlan::default() };
    let mut scene = Scene::start(plan);
    let names = scene.tool_names();
    assert_eq!(names.iter().filter(|name| name.starts_with("bad__tool_")).count(), 55);
}

#[test]
fn a_list_without_end_is_cut_off() {
    let plan = FakePlan {
        behaviours: false,
        tools: 3,
        page_size: Some(1),
        endless_pages: true,
        ..FakePlan::default()
    };
    let mut scene = Scene::start(plan);
    assert!(scene.tool_names().iter().any(|name| name == "good__echo"));
    scene.good_still_answers();
}

#[test]
fn ten_thousand_tools_are_listed() {
    let plan = FakePlan { behaviours: false, tools: 10_000, ..FakePlan::default() };
    let mut scene = Scene::start_with(plan, json!({"callTimeoutMs": 15_000}), json!({}));
    let names = scene.tool_names();
    assert_eq!(names.iter().filter(|name| name.starts_with("bad__tool_")).count(), 10_000);
}

#[test]
fn a_name_sent_twice_is_listed_once() {
    let plan = FakePlan { duplicate_tools: true, ..FakePlan::default() };
    let mut scene = Scene::start(plan);
    let names = scene.tool_names();
    assert_eq!(names.iter().filter(|name| *name == "bad__echo").count(), 1);
}

#[test]
fn a_server_that_does_not_start_leaves_the_others_listed() {
    let broken = [
        FakePlan {
            exit_at_start: Some(3),
            stderr_line: Some("no token".to_owned()),
            ..FakePlan::default()
        },
        FakePlan { initialize: FakeFault::Hang, ..FakePlan::default() },
        FakePlan { initialize: FakeFault::Crash, ..FakePlan::default() },
        FakePlan { initialize: FakeFault::BadJson, ..FakePlan::default() },
        FakePlan { initialize: FakeFault::Error, ..FakePlan::default() },
        FakePlan { list: FakeFault::Hang, ..FakePlan::default() },
    ];
    for plan in broken {
        let shown = format!("{:?} {:?} {:?}", plan.exit_at_start, plan.initialize, plan.list);
        let mut scene = Scene::start(plan);
        let names = scene.tool_names();
        assert!(names.iter().any(|name| name == "good__echo"), "{shown}: {names:?}");
        scene.good_still_answers();
    }
}

#[test]
fn a_call_to_a_server_that_does_not_start_says_why() {
    let stderr_line = Some("no token".to_owned());
    let mut scene =
        Scene::start(FakePlan { exit_at_start: Some(3), stderr_line, ..FakePlan::default() });
    let message = scene.failure("bad__echo", json!({}));
    assert!(message.contains("exit code 3") && message.contains("no token"), "{message}");
}

#[test]
fn a_slow_start_within_its_limit_is_waited_for() {
    let mut scene = Scene::start(FakePlan { start_delay_ms: 800, ..FakePlan::default() });
    assert!(scene.tool_names().iter().any(|name| name == "bad__echo"));
}

#[test]
fn a_changed_list_is_announced_and_listed() {
    let mut scene = Scene::start(FakePlan::default());
    scene.tool_names();
    scene.text("bad__change_tools", json!({"name": "late"}));
    // The first listing may itself have been announced; the one that counts comes after the change.
    while !scene.tool_names().iter().any(|name| name == "bad__late") {
        scene.client.incoming("notifications/tools/list_changed");
    }
    assert_eq!(scene.text("bad__late", json!({"x": 1})), r#"{"x":1}"#);
}

#[test]
fn an_old_server_works() {
    for version in ["2024-11-05", "2025-03-26", "2025-06-18"] {
        let plan = FakePlan { protocol_version: Some(version.to_owned()), ..FakePlan::default() };
        let mut scene = Scene::start(plan);
        assert_eq!(
            scene.text("bad__echo", json!({"v": version})),
            format!(r#"{{"v":"{version}"}}"#)
        );
    }
}
