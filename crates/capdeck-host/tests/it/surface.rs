//! The content of a client's list, what it costs, and that it stays the same.

use capdeck_catalog::estimate_tokens;
use capdeck_definition::Exposure;
use capdeck_host::listing;
use capdeck_test::FakePlan;
use serde_json::json;

use crate::deck::{Deck, agent, agent_with, call_listed, context, listed, saying, value};

fn deck() -> Deck {
    let plan = FakePlan { behaviours: false, tools: 10, ..FakePlan::default() };
    Deck::new()
        .server("big", &plan, json!({"exposure": "direct"}))
        .file("config/small.md", &saying("hi").replace("cliTools:", "exposure: direct\ncliTools:"))
}

#[tokio::test]
async fn a_chosen_exposure_is_honoured_in_full_without_a_budget() {
    let deck = deck();
    let host = deck.open();
    let names = listed(&agent(&host)).await;
    assert_eq!(names.len(), 11, "{names:?}");
    assert!(agent(&host).view().tokens() > 1000);
    host.close().await;
}

#[tokio::test]
async fn an_explicit_budget_moves_what_does_not_fit_to_search() {
    let deck = deck().config("options", json!({"surfaceTokens": 600}));
    let host = deck.open();
    let session = agent(&host);
    let names = listed(&session).await;
    assert_eq!(names, ["search", "describe", "call_tool", "call_read_only", "small__say"]);
    let tokens = session.view().tokens();
    assert!(tokens <= 600, "{tokens} tokens are listed");
    let asked = json!({"name": "big__tool_00003", "data": {}});
    assert!(call_listed(&session, "call_tool", asked).await.unwrap().is_some());
    host.close().await;
}

#[tokio::test]
async fn the_search_tools_cost_little_whatever_is_installed() {
    let plan = FakePlan { behaviours: false, tools: 500, ..FakePlan::default() };
    let deck = Deck::of(&plan);
    let host = deck.open();
    let session = agent(&host);
    let empty = session.view().tools().get().to_owned();
    assert!(session.view().tokens() <= 350, "{}", session.view().tokens());
    call_listed(&session, "search", json!({"query": "item"})).await.unwrap();
    assert_eq!(session.view().tools().get(), empty, "knowing 500 tools costs nothing");
    let instructions = session.view().instructions().unwrap();
    assert!(instructions.contains("fake"), "{instructions}");
    host.close().await;
}

#[tokio::test]
async fn every_view_says_how_to_use_it_within_the_budget() {
    for (exposure, says) in [
        (Exposure::Direct, "Tools are named `<capability>__<tool>`. Here: big, small."),
        (Exposure::Progressive, "One tool per capability: `operation` `tools`"),
        (Exposure::Search, "Use `search` to find tools, then `call_tool`. Here: big, small."),
        (
            Exposure::CodeMode,
            "Write TypeScript for `code_mode`, where `caplets.<id>` is a capability. Here: big, small.",
        ),
        (
            Exposure::CodeModeAndSearch,
            "Use `search` to find tools, then `call_tool`, or `code_mode`",
        ),
    ] {
        let deck = deck();
        let (first, second) = (deck.open(), deck.open());
        let view =
            listing::discovered_view(&agent_with(&first, Some(exposure)).request(&context())).await;
        let text = view.instructions().unwrap();
        assert!(text.starts_with(says), "{exposure:?}: {text}");
        assert!(estimate_tokens(&text) <= 240, "{exposure:?}: {text}");
        let again =
            listing::discovered_view(&agent_with(&second, Some(exposure)).request(&context()))
                .await
                .instructions();
        assert_eq!(again.unwrap(), text, "{exposure:?}");
        first.close().await;
        second.close().await;
    }
}

#[tokio::test]
async fn a_budget_that_is_set_binds_tools_and_instructions_together() {
    for budget in [1, 310, 330, 360, 1000] {
        for exposure in
            [Exposure::Direct, Exposure::Progressive, Exposure::Search, Exposure::CodeModeAndSearch]
        {
            let host = deck().config("options", json!({"surfaceTokens": budget})).open();
            let view =
                listing::discovered_view(&agent_with(&host, Some(exposure)).request(&context()))
                    .await;
            let instructions = view.instructions();
            let cost = instructions.as_deref().map_or(0, estimate_tokens);
            if view.tokens() + cost > budget {
                // Nothing is smaller than the search tools, to which everything else gives way.
                let tools = value(view.tools());
                let names: Vec<&str> = tools
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|tool| tool["name"].as_str().unwrap())
                    .collect();
                assert_eq!(
                    names,
                    ["search", "describe", "call_tool", "call_read_only"],
                    "{exposure:?} in {budget}"
                );
                assert_eq!(instructions, None, "{exposure:?} in {budget}");
                assert!(budget < 310, "{exposure:?} in {budget}: {} tokens", view.tokens());
            }
            // With room for them, instructions are there.
            assert!(instructions.is_some() || budget < 1000, "{exposure:?} in {budget}");
            host.close().await;
        }
    }
}

#[tokio::test]
async fn two_hosts_list_the_same_bytes() {
    let one = deck();
    let first = one.open();
    let second = Deck::open(&one);
    for exposure in
        [Exposure::Direct, Exposure::Progressive, Exposure::Search, Exposure::CodeModeAndSearch]
    {
        let left =
            listing::discovered_view(&agent_with(&first, Some(exposure)).request(&context())).await;
        let right =
            listing::discovered_view(&agent_with(&second, Some(exposure)).request(&context()))
                .await;
        assert_eq!(left.tools().get(), right.tools().get(), "{exposure:?}");
    }
    first.close().await;
    second.close().await;
}
