//! What happens to calls under way when a server is killed, or its definition is changed.

use std::process::Command;

use capdeck_host::Host;
use capdeck_test::FakePlan;
use serde_json::{Value, json};

use crate::{
    deck::{Deck, call, text},
    record::{until, until_gone},
};

#[tokio::test]
async fn a_server_killed_in_the_middle_of_calls_says_so_and_comes_back() {
    let deck = Deck::new();
    let record = deck.record("fake");
    let plan = FakePlan {
        record: record.path(),
        stderr_line: Some("holding the lock".to_owned()),
        ..FakePlan::default()
    };
    let deck = deck.server("fake", &plan, json!({}));
    let (host, session) = deck.operator();
    let calls: Vec<_> = (0..3)
        .map(|_| {
            let session = session.clone();
            tokio::spawn(async move { call(&session, "fake", "hang", json!({})).await })
        })
        .collect();
    until("the calls", || (record.calls() == 3).then_some(())).await;
    let pid = record.starts()[0];
    assert!(Command::new("kill").args(["-9", &pid.to_string()]).status().unwrap().success());
    for calling in calls {
        let error = calling.await.unwrap().unwrap_err();
        assert_eq!(error.code.as_str(), "SERVER_UNAVAILABLE");
        assert_eq!(error.message, "`fake` was ended by SIGKILL; it last wrote: holding the lock");
    }
    let answer = call(&session, "fake", "echo", json!({"a": 1})).await.unwrap();
    assert_eq!(text(&answer), r#"{"a":1}"#);
    assert_eq!(record.starts().len(), 2);
    host.close().await;
}

#[tokio::test]
async fn a_definition_changed_during_a_call_is_for_the_next_one() {
    let deck = Deck::new();
    let record = deck.record("fake");
    let plan = FakePlan { record: record.path(), ..FakePlan::default() };
    let deck = deck.server("fake", &plan, json!({}));
    let (host, session) = deck.operator();
    let calling = {
        let session = session.clone();
        tokio::spawn(async move { call(&session, "fake", "wait", json!({"ms": 1500})).await })
    };
    until("the call", || (record.calls() == 1).then_some(())).await;
    change(&deck, &host, &plan);
    let answer = call(&session, "fake", "environment", json!({})).await.unwrap();
    let environment: Value = serde_json::from_str(text(&answer)).unwrap();
    assert_eq!(environment["env"]["CHANGED"], "yes", "a new call meets the new definition");
    let answer = calling.await.unwrap().expect("the call under way is not disturbed");
    assert_eq!(text(&answer), "waited");
    let [old, new] = record.starts()[..] else { panic!("{:?}", record.starts()) };
    assert_ne!(old, new);
    until_gone(old).await;
    host.close().await;
}

#[tokio::test]
async fn a_reload_that_changes_nothing_disturbs_nothing() {
    let deck = Deck::new();
    let record = deck.record("fake");
    let plan = FakePlan { record: record.path(), ..FakePlan::default() };
    let deck = deck.server("fake", &plan, json!({}));
    let (host, session) = deck.operator();
    let calling = {
        let session = session.clone();
        tokio::spawn(async move { call(&session, "fake", "wait", json!({"ms": 800})).await })
    };
    until("the call", || (record.calls() == 1).then_some(())).await;
    for _ in 0..20 {
        host.reload();
    }
    assert_eq!(text(&calling.await.unwrap().unwrap()), "waited");
    assert_eq!(record.starts().len(), 1);
    host.close().await;
}

/// Gives the server another environment, and with that another definition.
fn change(deck: &Deck, host: &Host, plan: &FakePlan) {
    let mut entry = plan.deck_entry();
    entry["env"] = json!({"CHANGED": "yes"});
    deck.dirs.write_config(&json!({"mcpServers": {"fake": entry}}));
    host.reload();
}
