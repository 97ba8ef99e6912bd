//! Views at `/views/<name>/mcp`, in both eras, beside the deck's own endpoint.

use std::fs;

use capdeck_definition::Exposure;
use capdeck_test::FakePlan;
use serde_json::{Value, json};

use crate::{modern_client::ModernClient, served::Setting};

const PATH: &str = "/views/reviewer/mcp";

fn views() -> Value {
    json!({"reviewer": {"description": "Reads only", "tools": ["fake.echo"]}})
}

fn names(answer: &Value) -> Vec<String> {
    let tools = answer["result"]["tools"].as_array().unwrap_or_else(|| panic!("{answer}"));
    tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn clients_of_both_eras_have_the_view_and_share_its_server() {
    let setting = Setting::new();
    let record = setting.record();
    let plan = FakePlan { record: Some(record.clone()), ..FakePlan::default() };
    let served =
        setting.server("fake", &plan).config("views", views()).exposure(Exposure::Direct).serve();
    let call = json!({"name": "fake__echo", "arguments": {"a": 1}});
    let other = json!({"name": "fake__environment", "arguments": {}});

    let mut legacy = served.client(PATH);
    legacy.initialize();
    assert_eq!(names(&legacy.request("tools/list", json!({}))), ["fake__echo"]);
    let answer = legacy.request("tools/call", call.clone());
    assert_eq!(answer["result"]["content"][0]["text"], r#"{"a":1}"#);
    assert_eq!(legacy.request("tools/call", other.clone())["error"]["code"], -32602);

    let mut modern = ModernClient::new(&served, PATH, json!({}));
    assert_eq!(names(&modern.request("tools/list", json!({}))), ["fake__echo"]);
    let answer = modern.request("tools/call", call);
    assert_eq!(answer["result"]["content"][0]["text"], r#"{"a":1}"#);
    assert_eq!(modern.request("tools/call", other.clone())["error"]["code"], -32602);

    // The deck's own endpoint has everything, from the same process.
    let answer = served.deck_client().request("tools/call", other);
    assert!(answer["result"]["content"][0]["text"].is_string(), "{answer}");
    let starts = fs::read_to_string(record).unwrap().matches("\"started\"").count();
    assert_eq!(starts, 1);
}

#[test]
fn what_a_client_set_up_stays_with_it_and_modern_requests_need_none() {
    let served = Setting::of(&FakePlan::default())
        .config("views", views())
        .exposure(Exposure::OnDemand)
        .serve();
    let set_up = json!({"name": "setup_tools", "arguments": {"skills": ["@fake"]}});
    let call = json!({"name": "call_tool", "arguments": {"name": "fake.echo", "data": {"a": 1}}});
    let other = json!({"name": "call_tool", "arguments": {"name": "fake.headers", "data": {}}});
    for path in ["/mcp", PATH] {
        let (mut first, mut second) = (served.client(path), served.client(path));
        first.initialize();
        second.initialize();
        assert_eq!(names(&first.request("tools/list", json!({}))), ["setup_tools", "call_tool"]);
        let reported = first.request("tools/call", set_up.clone());
        assert!(
            reported["result"]["structuredContent"]["success"].as_bool().unwrap(),
            "{reported}"
        );
        let answer = first.request("tools/call", call.clone());
        assert_eq!(answer["result"]["content"][0]["text"], r#"{"a":1}"#);
        let refused = second.request("tools/call", call.clone());
        let text = refused["result"]["content"][0]["text"].as_str().unwrap();
        assert!(text.contains("is not activated"), "{path}: {text}");

        let mut modern = ModernClient::new(&served, path, json!({}));
        let answer = modern.request("tools/call", call.clone());
        assert_eq!(answer["result"]["content"][0]["text"], r#"{"a":1}"#);
        let answer = modern.request("tools/call", other.clone());
        assert_eq!(answer["result"]["isError"] == true, path == PATH, "{answer}");
    }
}

#[test]
fn an_unknown_view_is_not_there() {
    let served = Setting::of(&FakePlan::default()).config("views", views()).serve();
    for path in ["/views/nobody/mcp", "/views/Reviewer/mcp", "/views/..%2f/mcp", "/views/%20/mcp"] {
        let mut client = served.client(path);
        let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}});
        let reply = client.post(&hello.to_string());
        assert_eq!(reply.status, 404, "{path}: {reply:?}");
        let card = format!("{path}/server-card");
        assert_eq!(served.client(&card).send("GET", &card, &[], b"").status, 404, "{card}");
    }
    let card = format!("{PATH}/server-card");
    let reply = served.client(&card).send("GET", &card, &[], b"");
    let shown: Value = serde_json::from_str(&reply.body).unwrap();
    assert_eq!(
        (&shown["title"], &shown["description"]),
        (&json!("reviewer"), &json!("Reads only"))
    );
    assert_eq!(shown["remotes"][0]["url"], format!("http://{}{PATH}", served.authority()));
}

#[test]
fn a_view_needs_the_key_like_everything_else() {
    let served = Setting::of(&FakePlan::default())
        .config("views", views())
        .key("open-sesame-and-more")
        .serve();
    let card = format!("{PATH}/server-card");
    assert_eq!(served.client(&card).send("GET", &card, &[], b"").status, 401);
    assert_eq!(served.client(PATH).post("{}").status, 401);
}
