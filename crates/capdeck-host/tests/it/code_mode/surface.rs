//! The tool itself: what it costs and what it names.

use capdeck_catalog::estimate_tokens;
use capdeck_definition::Exposure;
use capdeck_test::FakePlan;
use serde_json::{Value, json};

use super::{coder, value_of};
use crate::deck::{Deck, agent, agent_with, call_listed, listed, saying, value};

fn deck_of(count: usize) -> Deck {
    let mut deck = Deck::new();
    for number in 0..count {
        deck = deck.file(&format!("config/tool-{number:04}.md"), &saying("hi"));
    }
    deck
}

fn tool(view: &capdeck_host::View) -> Value {
    let tools = value(view.tools());
    let tools = tools.as_array().unwrap();
    tools.iter().find(|tool| tool["name"] == "code_mode").expect("it is listed").clone()
}

#[tokio::test]
async fn the_tool_costs_the_same_with_one_capability_or_a_thousand() {
    for count in [1, 100, 1000] {
        let host = deck_of(count).open();
        let view = coder(&host).view();
        let tokens = view.tokens();
        assert!(tokens <= 600, "{count}: {tokens}");
        let text = tool(&view)["description"].as_str().unwrap().to_owned();
        assert!(text.contains("- tool-0000"), "{text}");
        assert_eq!(text.contains(" more: `caplets.search`"), count > 1, "{text}");
        let again = coder(&host).view();
        assert_eq!(again.tools().get(), view.tools().get());
        host.close().await;
    }
}

/// Texts that nearly fit were once taken for texts that never do.
#[tokio::test]
async fn the_tool_is_there_with_any_number_of_capabilities() {
    for count in 2..=40 {
        let host = deck_of(count).open();
        let view = coder(&host).view();
        assert!(view.tokens() <= 600, "{count}: {}", view.tokens());
        assert!(tool(&view)["description"].as_str().unwrap().contains("- tool-0000"), "{count}");
        host.close().await;
    }
}

#[tokio::test]
async fn by_default_code_and_search_stand_side_by_side_within_the_budget() {
    let deck = deck_of(100);
    let mut settings = deck.settings();
    settings.default_exposure = Exposure::CodeModeAndSearch;
    let host = capdeck_host::Host::open(settings);
    let session = agent(&host);
    assert_eq!(
        listed(&session).await,
        ["code_mode", "search", "describe", "call_tool", "call_read_only"]
    );
    let view = session.view();
    let received = view.instructions().map_or(0, |text| estimate_tokens(&text));
    assert!(view.tokens() + received <= 1000, "{} and {received}", view.tokens());
    host.close().await;
}

#[tokio::test]
async fn what_is_used_most_is_named_first_by_the_next_host() {
    let deck = deck_of(300);
    let host = deck.open();
    let text = |host: &capdeck_host::Host| {
        tool(&coder(host).view())["description"].as_str().unwrap().to_owned()
    };
    let before = text(&host);
    assert!(!before.contains("tool-0250"), "{before}");
    for _ in 0..2 {
        value_of(&coder(&host), "caplets['tool-0250'].say()").await;
    }
    value_of(&coder(&host), "caplets['tool-0200'].say()").await;
    assert_eq!(text(&host), before, "a list does not change while the host runs");
    host.close().await;
    let host = deck.open();
    let after = text(&host);
    let place =
        |id: &str| after.find(&format!("- {id}")).unwrap_or_else(|| panic!("{id}: {after}"));
    assert!(place("tool-0250") < place("tool-0200") && place("tool-0200") < place("tool-0000"));
    host.close().await;
}

#[tokio::test]
async fn every_exposure_with_code_offers_the_tool() {
    let deck = Deck::of(&FakePlan::default());
    let host = deck.open();
    for (exposure, names) in [
        (Exposure::CodeMode, &["code_mode"][..]),
        (Exposure::ProgressiveAndCodeMode, &["code_mode", "fake"]),
        (
            Exposure::CodeModeAndSearch,
            &["code_mode", "search", "describe", "call_tool", "call_read_only"],
        ),
    ] {
        assert_eq!(listed(&agent_with(&host, Some(exposure))).await, names, "{exposure:?}");
    }
    let both = listed(&agent_with(&host, Some(Exposure::DirectAndCodeMode))).await;
    assert!(both.contains(&"code_mode".to_owned()) && both.contains(&"fake__echo".to_owned()));
    for exposure in [Exposure::Direct, Exposure::Progressive, Exposure::Search] {
        let names = listed(&agent_with(&host, Some(exposure))).await;
        assert!(!names.contains(&"code_mode".to_owned()), "{exposure:?}: {names:?}");
    }
    host.close().await;
}

#[tokio::test]
async fn a_budget_without_room_for_the_tool_leaves_it_to_search() {
    for (budget, names) in [
        (400, &["search", "describe", "call_tool", "call_read_only"][..]),
        (2000, &["code_mode", "search", "describe", "call_tool", "call_read_only"]),
    ] {
        let deck =
            Deck::of(&FakePlan::default()).config("options", json!({"surfaceTokens": budget}));
        let host = deck.open();
        let session = agent_with(&host, Some(Exposure::CodeModeAndSearch));
        assert_eq!(listed(&session).await, names, "{budget}");
        assert!(session.view().tokens() <= budget);
        host.close().await;
    }
}

#[tokio::test]
async fn a_name_that_only_code_reaches_says_so() {
    let deck = Deck::of(&FakePlan::default());
    let host = deck.open();
    let error = call_listed(&coder(&host), "fake__echo", json!({})).await.unwrap_err();
    assert_eq!(error.hint.unwrap(), "use `code_mode`: await caplets.fake.echo({ … })");
    host.close().await;
}
