//! A call that is sent again with answers: they reach the server through every view.

use capdeck_definition::Exposure;
use capdeck_host::{RawMembers, Session, ToolRequest, calls, prompts, resources};
use capdeck_test::FakePlan;
use serde_json::{Value, json};

use crate::deck::{Deck, agent_with, context, raw, text, value};

/// Calls a listed tool with answers; what the server's `params` tool saw of them.
async fn retried(session: &Session, name: &str, arguments: Value) -> Value {
    let answers = json!({"key": {"action": "accept"}});
    let rest = [("inputResponses", answers), ("requestState", json!("opaque"))];
    let meta = [("traceparent".to_owned(), raw(&json!("00-1")))];
    let request = ToolRequest {
        arguments: Some(raw(&arguments)),
        rest: rest.into_iter().map(|(key, value)| (key.to_owned(), raw(&value))).collect(),
        meta: Some(meta.into_iter().collect()),
        ..ToolRequest::default()
    };
    let answer =
        calls::call_listed(session.request(&context()), name, request).await.unwrap().unwrap();
    serde_json::from_str(text(&value(&answer))).unwrap()
}

fn assert_arrived(seen: &Value) {
    assert_eq!(seen["inputResponses"], json!({"key": {"action": "accept"}}), "{seen}");
    assert_eq!(seen["requestState"], "opaque");
    assert_eq!(seen["_meta"]["traceparent"], "00-1");
    assert_eq!(seen["arguments"], json!({"a": 1}));
}

#[tokio::test]
async fn answers_travel_with_the_call_in_every_view() {
    let deck = Deck::of(&FakePlan::default());
    let host = deck.open();
    let direct = agent_with(&host, Some(Exposure::Direct));
    assert_arrived(&retried(&direct, "fake__params", json!({"a": 1})).await);
    let search = agent_with(&host, Some(Exposure::Search));
    let named = json!({"name": "fake__params", "data": {"a": 1}});
    assert_arrived(&retried(&search, "call_tool", named).await);
    let progressive = agent_with(&host, Some(Exposure::Progressive));
    let wrapped = json!({"operation": "call_tool", "name": "params", "args": {"a": 1}});
    assert_arrived(&retried(&progressive, "fake", wrapped).await);
    host.close().await;
}

#[tokio::test]
async fn answers_travel_with_reads_and_prompts() {
    let deck = Deck::new();
    let record = deck.record("fake");
    let plan = FakePlan { record: record.path(), ..FakePlan::default() };
    let deck = deck.server("fake", &plan, json!({}));
    let host = deck.open();
    let session = agent_with(&host, Some(Exposure::Direct));
    let params = |key: &str, name: &str| -> RawMembers {
        let members = [(key, json!(name)), ("requestState", json!("s"))];
        members.into_iter().map(|(key, value)| (key.to_owned(), raw(&value))).collect()
    };
    let uri = "caplets://fake/resources/fake%3A%2F%2Fnote";
    resources::read(&session.request(&context()), uri, params("uri", uri)).await.unwrap();
    prompts::get(&session.request(&context()), "fake__greet", params("name", "fake__greet"))
        .await
        .unwrap();
    let read = &record.received("resources/read")[0];
    assert_eq!((&read["uri"], &read["requestState"]), (&json!("fake://note"), &json!("s")));
    let got = &record.received("prompts/get")[0];
    assert_eq!((&got["name"], &got["requestState"]), (&json!("greet"), &json!("s")));
    host.close().await;
}
