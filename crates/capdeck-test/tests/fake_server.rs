//! The fake server does what its plan says; tests elsewhere rest on that.
#![expect(clippy::expect_used, reason = "tests fail by panicking")]

use std::process::Command;

use capdeck_test::{FakeEra, FakePlan, HttpClient, StdioClient, fake::FakeFault};
use serde_json::{Value, json};

fn start(plan: &FakePlan) -> StdioClient {
    let (program, arguments) = plan.command();
    let mut command = Command::new(program);
    command.args(arguments);
    StdioClient::start(command)
}

fn call(name: &str, arguments: Value) -> Value {
    json!({"name": name, "arguments": arguments})
}

fn text(reply: &Value) -> &str {
    reply["result"]["content"][0]["text"].as_str().expect("a text answer")
}

#[test]
fn a_well_behaved_server_answers_everything() {
    let mut client = start(&FakePlan::default());
    let info = client.initialize();
    assert_eq!(info["protocolVersion"], "2025-11-25");
    let echoed = client.request("tools/call", call("echo", json!({"a": 1})));
    assert_eq!(text(&echoed), r#"{"a":1}"#);
    let read = client.request("resources/read", json!({"uri": "fake://items/7"}));
    assert_eq!(read["result"]["contents"][0]["text"], "item 7");
    let prompt =
        client.request("prompts/get", json!({"name": "greet", "arguments": {"who": "Ada"}}));
    assert_eq!(prompt["result"]["messages"][0]["content"]["text"], "Greet Ada");
    let completed =
        client.request("completion/complete", json!({"argument": {"name": "who", "value": "an"}}));
    assert_eq!(completed["result"]["completion"]["values"], json!(["anna", "anton"]));
    let (status, _stderr) = client.close();
    assert!(status.success());
}

#[test]
fn a_call_reports_progress_and_asks_the_client() {
    let mut client = start(&FakePlan::default());
    client.initialize_with(json!({"elicitation": {}}));
    let mut params = call("progress", json!({"steps": 2}));
    params["_meta"] = json!({"progressToken": "t"});
    let id = client.send_request("tools/call", params);
    assert_eq!(client.incoming("notifications/progress")["params"]["progress"], 1);
    assert_eq!(client.incoming("notifications/progress")["params"]["progress"], 2);
    assert_eq!(text(&client.answer_to(id)), "done");

    let id = client.send_request("tools/call", call("ask_elicitation", json!({})));
    let question = client.incoming("elicitation/create");
    client.respond(&question["id"], json!({"action": "accept", "content": {"name": "Ada"}}));
    assert!(text(&client.answer_to(id)).contains(r#""name":"Ada""#));
}

#[test]
fn pages_end_and_changes_are_announced() {
    let plan =
        FakePlan { behaviours: false, tools: 25, page_size: Some(10), ..FakePlan::default() };
    let mut client = start(&plan);
    client.initialize();
    let mut names = Vec::new();
    let mut cursor = Value::Null;
    for _page in 0..3 {
        let params = if cursor.is_null() { json!({}) } else { json!({"cursor": cursor}) };
        let page = client.request("tools/list", params);
        names.extend(
            page["result"]["tools"].as_array().unwrap().iter().map(|tool| tool["name"].clone()),
        );
        cursor = page["result"]["nextCursor"].clone();
    }
    assert_eq!((names.len(), cursor), (25, Value::Null));
    client.request("tools/call", call("change_tools", json!({"name": "late"})));
    client.incoming("notifications/tools/list_changed");
}

#[test]
fn faults_are_committed() {
    let mut client = start(&FakePlan::default());
    client.initialize();
    let hanging = client.send_request("tools/call", call("hang", json!({})));
    assert_eq!(text(&client.request("tools/call", call("echo", json!(1)))), "1");
    assert!(client.set_aside().all(|message| message["id"] != json!(hanging)));
    client.send_request("tools/call", call("bad_json", json!({})));
    assert!(serde_json::from_str::<Value>(&client.next_line()).is_err());
    client.send_request("tools/call", call("huge_line", json!({})));
    assert!(client.next_line().len() > 20_000_000);
    client.send_request("tools/call", call("crash", json!({})));
    let (status, _stderr) = client.ended();
    assert!(!status.success());
}

#[test]
fn a_start_can_fail_or_chatter() {
    let failing = start(&FakePlan { exit_at_start: Some(7), ..FakePlan::default() });
    assert_eq!(failing.ended().0.code(), Some(7));
    let mut chatty = start(&FakePlan { chatter_bytes: 1 << 20, ..FakePlan::default() });
    chatty.initialize();
    assert!(chatty.close().1.len() >= 1 << 20);
    let mut refusing = start(&FakePlan { initialize: FakeFault::Error, ..FakePlan::default() });
    assert_eq!(refusing.request("initialize", json!({}))["error"]["code"], -32050);
}

#[test]
fn http_answers_in_json_or_as_a_stream() {
    let fake = FakePlan::default().start_http();
    let mut client = HttpClient::new(&fake.url);
    client.initialize();
    assert!(client.session.is_some());
    let plain = client.request("tools/call", call("echo", json!({"a": 1})));
    assert_eq!(text(&plain), r#"{"a":1}"#);
    let streamed = client.post(
        r#"{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"log","arguments":{}}}"#,
    );
    assert_eq!(streamed.header("content-type"), Some("text/event-stream"));
    let methods: Vec<Value> =
        streamed.messages().iter().map(|message| message["method"].clone()).collect();
    assert_eq!(methods, [json!("notifications/message"), Value::Null]);
}

/// Params of a modern request from a client that can be asked everything.
fn modern(mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}, "sampling": {}, "roots": {}},
    });
    params
}

#[test]
fn a_modern_server_refuses_the_handshake_and_asks_by_its_answers() {
    let mut client = start(&FakePlan { era: FakeEra::Modern, ..FakePlan::default() });
    assert_eq!(client.request("initialize", json!({}))["error"]["code"], -32022);
    assert_eq!(client.request("tools/list", json!({}))["error"]["code"], -32602);
    let found = client.request("server/discover", modern(json!({})));
    assert_eq!(found["result"]["supportedVersions"], json!(["2026-07-28"]));
    let mut params = modern(call("ask_twice", json!({})));
    for key in ["first", "second"] {
        let asked = client.request("tools/call", params.clone());
        assert_eq!(asked["result"]["resultType"], "input_required");
        assert!(asked["result"]["inputRequests"][key]["method"] == "elicitation/create");
        params["requestState"] = asked["result"]["requestState"].clone();
        params["inputResponses"] = json!({key: {"action": "accept"}});
    }
    let done = client.request("tools/call", params);
    assert_eq!(done["result"]["resultType"], "complete");
    assert!(text(&done).contains("first") && text(&done).contains("second"));

    let params = modern(json!({"notifications": {"toolsListChanged": true}}));
    let listening = client.send_request("subscriptions/listen", params);
    client.incoming("notifications/subscriptions/acknowledged");
    client.request("tools/call", modern(call("change_tools", json!({"name": "late"}))));
    let change = client.incoming("notifications/tools/list_changed");
    assert_eq!(change["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], listening);
}

#[test]
fn a_server_of_both_eras_answers_each_in_its_own_way() {
    let fake = FakePlan { era: FakeEra::Both, ..FakePlan::default() }.start_http();
    let mut client = HttpClient::new(&fake.url);
    client.initialize();
    assert!(client.request("tools/list", json!({}))["result"]["resultType"].is_null());
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "nothing", "params": modern(json!({}))});
    assert_eq!(client.post(&body.to_string()).status, 400, "the headers are missing");
    let mut client = HttpClient::new(&fake.url);
    for (name, value) in [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "nothing")] {
        client.headers.push((name.to_owned(), value.to_owned()));
    }
    assert_eq!(client.post(&body.to_string()).status, 404);
}
