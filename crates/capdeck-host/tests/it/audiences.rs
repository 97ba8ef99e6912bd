//! Servers that show more to clients who can do more: every client sees its own list and no other.

use std::sync::Arc;

use capdeck_definition::Exposure;
use capdeck_host::{Session, SessionScope, ToolQuery, ViewPolicy, check, search};
use capdeck_test::FakePlan;
use serde_json::json;

use crate::{
    client::ScriptedClient,
    deck::{Deck, agent_with, call, call_listed, context, listed, text},
    record::until,
};

fn gated() -> Deck {
    Deck::of(&FakePlan { gated_tools: true, ..FakePlan::default() })
}

fn capable(host: &capdeck_host::Host, exposure: Exposure) -> Arc<Session> {
    let scope = SessionScope::Deck(ViewPolicy::offering(Some(exposure)));
    ScriptedClient::new("ada").session(host, scope, &["elicitation", "roots"])
}

fn gated_names(names: &[String]) -> Vec<&str> {
    names.iter().map(String::as_str).filter(|name| name.contains("for_")).collect()
}

#[tokio::test]
async fn each_client_lists_and_calls_what_the_server_shows_it() {
    let host = gated().open();
    let (bare, able) =
        (agent_with(&host, Some(Exposure::Direct)), capable(&host, Exposure::Direct));
    for _ in 0..2 {
        assert_eq!(gated_names(&listed(&bare).await), [""; 0]);
        let names = listed(&able).await;
        assert_eq!(gated_names(&names), ["fake__for_elicitation", "fake__for_roots"]);
    }
    let answer = call_listed(&able, "fake__for_roots", json!({"a": 1})).await.unwrap().unwrap();
    assert_eq!(text(&answer), r#"{"a":1}"#);
    let refused = call_listed(&bare, "fake__for_roots", json!({})).await;
    assert!(!matches!(refused, Ok(Some(_))), "{refused:?}");
    assert_eq!(
        call(&bare, "fake", "for_roots", json!({})).await.unwrap_err().code.as_str(),
        "TOOL_NOT_FOUND"
    );
    able.close().await;
    host.close().await;
}

#[tokio::test]
async fn a_list_for_one_client_does_not_change_the_list_of_another() {
    let host = gated().open();
    let bare = agent_with(&host, Some(Exposure::Direct));
    listed(&bare).await;
    let before = bare.view().tools().get().to_owned();
    let able = capable(&host, Exposure::Direct);
    listed(&able).await;
    let check = check::check(&able.request(&crate::deck::context()), "fake").await;
    assert!(check.outcome.is_ok());
    assert_eq!(bare.view().tools().get(), before);
    assert_eq!(host.catalog().tool("fake", "for_roots").map(|tool| tool.name().to_owned()), None);
    assert_eq!(able.catalog().tool("fake", "for_roots").unwrap().name(), "for_roots");
    able.close().await;
    host.close().await;
}

#[tokio::test]
async fn search_describe_and_the_wrapper_reach_them_too() {
    let host = gated().open();
    // The list for clients that declare nothing is known first, which must not hide the rest.
    listed(&agent_with(&host, Some(Exposure::Direct))).await;
    let searching = capable(&host, Exposure::Search);
    // The first search answers from what is known and asks; the catalog changes when the answer is there.
    search::find(
        &searching.request(&context()),
        ToolQuery { words: "for_elicitation", ..ToolQuery::default() },
    )
    .await
    .unwrap();
    until("the list", || searching.catalog().tool("fake", "for_elicitation").map(|_| ())).await;
    let answer = search::find(
        &searching.request(&context()),
        ToolQuery { words: "for_elicitation", ..ToolQuery::default() },
    )
    .await
    .unwrap();
    let best = answer.hits[0].tool.as_ref().unwrap();
    assert_eq!(best.name(), "for_elicitation");
    let data = json!({"name": "fake__for_elicitation", "data": {"b": 2}});
    let answer = call_listed(&searching, "call_tool", data).await.unwrap().unwrap();
    assert_eq!(text(&answer), r#"{"b":2}"#);
    let wrapped = capable(&host, Exposure::Progressive);
    let asked = json!({"operation": "tools", "limit": 50});
    let answer = call_listed(&wrapped, "fake", asked).await.unwrap().unwrap();
    assert!(answer.to_string().contains("for_roots"), "{answer}");
    let asked = json!({"operation": "call_tool", "name": "for_roots", "args": {"c": 3}});
    let answer = call_listed(&wrapped, "fake", asked).await.unwrap().unwrap();
    assert_eq!(text(&answer), r#"{"c":3}"#);
    let bare = agent_with(&host, Some(Exposure::Progressive));
    let asked = json!({"operation": "describe_tool", "name": "for_roots"});
    assert_eq!(
        call_listed(&bare, "fake", asked).await.unwrap_err().code.as_str(),
        "TOOL_NOT_FOUND"
    );
    for session in [searching, wrapped] {
        session.close().await;
    }
    host.close().await;
}

#[tokio::test]
async fn a_list_survives_a_restart_of_the_host_for_its_own_clients() {
    let deck = Deck::new();
    let record = deck.record("fake");
    let plan = FakePlan { gated_tools: true, record: record.path(), ..FakePlan::default() };
    let deck = deck.server("fake", &plan, json!({}));
    let host = deck.open();
    let able = capable(&host, Exposure::Direct);
    let names = listed(&able).await;
    able.close().await;
    host.close().await;
    drop((able, host));
    let host = deck.open();
    let able = capable(&host, Exposure::Direct);
    assert_eq!(listed(&able).await, names);
    assert_eq!(record.starts().len(), 1, "nothing had to be started again");
    host.close().await;
}

#[tokio::test]
async fn a_changed_list_is_read_again_for_the_client_whose_server_said_so() {
    let host = gated().open();
    let able = capable(&host, Exposure::Direct);
    assert!(!listed(&able).await.contains(&"fake__more".to_owned()));
    call(&able, "fake", "change_tools", json!({"name": "more"})).await.unwrap();
    until("the new list", || able.catalog().tool("fake", "more").map(|_| ())).await;
    assert_eq!(gated_names(&listed(&able).await), ["fake__for_elicitation", "fake__for_roots"]);
    able.close().await;
    host.close().await;
}
