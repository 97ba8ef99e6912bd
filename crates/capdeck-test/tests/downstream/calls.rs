//! Calls to servers that hang, crash, lie and ask.

use capdeck_test::FakePlan;
use serde_json::{Value, json};

use crate::scene::Scene;

#[test]
fn a_hanging_call_ends_in_time_and_holds_no_one_up() {
    let mut scene = Scene::start(FakePlan::default());
    scene.tool_names();
    let params = json!({"name": "bad__hang", "arguments": {}});
    let hanging = scene.client.send_request("tools/call", params);
    scene.good_still_answers();
    assert_eq!(scene.text("bad__echo", json!({"a": 1})), r#"{"a":1}"#);
    let result = scene.client.answer_to(hanging)["result"].clone();
    assert_eq!(result["isError"], json!(true), "{result}");
    let message = result["content"][0]["text"].as_str().unwrap();
    assert!(message.contains("`hang` of `bad` gave no answer within"), "{message}");
}

#[test]
fn a_crashing_server_fails_its_call_and_comes_back() {
    let mut scene = Scene::start(FakePlan::default());
    let message = scene.failure("bad__crash", json!({}));
    assert!(message.contains("bad"), "{message}");
    scene.good_still_answers();
    // A call during the back-off waits for the restart.
    assert_eq!(scene.text("bad__echo", json!({"back": true})), r#"{"back":true}"#);
    let starts = scene.record().iter().filter(|message| message.get("started").is_some()).count();
    assert_eq!(starts, 2);
}

#[test]
fn a_chattering_server_works() {
    let plan = FakePlan { chatter_bytes: 1 << 20, ..FakePlan::default() };
    let mut scene = Scene::start(plan);
    assert_eq!(scene.text("bad__chatter", json!({"bytes": 1 << 20})), "chattered");
    scene.good_still_answers();
}

#[test]
fn a_lying_server_fails_only_its_own_call() {
    for tool in ["bad__wrong_id", "bad__bad_json", "bad__huge_line"] {
        let mut scene = Scene::start(FakePlan::default());
        let message = scene.failure(tool, json!({}));
        assert!(message.contains("bad"), "{tool}: {message}");
        scene.good_still_answers();
    }
}

#[test]
fn wrong_arguments_never_reach_the_server() {
    let schema = json!({
        "type": "object", "properties": {"count": {"type": "integer"}}, "required": ["count"],
        "additionalProperties": false,
    });
    let tool = json!({"name": "strict", "description": "Takes a count", "inputSchema": schema});
    let mut scene = Scene::start(FakePlan { extra_tools: vec![tool], ..FakePlan::default() });
    scene.tool_names();
    let message = scene.failure("bad__strict", json!({"cuont": 3}));
    assert!(message.contains("count"), "{message}");
    assert!(!scene.record().iter().any(|message| message["method"] == "tools/call"));
    assert_eq!(scene.text("bad__strict", json!({"count": 3})), r#"{"count":3}"#);
}

#[test]
fn an_unknown_tool_is_answered_with_the_nearest_name() {
    let mut scene = Scene::start(FakePlan::default());
    scene.tool_names();
    let params = json!({"name": "good__ecko", "arguments": {}});
    let reply = scene.client.request("tools/call", params);
    assert!(reply.to_string().contains("good__echo"), "{reply}");
}

#[test]
fn results_pass_byte_for_byte() {
    let mut scene = Scene::start(FakePlan::default());
    let result = scene.call("bad__odd_content", json!({}));
    assert_eq!(result["content"][1]["type"], "hologram");
    assert_eq!(result["content"][0]["x-unknown"], json!({"kept": true}));
    assert_eq!(result["x-result"], "kept");
    assert_eq!(result["_meta"]["example.com/trace"], "abc");
    let error =
        scene.client.request("tools/call", json!({"name": "bad__rpc_error", "arguments": {}}));
    assert!(error.to_string().contains("refused on purpose"), "{error}");
}

#[test]
fn progress_and_logs_reach_the_caller() {
    let mut scene = Scene::start(FakePlan::default());
    scene.tool_names();
    let params = json!({
        "name": "bad__progress", "arguments": {"steps": 2}, "_meta": {"progressToken": "mine"},
    });
    let id = scene.client.send_request("tools/call", params);
    for step in 1..=2 {
        let report = scene.client.incoming("notifications/progress");
        assert_eq!(report["params"]["progressToken"], "mine");
        assert_eq!(report["params"]["progress"], step);
    }
    assert_eq!(scene.client.answer_to(id)["result"]["content"][0]["text"], "done");
}

#[test]
fn progress_keeps_a_slow_call_alive() {
    let mut scene = Scene::start(FakePlan::default());
    scene.tool_names();
    // Six times 600 ms is more than the limit of 1500 ms, but no silence is.
    let params = json!({
        "name": "bad__progress", "arguments": {"steps": 6, "intervalMs": 600},
        "_meta": {"progressToken": 7},
    });
    let id = scene.client.send_request("tools/call", params);
    assert_eq!(scene.client.answer_to(id)["result"]["content"][0]["text"], "done");
}

#[test]
fn a_cancelled_call_is_cancelled_downstream() {
    let mut scene = Scene::start(FakePlan::default());
    scene.tool_names();
    let id = scene.client.send_request("tools/call", json!({"name": "bad__hang", "arguments": {}}));
    // The call is under way once a later one on the same connection is answered.
    scene.text("bad__echo", json!({}));
    scene.client.notify("notifications/cancelled", json!({"requestId": id, "reason": "enough"}));
    let seen = (0..100).any(|_| {
        scene.text("bad__echo", json!({}));
        scene.record().iter().any(|message| message["method"] == "notifications/cancelled")
    });
    assert!(seen, "the server never heard of it");
}

#[test]
fn a_server_can_ask_the_person_behind_the_client() {
    let capabilities = json!({"elicitation": {}, "sampling": {}, "roots": {}});
    let mut scene = Scene::start_with(FakePlan::default(), json!({}), capabilities);
    scene.tool_names();
    let asked = [
        (
            "ask_elicitation",
            "elicitation/create",
            json!({"action": "accept", "content": {"name": "Ada"}}),
        ),
        (
            "ask_sampling",
            "sampling/createMessage",
            json!({"role": "assistant", "model": "m", "content": {"type": "text", "text": "hi"}}),
        ),
        ("ask_roots", "roots/list", json!({"roots": [{"uri": "file:///somewhere"}]})),
    ];
    for (tool, method, reply) in asked {
        let params = json!({"name": format!("bad__{tool}"), "arguments": {}});
        let id = scene.client.send_request("tools/call", params);
        let question = scene.client.incoming(method);
        scene.client.respond(&question["id"], reply.clone());
        let answer = scene.client.answer_to(id);
        let text = answer["result"]["content"][0]["text"].as_str().expect("a text");
        let written: Value = serde_json::from_str(text).unwrap();
        assert_eq!(written["result"], reply, "{tool}");
    }
}
