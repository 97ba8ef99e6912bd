//! Wrong arguments and wrong names are answered by the host; the backend never hears of them.

use capdeck_host::{LastFailure, calls};
use capdeck_test::FakePlan;
use serde_json::{Value, json};

use crate::deck::{Deck, agent, agent_with, call, call_listed, text};
use capdeck_definition::Exposure;

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "city": {"type": "string"},
            "units": {"type": "string", "enum": ["metric", "imperial"]},
            "days": {"type": "integer", "minimum": 1},
        },
        "required": ["city"],
        "additionalProperties": false,
    })
}

fn plan() -> FakePlan {
    let forecast =
        json!({"name": "forecast", "description": "Tells the weather", "inputSchema": schema()});
    FakePlan { extra_tools: vec![forecast], ..FakePlan::default() }
}

#[tokio::test]
async fn wrong_arguments_are_answered_with_the_schema_and_never_sent() {
    let deck = Deck::new();
    let record = deck.record("fake");
    let deck = deck.server("fake", &FakePlan { record: record.path(), ..plan() }, json!({}));
    let (host, session) = deck.operator();
    let arguments = json!({"citty": "Oslo", "units": "kelvin", "days": "three"});
    let error = call(&session, "fake", "forecast", arguments).await.unwrap_err();
    assert_eq!(error.code.as_str(), "REQUEST_INVALID");
    for word in ["forecast", "fake", "/days", "did you mean `city` instead of `citty`"] {
        assert!(error.message.contains(word), "`{word}` is not in: {}", error.message);
    }
    assert!(!error.message.contains("kelvin"), "values are not repeated: {}", error.message);
    let hint = error.hint.unwrap();
    assert!(hint.starts_with("call it as: forecast(city: string"), "{hint}");
    let facts = error.data.unwrap();
    assert_eq!(facts["inputSchema"], schema());
    assert_eq!(facts["requiredArgs"], json!(["city"]));
    assert_eq!(facts["acceptedArgs"], json!(["city", "days", "units"]));
    assert_eq!(facts["unexpectedArgs"], json!([{"name": "citty", "nearest": "city"}]));
    assert_eq!(facts["minimalArgsTemplate"], json!({"city": ""}));
    let mut rules: Vec<&str> = facts["schemaErrors"]
        .as_array()
        .unwrap()
        .iter()
        .map(|error| error["rule"].as_str().unwrap())
        .collect();
    rules.sort_unstable();
    assert_eq!(rules, ["additionalProperties", "enum", "required", "type"]);
    assert_eq!(record.calls(), 0);
    assert_eq!(
        LastFailure::of(&host, "fake"),
        None,
        "a caller's mistake is not the server's failure"
    );

    let answer = call(&session, "fake", "forecast", json!({"city": "Oslo"})).await.unwrap();
    assert_eq!(text(&answer), r#"{"city":"Oslo"}"#);
    assert_eq!(record.calls(), 1);
    host.close().await;
}

#[tokio::test]
async fn arguments_must_be_an_object() {
    let deck = Deck::of(&plan());
    let (host, session) = deck.operator();
    for wrong in [json!([1]), json!("Oslo"), json!(3)] {
        let error = call(&session, "fake", "forecast", wrong).await.unwrap_err();
        assert_eq!(error.code.as_str(), "REQUEST_INVALID");
        assert_eq!(error.message, "the arguments must be a JSON object");
    }
    host.close().await;
}

#[tokio::test]
async fn every_way_to_call_checks_the_arguments() {
    let deck = Deck::new();
    let record = deck.record("fake");
    let deck = deck.server("fake", &FakePlan { record: record.path(), ..plan() }, json!({}));
    let host = deck.open();
    let wrong = json!({"days": 0});
    let direct = agent_with(&host, Some(Exposure::Direct));
    let progressive = agent_with(&host, Some(Exposure::Progressive));
    let search = agent_with(&host, Some(Exposure::Search));
    for (session, name, arguments) in [
        (&direct, "fake__forecast", wrong.clone()),
        (
            &progressive,
            "fake",
            json!({"operation": "call_tool", "name": "forecast", "args": wrong}),
        ),
        (&search, "call_tool", json!({"name": "fake__forecast", "data": wrong})),
    ] {
        let error = call_listed(session, name, arguments).await.unwrap_err();
        assert_eq!(error.code.as_str(), "REQUEST_INVALID", "{name}: {error}");
        assert_eq!(error.data.unwrap()["inputSchema"], schema(), "{name}");
    }
    assert_eq!(record.calls(), 0);
    host.close().await;
}

#[tokio::test]
async fn unknown_tools_and_capabilities_give_the_nearest_name() {
    let deck = Deck::of(&plan());
    let (host, session) = deck.operator();
    let error = call(&session, "fake", "forcast", json!({})).await.unwrap_err();
    assert_eq!(error.code.as_str(), "TOOL_NOT_FOUND");
    assert_eq!(error.message, "`fake` has no tool `forcast`");
    assert_eq!(error.hint.as_deref(), Some("did you mean `forecast`?"));
    let error = call(&session, "fake", "zzzzzz", json!({})).await.unwrap_err();
    assert_eq!(error.hint.as_deref(), Some("the person sees its tools with: capdeck tools fake"));
    let error = call(&session, "fakee", "forecast", json!({})).await.unwrap_err();
    assert_eq!(error.code.as_str(), "SERVER_NOT_FOUND");
    assert_eq!(error.message, "there is no capability `fakee`");
    assert_eq!(error.hint.as_deref(), Some("did you mean `fake`?"));
    host.close().await;
}

#[tokio::test]
async fn a_tool_with_a_broken_schema_can_still_be_called() {
    let broken = json!({"name": "odd", "description": "Has a broken schema",
        "inputSchema": {"type": "object", "properties": {"a": {"type": "no-such-type"}}}});
    let deck = Deck::of(&FakePlan { extra_tools: vec![broken], ..FakePlan::default() });
    let (host, session) = deck.operator();
    let answer = call(&session, "fake", "odd", json!({"a": 1})).await.unwrap();
    assert_eq!(text(&answer), r#"{"a":1}"#);
    host.close().await;
}

#[tokio::test]
async fn numbers_reach_the_server_as_they_were_written() {
    let deck = Deck::new();
    let record = deck.record("fake");
    let plan = FakePlan { record: record.path(), ..FakePlan::default() };
    let deck = deck.server("fake", &plan, json!({"exposure": "direct"}));
    let host = deck.open();
    let session = agent(&host);
    let written = r#"{"price":1.50,"big":12345678901234567890123,"small":1e-7}"#;
    let arguments = serde_json::value::RawValue::from_string(written.to_owned()).unwrap();
    let request = capdeck_host::ToolRequest {
        arguments: Some(arguments),
        ..capdeck_host::ToolRequest::default()
    };
    let context = crate::deck::context();
    calls::call_listed(session.request(&context), "fake__echo", request).await.unwrap().unwrap();
    // The record is written by a typed reader, so only what it keeps can be compared.
    let sent = &record.received("tools/call")[0]["arguments"];
    assert_eq!(sent["price"], 1.5);
    assert_eq!(sent["big"], 12_345_678_901_234_567_890_123.0);
    host.close().await;
}
