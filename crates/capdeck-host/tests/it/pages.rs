//! Pages that show a tool's results: their links work through the deck.

use capdeck_definition::Exposure;
use capdeck_host::{RawMembers, resources};
use capdeck_test::FakePlan;
use serde_json::{Value, json};

use crate::deck::{Deck, agent_with, context, listed, value};

/// A server whose tool `show` has this page.
fn with_page(uri: &str) -> FakePlan {
    let tool = json!({"name": "show", "description": "Shows", "inputSchema": {"type": "object"},
        "_meta": {"ui": {"resourceUri": uri, "visibility": ["model"]}, "example.com/kept": 1}});
    FakePlan { extra_tools: vec![tool], ..FakePlan::default() }
}

fn page_named_by(tools: &Value, name: &str) -> Value {
    let all = tools.as_array().unwrap();
    all.iter().find(|tool| tool["name"] == name).unwrap()["_meta"].clone()
}

#[tokio::test]
async fn a_page_keeps_its_name_while_it_means_one_thing() {
    let host = Deck::of(&with_page("fake://items/1")).open();
    let session = agent_with(&host, Some(Exposure::Direct));
    listed(&session).await;
    let meta = page_named_by(&value(session.view().tools()), "fake__show");
    assert_eq!(meta["ui"], json!({"resourceUri": "fake://items/1", "visibility": ["model"]}));
    let read = resources::read(&session.request(&context()), "fake://items/1", RawMembers::new())
        .await
        .unwrap();
    assert_eq!(value(&read)["contents"][0]["text"], "item 1");
    let unknown =
        resources::read(&session.request(&context()), "fake://items/2", RawMembers::new()).await;
    assert_eq!(unknown.unwrap_err().code.as_str(), "RESOURCE_NOT_FOUND", "nobody names that one");
    host.close().await;
}

#[tokio::test]
async fn pages_of_the_same_name_are_distinguished() {
    let deck = Deck::of(&with_page("fake://items/1")).server(
        "two",
        &with_page("fake://items/1"),
        json!({}),
    );
    let host = deck.open();
    let session = agent_with(&host, Some(Exposure::Direct));
    listed(&session).await;
    let own =
        resources::read(&session.request(&context()), "fake://items/1", RawMembers::new()).await;
    assert_eq!(own.unwrap_err().code.as_str(), "RESOURCE_NOT_FOUND", "it could be either");
    for id in ["fake", "two"] {
        let meta = page_named_by(&value(session.view().tools()), &format!("{id}__show"));
        let uri = format!("caplets://{id}/resources/fake%3A%2F%2Fitems%2F1");
        assert_eq!(meta["ui"], json!({"resourceUri": uri, "visibility": ["model"]}));
        assert_eq!(meta["example.com/kept"], 1);
        let read =
            resources::read(&session.request(&context()), &uri, RawMembers::new()).await.unwrap();
        assert_eq!(value(&read)["contents"][0]["text"], "item 1");
    }
    host.close().await;
}
