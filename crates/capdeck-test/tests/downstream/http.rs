//! Servers behind HTTP: both transports, refusals, lost sessions.

use capdeck_test::FakePlan;
use serde_json::json;

use crate::scene::Scene;

#[test]
fn both_http_transports_carry_calls_progress_and_changes() {
    let fake = FakePlan::default().start_http();
    for (url, transport) in [(&fake.url, "http"), (&fake.sse_url, "sse")] {
        let mut scene = Scene::start_at(url, json!({"transport": transport}));
        scene.tool_names();
        assert_eq!(
            scene.text("bad__echo", json!({"via": transport})),
            format!(r#"{{"via":"{transport}"}}"#)
        );
        let params = json!({
            "name": "bad__progress", "arguments": {"steps": 1}, "_meta": {"progressToken": 1},
        });
        let id = scene.client.send_request("tools/call", params);
        scene.client.incoming("notifications/progress");
        assert_eq!(scene.client.answer_to(id)["result"]["content"][0]["text"], "done");
        let late = format!("late_{transport}");
        scene.text("bad__change_tools", json!({"name": late}));
        while !scene.tool_names().contains(&format!("bad__{late}")) {
            scene.client.incoming("notifications/tools/list_changed");
        }
    }
}

#[test]
fn a_lost_session_is_opened_again() {
    let plan = FakePlan { http_forget_session_after: Some(12), ..FakePlan::default() };
    let fake = plan.start_http();
    let mut scene = Scene::start_at(&fake.url, json!({}));
    for number in 0..30 {
        assert_eq!(scene.text("bad__echo", json!({"n": number})), format!(r#"{{"n":{number}}}"#));
    }
}

#[test]
fn a_refusal_fails_the_call_alone() {
    let fake = FakePlan { http_call_status: Some(500), ..FakePlan::default() }.start_http();
    let mut scene = Scene::start_at(&fake.url, json!({}));
    let message = scene.failure("bad__echo", json!({}));
    assert!(message.contains("500"), "{message}");
    scene.good_still_answers();
}

#[test]
fn a_server_behind_a_key_needs_the_key() {
    let header = ("Authorization".to_owned(), "Bearer s3cret".to_owned());
    let plan = FakePlan { http_required_header: Some(header), ..FakePlan::default() };
    let fake = plan.start_http();
    let auth = json!({"auth": {"type": "bearer", "token": "s3cret"}});
    let mut scene = Scene::start_at(&fake.url, auth);
    assert_eq!(scene.text("bad__echo", json!({"in": true})), r#"{"in":true}"#);

    let mut refused =
        Scene::start_at(&fake.url, json!({"auth": {"type": "bearer", "token": "wr0ng"}}));
    assert!(!refused.tool_names().iter().any(|name| name.starts_with("bad__")));
    refused.good_still_answers();
    let (_, stderr) = refused.client.close();
    assert!(!stderr.contains("wr0ng"), "a secret was printed: {stderr}");
}

#[test]
fn a_server_that_no_one_runs_leaves_the_others_listed() {
    let gone = FakePlan::default().start_http();
    let url = gone.url.clone();
    drop(gone);
    let mut scene = Scene::start_at(&url, json!({}));
    assert!(scene.tool_names().iter().any(|name| name == "good__echo"));
    scene.good_still_answers();
}

#[test]
fn faults_behind_http_fail_only_their_own_call() {
    for tool in ["hang", "crash", "wrong_id", "bad_json", "huge_line"] {
        let fake = FakePlan::default().start_http();
        let mut scene = Scene::start_at(&fake.url, json!({}));
        let message = scene.failure(&format!("bad__{tool}"), json!({}));
        assert!(message.contains("bad"), "{tool}: {message}");
        scene.good_still_answers();
    }
}
