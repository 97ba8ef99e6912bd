//! What is learned from results: what they look like, and nothing that they say.

use capdeck_definition::Exposure;
use capdeck_host::{calls, observed_shape};
use capdeck_test::FakePlan;
use serde_json::{Value, json};

use crate::deck::{
    Deck, agent, agent_with, call, call_listed, caplet, context, everything_below, request,
};

const CANARY: &str = "canary-4b1d-do-not-keep";

fn deck() -> Deck {
    let answer = json!({
        "rows": [{"id": 7, "password": CANARY, "note": null}],
        "owners": {"ada@canary-4b1d.example": {"age": 1900417004}},
    });
    let file = caplet(&json!({
        "name": "Tools", "description": "Answers with JSON",
        "cliTools": {"actions": {
            "rows": {"command": "printf", "args": ["%s", answer.to_string()], "output": {"type": "json"}},
            "fails": {"command": "sh", "args": ["-c", "echo secret-failure; exit 3"]},
            "declared": {"command": "printf", "args": ["{}"], "output": {"type": "json"},
                "outputSchema": {"type": "object", "properties": {"exitCode": {"type": "integer"}}}},
        }},
    }));
    Deck::new().file("config/tools.md", &file)
}

/// Calls each tool once in a host of its own. What was learned is on disk when it has ended.
async fn call_all(deck: &Deck) {
    let (host, session) = deck.operator();
    for tool in ["rows", "fails", "declared"] {
        call(&session, "tools", tool, json!({})).await.unwrap();
    }
    host.close().await;
}

async fn described(deck: &Deck, tool: &str) -> Value {
    let host = deck.open();
    let asked = json!({"name": format!("tools__{tool}")});
    let answer = call_listed(&agent(&host), "describe", asked).await.unwrap().unwrap();
    let text = answer["content"][0]["text"].as_str().unwrap().to_owned();
    let shape = answer["structuredContent"]["observedOutputShape"].clone();
    assert_eq!(text.contains("looked like this so far"), shape.is_object(), "{text}");
    let progressive = agent_with(&host, Some(Exposure::Progressive));
    let asked = json!({"operation": "describe_tool", "name": tool});
    let answer = call_listed(&progressive, "tools", asked).await.unwrap().unwrap();
    let result = &answer["structuredContent"]["result"];
    assert_eq!(result["observedOutputShape"], shape, "both views say the same");
    host.close().await;
    shape
}

#[tokio::test]
async fn results_teach_what_a_tool_answers() {
    let deck = deck();
    assert_eq!(described(&deck, "rows").await, Value::Null, "nothing is known yet");
    call_all(&deck).await;
    let shape = described(&deck, "rows").await;
    let seen = shape["typeScript"].as_str().unwrap();
    let json = "json?: { owners?: { [key: string]: { age?: number } }; rows?: { id?: number; note?: null; password?: string }[] }";
    assert!(seen.contains(json), "{seen}");
    assert_eq!((&shape["version"], &shape["source"]), (&json!(1), &json!("observed")));
    assert_eq!((&shape["sampleCount"], &shape["truncated"]), (&json!(1), &json!(false)));
    assert_eq!(described(&deck, "declared").await, Value::Null, "its own schema says it");
    assert_eq!(described(&deck, "fails").await, Value::Null, "failures teach nothing");
}

#[tokio::test]
async fn no_value_is_ever_kept() {
    let deck = deck();
    call_all(&deck).await;
    let stored = everything_below(deck.dirs.cache().join("shapes"));
    assert!(stored.contains("password"), "the name of the field is shown: {stored}");
    for value in ["canary", "ada@", "1900417004", "secret-failure"] {
        assert!(!stored.contains(value), "{value}: {stored}");
    }
}

#[tokio::test]
async fn another_definition_starts_anew_and_the_switch_turns_it_off() {
    let deck = deck();
    call_all(&deck).await;
    let file = std::fs::read_to_string(deck.dirs.config().join("tools.md")).unwrap();
    let changed = file.replace("secret-failure", "other-failure");
    deck.dirs.write("config/tools.md", &changed);
    assert_eq!(described(&deck, "rows").await, Value::Null, "it may lead elsewhere now");

    deck.dirs.write("config/tools.md", &file);
    assert!(described(&deck, "rows").await.is_object());
    let deck = deck.config("observedShapes", json!(false));
    assert_eq!(described(&deck, "rows").await, Value::Null);
    std::fs::remove_dir_all(deck.dirs.cache().join("shapes")).unwrap();
    call_all(&deck).await;
    assert!(!deck.dirs.cache().join("shapes").exists(), "nothing is learned");
}

#[tokio::test]
async fn a_server_that_says_nothing_teaches_too() {
    let deck = Deck::of(&FakePlan::default());
    {
        let (host, session) = deck.operator();
        for _ in 0..20 {
            calls::call(session.request(&context()), &request("fake", "echo", json!({"a": 1})))
                .await
                .unwrap();
        }
        host.close().await;
    }
    let (host, session) = deck.operator();
    let capability = session.snapshot().capability("fake").unwrap();
    let tool = host.catalog().tool("fake", "echo").unwrap().clone();
    let shape = observed_shape(&host, &capability.definition, &tool).unwrap();
    assert_eq!(shape["typeScript"], "{ a?: number }");
    assert_eq!(shape["sampleCount"], 1, "results without news change nothing on disk");
    host.close().await;
    assert_eq!(std::fs::read_dir(deck.dirs.cache().join("shapes")).unwrap().count(), 1);
}
