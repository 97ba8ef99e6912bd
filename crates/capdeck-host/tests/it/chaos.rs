//! Faults a file asks for: met the way real ones are, and never by anyone else.

use std::sync::Arc;

use capdeck_host::Session;
use capdeck_test::FakePlan;
use serde_json::{Value, json};

use crate::deck::{Deck, call, text};

/// A deck whose server `shaky` has these faults in its calls.
fn shaky(plan: &FakePlan, mut chaos: Value) -> Deck {
    chaos["only"] = json!(["tools/call"]);
    let more = json!({"chaos": chaos, "callTimeoutMs": 300});
    Deck::new().server("shaky", plan, more).server("sound", &FakePlan::default(), json!({}))
}

fn remote(url: &str, chaos: Value) -> Deck {
    let entry = json!({"name": "Shaky", "description": "A server over HTTP", "url": url,
        "chaos": chaos, "callTimeoutMs": 2000});
    Deck::new().entry("mcpServers", "shaky", entry)
}

/// What became of one call: `ok`, or the code of its error.
async fn outcome(session: &Arc<Session>) -> &'static str {
    match call(session, "shaky", "echo", json!({})).await {
        Ok(_) => "ok",
        Err(error) => error.code.as_str(),
    }
}

#[tokio::test]
async fn a_lost_message_times_out_and_the_server_stays_in_use() {
    let deck = Deck::new();
    let record = deck.record("shaky");
    let plan = FakePlan { record: record.path(), ..FakePlan::default() };
    let deck = shaky(&plan, json!({"drop": 1}));
    let (host, session) = deck.operator();
    for _ in 0..2 {
        assert_eq!(outcome(&session).await, "TOOL_CALL_TIMEOUT");
    }
    assert_eq!(record.starts().len(), 1, "a slow server is not a dead one");
    let answer = call(&session, "sound", "echo", json!({"a": 1})).await.unwrap();
    assert_eq!(text(&answer), r#"{"a":1}"#, "others have no part in it");
    host.close().await;
}

#[tokio::test]
async fn a_pipe_that_forgets_ends_its_call_and_the_next_starts_a_process() {
    let deck = Deck::new();
    let record = deck.record("shaky");
    let plan = FakePlan { record: record.path(), ..FakePlan::default() };
    let deck = shaky(&plan, json!({"expire": 1}));
    let (host, session) = deck.operator();
    for starts in 1..=2 {
        let error = call(&session, "shaky", "echo", json!({})).await.unwrap_err();
        assert_eq!(error.code.as_str(), "SERVER_UNAVAILABLE", "{error}");
        assert_eq!(record.starts().len(), starts);
    }
    host.close().await;
}

#[tokio::test]
async fn sessions_that_expire_over_http_fail_no_call() {
    let fake = FakePlan::default().start_http();
    let chaos = json!({"seed": 3, "expire": 0.3, "only": ["tools/call"]});
    let (host, session) = remote(&fake.url, chaos).operator();
    let listing = FakePlan::default().start_http();
    let chaos = json!({"seed": 3, "expire": 0.3, "only": ["tools/list"]});
    let (second, lister) = remote(&listing.url, chaos).operator();
    for round in 0..20 {
        let answer = call(&session, "shaky", "echo", json!({"round": round})).await.unwrap();
        assert_eq!(text(&answer), format!(r#"{{"round":{round}}}"#));
        call(&lister, "shaky", "echo", json!({})).await.unwrap();
    }
    host.close().await;
    second.close().await;
}

#[tokio::test]
async fn damaged_answers_over_http_are_protocol_errors() {
    let fake = FakePlan::default().start_http();
    for chaos in [json!({"truncate": 1}), json!({"malformed": 1})] {
        let mut chaos = chaos;
        chaos["only"] = json!(["tools/call"]);
        let (host, session) = remote(&fake.url, chaos).operator();
        let error = call(&session, "shaky", "echo", json!({})).await.unwrap_err();
        assert_eq!(error.code.as_str(), "DOWNSTREAM_PROTOCOL_ERROR", "{error}");
        assert!(error.message.contains("cannot be read"), "{error}");
        host.close().await;
    }
}

#[tokio::test]
async fn list_changes_during_calls_disturb_neither_calls_nor_lists() {
    let deck =
        shaky(&FakePlan::default(), json!({"listChange": 1, "delayMs": {"min": 0, "max": 5}}));
    let (host, session) = deck.operator();
    let calls = (0..20).map(|round| {
        let session = session.clone();
        tokio::spawn(async move { call(&session, "shaky", "echo", json!({"round": round})).await })
    });
    for (round, calling) in calls.collect::<Vec<_>>().into_iter().enumerate() {
        let answer = calling.await.unwrap().unwrap();
        assert_eq!(text(&answer), format!(r#"{{"round":{round}}}"#));
    }
    assert!(host.catalog().tool("shaky", "echo").is_some());
    host.close().await;
}

#[tokio::test]
async fn a_seed_gives_the_same_outcomes_again() {
    let mut runs = Vec::new();
    for _ in 0..2 {
        let deck = shaky(&FakePlan::default(), json!({"seed": 7, "drop": 0.3, "expire": 0.3}));
        let (host, session) = deck.operator();
        let mut outcomes = Vec::new();
        for _ in 0..8 {
            outcomes.push(outcome(&session).await);
        }
        host.close().await;
        runs.push(outcomes);
    }
    assert_eq!(runs[0], runs[1]);
    assert!(runs[0].contains(&"ok") && runs[0].contains(&"SERVER_UNAVAILABLE"), "{runs:?}");
}
