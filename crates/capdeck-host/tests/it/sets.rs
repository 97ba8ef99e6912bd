//! Sets: one capability made of others, each of them an ordinary capability.

use capdeck_definition::Exposure;
use capdeck_test::FakePlan;
use serde_json::{Value, json};

use crate::{
    deck::{Deck, agent, agent_with, call, call_listed, caplet, listed, saying, text},
    record::lines,
};

fn server(plan: &FakePlan) -> String {
    let (program, arguments) = plan.command();
    caplet(&json!({
        "name": "Inner", "description": "A server inside a set",
        "mcpServer": {"command": program, "args": arguments},
    }))
}

fn set(exposure: &str) -> String {
    caplet(&json!({
        "name": "Toolkit", "description": "A set of the test", "exposure": exposure,
        "capletSet": {"capletsRoot": "./members"},
    }))
}

fn deck(exposure: &str) -> Deck {
    Deck::new()
        .file("config/toolkit/CAPLET.md", &set(exposure))
        .file("config/toolkit/members/sayer.md", &saying("inner"))
        .file("config/toolkit/members/fake.md", &server(&FakePlan::default()))
}

#[tokio::test]
async fn a_set_offers_one_wrapper_per_member() {
    let deck = deck("direct");
    let host = deck.open();
    let session = agent(&host);
    assert_eq!(listed(&session).await, ["toolkit__fake", "toolkit__sayer"]);
    let asked = json!({"operation": "call_tool", "name": "say", "args": {}});
    let answer = call_listed(&session, "toolkit__sayer", asked).await.unwrap().unwrap();
    assert_eq!(answer["structuredContent"]["stdout"], "inner");
    let tools = call_listed(&session, "toolkit__fake", json!({"operation": "tools"})).await;
    let tools = &tools.unwrap().unwrap()["structuredContent"];
    assert_eq!(tools["caplets"]["id"], "toolkit__fake");
    let prompt = json!({"operation": "get_prompt", "name": "greet", "args": {"who": "Ada"}});
    let answer = call_listed(&session, "toolkit__fake", prompt).await.unwrap().unwrap();
    assert!(answer.to_string().contains("Greet Ada"), "members' prompts are reachable");
    host.close().await;
}

#[tokio::test]
async fn a_progressive_set_nests_its_members_wrappers() {
    let deck = deck("progressive");
    let host = deck.open();
    let session = agent(&host);
    assert_eq!(listed(&session).await, ["toolkit"]);
    let inner = json!({"operation": "call_tool", "name": "say", "args": {}});
    let asked = json!({"operation": "call_tool", "name": "sayer", "args": inner});
    let answer = call_listed(&session, "toolkit", asked).await.unwrap().unwrap();
    assert_eq!(answer["structuredContent"]["stdout"], "inner");
    host.close().await;
}

#[tokio::test]
async fn a_nested_call_is_checked_and_audited_like_any_other() {
    let deck = deck("direct");
    {
        let host = deck.open();
        let session = agent(&host);
        let call_inner =
            |tool: &str, args: Value| json!({"operation": "call_tool", "name": tool, "args": args});
        call_listed(&session, "toolkit__sayer", call_inner("say", json!({}))).await.unwrap();
        let wrong = call_inner("structured", json!({"nope": 1}));
        let error = call_listed(&session, "toolkit__fake", wrong).await.unwrap_err();
        assert_eq!(error.code.as_str(), "REQUEST_INVALID");
        host.close().await;
    }
    let folder = deck.dirs.state().join("audit");
    let file = folder.read_dir().unwrap().next().unwrap().unwrap().path();
    let written: Vec<(String, String, String)> = lines(&file)
        .iter()
        .map(|line| {
            let part = |key: &str| line[key].as_str().unwrap().to_owned();
            (part("capability"), part("tool"), part("outcome"))
        })
        .collect();
    let expected = [
        ("toolkit__sayer", "say", "ok"),
        ("toolkit", "sayer", "ok"),
        ("toolkit__fake", "structured", "REQUEST_INVALID"),
        ("toolkit", "fake", "REQUEST_INVALID"),
    ];
    let expected: Vec<_> = expected
        .iter()
        .map(|(one, two, three)| ((*one).to_owned(), (*two).to_owned(), (*three).to_owned()))
        .collect();
    assert_eq!(written, expected);
}

#[tokio::test]
async fn search_finds_members_tools_and_calls_them() {
    let deck = deck("search");
    let host = deck.open();
    let session = agent(&host);
    let found = call_listed(&session, "search", json!({"query": "answers with its arguments"}));
    let found = found.await.unwrap().unwrap();
    let name = &found["structuredContent"]["items"][0]["name"];
    assert_eq!(name, "toolkit__fake__echo");
    let asked = json!({"name": name, "data": {"a": 1}});
    let answer = call_listed(&session, "call_tool", asked).await.unwrap().unwrap();
    assert_eq!(text(&answer), r#"{"a":1}"#);
    host.close().await;
}

#[tokio::test]
async fn members_share_the_fate_of_their_set() {
    let deck = deck("none");
    let host = deck.open();
    let session = agent(&host);
    for id in ["toolkit", "toolkit__sayer"] {
        let error = call(&session, id, "say", json!({})).await.unwrap_err();
        assert_eq!(error.code.as_str(), "DENIED", "{id}: {error}");
    }
    host.close().await;

    let disabled = set("direct").replace("./members\"", "./members\",\"disabled\":true");
    deck.dirs.write("config/toolkit/CAPLET.md", disabled);
    let host = deck.open();
    let error = call(&host.operator(), "toolkit__sayer", "say", json!({})).await.unwrap_err();
    assert_eq!(error.code.as_str(), "SERVER_NOT_FOUND");
    host.close().await;
}

#[tokio::test]
async fn a_cycle_of_sets_is_one_quarantined_entry() {
    let inner = caplet(&json!({
        "name": "Back", "description": "Leads back to where it came from",
        "capletSet": {"capletsRoot": "../../.."},
    }));
    let deck = deck("direct").file("config/toolkit/members/back/CAPLET.md", &inner);
    let host = deck.open();
    let catalog = host.catalog();
    let quarantined: Vec<&str> =
        catalog.quarantined().iter().map(|entry| entry.id.as_str()).collect();
    assert_eq!(quarantined, ["toolkit__back"]);
    assert!(catalog.quarantined()[0].reason.contains("leads back"));
    let session = agent_with(&host, Some(Exposure::Direct));
    assert_eq!(listed(&session).await, ["toolkit__fake", "toolkit__sayer"]);
    let error = session.capability("toolkit__back").unwrap_err();
    assert_eq!(error.code.as_str(), "CONFIG_INVALID");
    assert!(error.hint.unwrap().starts_with("the person runs: capdeck validate "));
    host.close().await;
}

#[tokio::test]
async fn a_set_whose_file_breaks_keeps_its_members() {
    let deck = deck("direct");
    let host = deck.open();
    let session = agent(&host);
    assert_eq!(listed(&session).await.len(), 2);
    deck.dirs.write("config/toolkit/CAPLET.md", "---\nname: [broken\n---\n");
    host.reload();
    assert_eq!(listed(&session).await, ["toolkit__fake", "toolkit__sayer"]);
    let asked = json!({"operation": "call_tool", "name": "say", "args": {}});
    let answer = call_listed(&session, "toolkit__sayer", asked).await.unwrap().unwrap();
    assert_eq!(answer["structuredContent"]["stdout"], "inner");
    host.close().await;
}
