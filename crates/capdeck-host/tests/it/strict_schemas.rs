//! The schemas of the host's own tools, by the published rules of the providers that agents send them to: strict mode of
//! OpenAI, `input_schema` of Anthropic, function declarations of Gemini.

use capdeck_definition::Exposure;
use capdeck_host::listing;
use capdeck_test::FakePlan;
use serde_json::{Value, json};

use crate::deck::{Deck, agent_with, call_listed, context, saying, value};

/// Keywords that all three take in the schema of a function.
const KEYWORDS: [&str; 11] = [
    "type",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "enum",
    "description",
    "title",
    "minimum",
    "maximum",
    "minItems",
];

const MAX_DEPTH: usize = 5;

fn is_name(text: &str, signs: &str) -> bool {
    let is_legal = |letter: char| letter.is_ascii_alphanumeric() || signs.contains(letter);
    (1..=64).contains(&text.len()) && text.chars().all(is_legal)
}

/// What a provider refuses, with its place.
fn problems(schema: &Value, at: &str, depth: usize, found: &mut Vec<String>) {
    let Some(members) = schema.as_object() else {
        return found.push(format!("{at} is no object"));
    };
    if depth > MAX_DEPTH {
        found.push(format!("{at} is too deep"));
    }
    for key in members.keys().filter(|key| !KEYWORDS.contains(&key.as_str())) {
        found.push(format!("{at} has `{key}`"));
    }
    let types: Vec<&str> = match &schema["type"] {
        Value::String(one) => vec![one],
        Value::Array(several) => several.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let is_open_list = at.ends_with("[]") && members.is_empty();
    if types.is_empty() && !is_open_list {
        found.push(format!("{at} has no type"));
    }
    if types.contains(&"object") && !schema["properties"].is_object() {
        found.push(format!("{at} has no properties"));
    }
    if types.contains(&"array") && !schema["items"].is_object() {
        found.push(format!("{at} has no items"));
    }
    if let Some(choices) = schema["enum"].as_array()
        && (types != ["string"] || !choices.iter().all(Value::is_string))
    {
        found.push(format!("{at} has choices that are no strings"));
    }
    let properties = schema["properties"].as_object();
    for name in schema["required"].as_array().into_iter().flatten() {
        if !name.as_str().is_some_and(|name| properties.is_some_and(|all| all.contains_key(name))) {
            found.push(format!("{at} requires {name}, which it does not have"));
        }
    }
    for (name, property) in properties.into_iter().flatten() {
        if !is_name(name, "_.-") {
            found.push(format!("{at} has a property `{name}`"));
        }
        problems(property, &format!("{at}.{name}"), depth + 1, found);
    }
    if let Some(items) = schema.get("items") {
        problems(items, &format!("{at}[]"), depth + 1, found);
    }
}

fn deck() -> Deck {
    Deck::of(&FakePlan::default()).file("config/sayer.md", &saying("hi"))
}

#[tokio::test]
async fn every_schema_follows_the_rules_of_every_provider() {
    let mut names = Vec::new();
    for exposure in
        [Exposure::CodeModeAndSearch, Exposure::OnDemand, Exposure::Progressive, Exposure::Direct]
    {
        let host = deck().open();
        let session = agent_with(&host, Some(exposure));
        let view = listing::discovered_view(&session.request(&context())).await;
        for tool in value(view.tools()).as_array().unwrap() {
            let name = tool["name"].as_str().unwrap();
            // What others send is passed on as it is.
            if name.starts_with("fake__") || name.starts_with("sayer__") {
                continue;
            }
            let mut found = Vec::new();
            assert!(is_name(name, "_-"), "{name}");
            assert_eq!(tool["inputSchema"]["type"], "object", "{name}");
            problems(&tool["inputSchema"], name, 0, &mut found);
            assert_eq!(found, [""; 0], "{exposure:?}");
            names.push(name.to_owned());
        }
        host.close().await;
    }
    for name in
        ["search", "describe", "call_tool", "call_read_only", "code_mode", "setup_tools", "fake"]
    {
        assert!(names.iter().any(|listed| listed == name), "{name} is not among {names:?}");
    }
}

/// A strict client sends every argument that there is.
#[tokio::test]
async fn arguments_that_are_not_meant_are_not_given() {
    let host = deck().open();
    let session = agent_with(&host, Some(Exposure::CodeModeAndSearch));
    for nothing in [json!(null), json!("")] {
        let asked =
            json!({"query": "echo", "capability": nothing, "limit": nothing, "cursor": nothing});
        let found = call_listed(&session, "search", asked).await.unwrap().unwrap();
        assert!(found["structuredContent"]["total"].as_u64().unwrap() > 0, "{nothing}: {found}");
        let asked = json!({"name": "fake__echo", "data": nothing, "fields": nothing});
        assert!(call_listed(&session, "call_tool", asked).await.is_ok(), "{nothing}");
    }
    let asked = json!({"query": "echo progress log", "limit": "1"});
    let found = call_listed(&session, "search", asked).await.unwrap().unwrap();
    assert_eq!(found["structuredContent"]["items"].as_array().unwrap().len(), 1);
    assert!(found["structuredContent"]["total"].as_u64().unwrap() > 1, "{found}");
    let wrong = json!({"query": "tool", "limit": "many"});
    assert!(call_listed(&session, "search", wrong).await.is_err());

    let session = agent_with(&host, Some(Exposure::Progressive));
    for nothing in [json!(null), json!("")] {
        let asked = json!({"operation": "search_tools", "query": "echo", "limit": "3", "cursor": nothing,
            "args": nothing, "fields": nothing, "uri": nothing, "ref": nothing,
            "argument": nothing, "context": nothing});
        assert!(call_listed(&session, "fake", asked).await.is_ok(), "{nothing}");
    }
    host.close().await;
}

#[tokio::test]
async fn a_read_only_call_reaches_tools_that_only_read() {
    let tool = |name: &str, hints: Value| json!({"name": name, "description": "A tool", "inputSchema": {"type": "object"}, "annotations": hints});
    let plan = FakePlan {
        behaviours: false,
        extra_tools: vec![
            tool("look", json!({"readOnlyHint": true})),
            tool("change", json!({"readOnlyHint": false})),
            tool("silent", json!({})),
        ],
        ..FakePlan::default()
    };
    let host = Deck::of(&plan).open();
    let session = agent_with(&host, Some(Exposure::Search));
    let ask = |name: &str| json!({"name": format!("fake__{name}"), "data": {"a": 1}});
    let answer = call_listed(&session, "call_read_only", ask("look")).await.unwrap().unwrap();
    assert_eq!(answer["content"][0]["text"], r#"{"a":1}"#);
    for name in ["change", "silent"] {
        let error = call_listed(&session, "call_read_only", ask(name)).await.unwrap_err();
        assert!(error.message.contains("does not say that it only reads"), "{error}");
        assert_eq!(error.hint.as_deref(), Some("call it with `call_tool`"));
        assert!(call_listed(&session, "call_tool", ask(name)).await.is_ok());
    }
    host.close().await;
}
