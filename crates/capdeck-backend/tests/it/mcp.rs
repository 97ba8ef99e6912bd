//! MCP servers that behave, started as programs.

use std::{sync::Arc, time::Duration};

use capdeck_backend::{ClientProfile, ConnectOptions, Connection, ErrorCode, ToolCall};
use capdeck_catalog::RawMembers;
use capdeck_test::FakePlan;
use serde_json::{Value, json, value::RawValue};

use crate::{
    people::Person,
    support::{Deck, call, context, definition, until},
};

pub(crate) const PLENTY: Duration = Duration::from_secs(20);

/// The block of a stdio server with this plan.
pub(crate) fn stdio(plan: &FakePlan) -> Value {
    let (command, args) = plan.command();
    json!({"kind": "mcp", "command": command, "args": args, "startupTimeoutMs": 20_000})
}

/// Connects with a person listening.
pub(crate) async fn connect_heard(
    deck: &Deck,
    backend: Value,
    listener: &Arc<Person>,
) -> Arc<dyn Connection> {
    let options = ConnectOptions {
        client: ClientProfile {
            info: None,
            capabilities: object(r#"{"elicitation":{},"roots":{}}"#),
        },
        listener: Arc::clone(listener) as _,
        ..ConnectOptions::default()
    };
    deck.connector.connect(&definition(backend), options).await.unwrap()
}

/// The text a fake tool answered with, as JSON where it is.
pub(crate) fn answer(result: &Value) -> Value {
    let text = result["content"][0]["text"].as_str().unwrap();
    serde_json::from_str(text).unwrap_or_else(|_| Value::from(text))
}

pub(crate) fn object(text: &str) -> RawMembers {
    serde_json::from_str(text).unwrap()
}

fn names(entries: &[RawMembers], key: &str) -> Vec<String> {
    entries.iter().map(|entry| serde_json::from_str(entry[key].get()).unwrap()).collect()
}

#[tokio::test]
async fn everything_is_discovered_page_by_page() {
    let plan = FakePlan {
        tools: 30,
        page_size: Some(7),
        instructions: Some("be kind".to_owned()),
        ..FakePlan::default()
    };
    let connection = Deck::new(&[]).connect(stdio(&plan)).await.unwrap();
    let found = connection.discover(&context(PLENTY)).await.unwrap();
    let tools: Vec<&str> = found.tools.iter().map(|tool| tool.name()).collect();
    assert!(tools.contains(&"echo") && tools.contains(&"tool_00029"), "{tools:?}");
    assert!(!names(&found.resources, "uri").is_empty());
    assert!(!names(&found.resource_templates, "uriTemplate").is_empty());
    assert!(!names(&found.prompts, "name").is_empty());
    let server = found.server.unwrap();
    assert_eq!(server.protocol_version, "2025-11-25");
    assert_eq!(server.instructions.as_deref(), Some("be kind"));
    assert_eq!(server.server_info["name"].get(), r#""fake""#);
    assert!(server.capabilities.contains_key("tools"));
}

#[tokio::test]
async fn only_what_is_offered_is_asked_for() {
    let plan = FakePlan { everything: false, ..FakePlan::default() };
    let connection = Deck::new(&[]).connect(stdio(&plan)).await.unwrap();
    let found = connection.discover(&context(PLENTY)).await.unwrap();
    assert!(found.resources.is_empty() && found.prompts.is_empty() && !found.tools.is_empty());
    let received = call(&connection, "received", json!({}), &context(PLENTY)).await.unwrap();
    assert!(!received.to_string().contains("resources/list"), "{received}");
}

#[tokio::test]
async fn odd_lists_give_what_they_hold() {
    let plan = FakePlan {
        behaviours: false,
        tools: 3,
        duplicate_tools: true,
        extra_tools: vec![
            json!(7),
            json!({"description": "no name"}),
            json!({"name": "last", "x": [1.0]}),
        ],
        ..FakePlan::default()
    };
    let connection = Deck::new(&[]).connect(stdio(&plan)).await.unwrap();
    let found = connection.discover(&context(PLENTY)).await.unwrap();
    let tools: Vec<&str> = found.tools.iter().map(|tool| tool.name()).collect();
    assert_eq!(tools, ["tool_00000", "tool_00001", "tool_00002", "last"]);
    assert_eq!(found.tools[3].raw()["x"].get(), "[1.0]");
}

#[tokio::test]
async fn a_list_without_an_end_ends() {
    let plan = FakePlan { endless_pages: true, tools: 2, ..FakePlan::default() };
    let connection = Deck::new(&[]).connect(stdio(&plan)).await.unwrap();
    let found = connection.discover(&context(PLENTY)).await.unwrap();
    assert!(found.tools.iter().any(|tool| tool.name() == "tool_00001"));
}

#[tokio::test]
async fn a_call_reaches_the_server_as_it_was_made() {
    let connection = Deck::new(&[]).connect(stdio(&FakePlan::default())).await.unwrap();
    let arguments = RawValue::from_string(r#"{"z":1.50,"a":[]}"#.to_owned()).unwrap();
    let call = ToolCall {
        name: "params",
        arguments: Some(&arguments),
        meta: Some(object(r#"{"traceparent":"00-1"}"#)),
        rest: object(r#"{"task":{"ttl":5}}"#),
        unformatted: false,
    };
    let result = connection.call_tool(call, &context(PLENTY)).await.unwrap();
    let params = answer(&serde_json::from_str(result.get()).unwrap());
    assert_eq!(params["arguments"], json!({"z": 1.5, "a": []}));
    assert_eq!(params["task"], json!({"ttl": 5}));
    assert_eq!(params["_meta"]["traceparent"], "00-1");
    let keys: Vec<&String> = params.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["name", "arguments", "task", "_meta"]);

    let bare = ToolCall {
        name: "params",
        arguments: None,
        meta: None,
        rest: RawMembers::new(),
        unformatted: false,
    };
    let result = connection.call_tool(bare, &context(PLENTY)).await.unwrap();
    let params = answer(&serde_json::from_str(result.get()).unwrap());
    assert!(params.get("arguments").is_none(), "{params}");
}

#[tokio::test]
async fn unknown_content_passes_untouched() {
    let connection = Deck::new(&[]).connect(stdio(&FakePlan::default())).await.unwrap();
    let call = ToolCall {
        name: "odd_content",
        arguments: None,
        meta: None,
        rest: RawMembers::new(),
        unformatted: false,
    };
    let result = connection.call_tool(call, &context(PLENTY)).await.unwrap();
    let params = object(r#"{"name":"odd_content"}"#);
    let again = connection.request("tools/call", Some(params), &context(PLENTY)).await.unwrap();
    assert_eq!(result.get(), again.get());
}

#[tokio::test]
async fn progress_reaches_the_caller_and_keeps_the_call_alive() {
    let connection = Deck::new(&[]).connect(stdio(&FakePlan::default())).await.unwrap();
    let person = Person::new();
    let steps = json!({"steps": 10, "intervalMs": 100});
    let timeout = Duration::from_millis(800);
    let result =
        call(&connection, "progress", steps.clone(), &person.calls(timeout)).await.unwrap();
    assert_eq!(answer(&result), "done");
    let heard = person.rest().await;
    assert_eq!(heard.len(), 10);
    assert_eq!(heard[0], r#"{"progress":1,"total":10,"message":"step 1"}"#);
    // Also without anybody who wants to hear of it.
    call(&connection, "progress", steps, &context(timeout)).await.unwrap();
}

#[tokio::test]
async fn questions_and_messages_of_a_call_reach_its_caller() {
    let (listener, caller) = (Person::new(), Person::new());
    let deck = Deck::new(&[]);
    let connection = connect_heard(&deck, stdio(&FakePlan::default()), &listener).await;
    let result =
        call(&connection, "ask_elicitation", json!({}), &caller.calls(PLENTY)).await.unwrap();
    assert!(result.to_string().contains("accept"), "{result}");
    call(&connection, "log", json!({}), &caller.calls(PLENTY)).await.unwrap();
    assert_eq!(caller.next().await, "elicitation/create");
    assert_eq!(caller.next().await, "notifications/message");

    let alone = call(&connection, "ask_roots", json!({}), &context(PLENTY)).await.unwrap();
    assert!(alone.to_string().contains("-32601"), "{alone}");
    assert!(listener.rest().await.is_empty());
}

#[tokio::test]
async fn changes_reach_the_listener_also_during_a_call() {
    let (listener, caller) = (Person::new(), Person::new());
    let deck = Deck::new(&[]);
    let connection = connect_heard(&deck, stdio(&FakePlan::default()), &listener).await;
    call(&connection, "change_tools", json!({"name": "fresh"}), &caller.calls(PLENTY))
        .await
        .unwrap();
    assert_eq!(listener.next().await, "notifications/tools/list_changed");
    let found = connection.discover(&context(PLENTY)).await.unwrap();
    assert!(found.tools.iter().any(|tool| tool.name() == "fresh"));
    assert!(caller.rest().await.is_empty());
}

#[tokio::test]
async fn other_requests_pass_and_their_errors_have_their_code() {
    let connection = Deck::new(&[]).connect(stdio(&FakePlan::default())).await.unwrap();
    let found = connection.discover(&context(PLENTY)).await.unwrap();
    let uri = found.resources[0]["uri"].get();
    let params = object(&format!(r#"{{"uri":{uri}}}"#));
    let read = connection.request("resources/read", Some(params), &context(PLENTY)).await.unwrap();
    assert!(read.get().contains("contents"));
    let error = connection.request("no/such", None, &context(PLENTY)).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::UnsupportedCapability);
    assert_eq!(error.rpc.unwrap().code, -32601);
    let error = call(&connection, "rpc_error", json!({}), &context(PLENTY)).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::DownstreamToolError);
    assert!(error.rpc.unwrap().data.is_some());
}

#[tokio::test]
async fn the_child_gets_its_environment_and_secrets_do_not_come_back() {
    let deck = Deck::new(&[("GH_TOKEN", "canary-1234"), ("OTHER_TOKEN", "canary-5678")]);
    let mut backend = stdio(&FakePlan::default());
    backend["env"] = json!({"GITHUB_TOKEN": "$env:GH_TOKEN"});
    let result = deck.call(backend, "environment", json!({})).await.unwrap();
    let text = result.to_string();
    assert!(text.contains("GITHUB_TOKEN") && text.contains("[redacted]"), "{text}");
    assert!(!text.contains("canary"), "{text}");
}

#[tokio::test]
async fn closing_and_dropping_end_the_whole_group() {
    for close in [true, false] {
        let connection = Deck::new(&[]).connect(stdio(&FakePlan::default())).await.unwrap();
        let result = call(&connection, "grandchild", json!({}), &context(PLENTY)).await.unwrap();
        let pid = answer(&result).as_u64().unwrap();
        if close {
            connection.close().await;
            assert!(connection.ended().is_some());
            connection.close().await;
        }
        drop(connection);
        until("the grandchild ends", || is_gone(pid).then_some(())).await;
    }
}

/// A killed process whose parent is gone may stay as a zombie until a person collects it.
fn is_gone(pid: u64) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).map_or(true, |stat| {
        stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('Z'))
    })
}
