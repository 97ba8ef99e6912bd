//! Servers that a launcher installs while clients wait.

use std::{sync::Arc, time::Duration};

use capdeck_host::{CallContext, CallError, HealthStatus, Host, Session, calls, check};
use capdeck_test::{FakeLauncher, FakePlan};
use serde_json::{Value, json};

use crate::deck::{Deck, TEST_TIMEOUT, agent, context, request, value};

async fn open_gate(launcher: &Arc<FakeLauncher>) {
    let launcher = launcher.clone();
    tokio::task::spawn_blocking(move || launcher.open_gate()).await.unwrap();
}

async fn call_waiting(session: &Session, start_wait: Option<Duration>) -> Result<Value, CallError> {
    let request = request("fake", "echo", json!({}));
    let context = CallContext { start_wait, ..context() };
    let calling = calls::call(session.request(&context), &request);
    let answer = tokio::time::timeout(TEST_TIMEOUT, calling).await;
    Ok(value(&answer.expect("a call ends in time")?))
}

#[track_caller]
fn assert_starting(host: &Host, error: &CallError) {
    assert_eq!(error.code.as_str(), "SERVER_STARTING", "{error}");
    assert!(error.message.starts_with("`fake` is starting ("), "{error}");
    assert!(error.message.ends_with(" s): installing @example/fake"), "{error}");
    assert_eq!(error.hint.as_deref(), Some("try again in a moment; the start goes on"));
    let starting = host.starting_servers();
    assert_eq!(starting.len(), 1, "{starting:?}");
}

#[tokio::test]
async fn a_call_during_an_install_is_answered_and_the_install_goes_on() {
    let deck = Deck::new();
    let record = deck.record("fake");
    let plan = FakePlan { record: record.path(), ..FakePlan::default() };
    let launcher = Arc::new(FakeLauncher::starting(deck.dirs.root()));
    let deck = deck.entry("mcpServers", "fake", launcher.deck_entry(&plan));
    let host = deck.open();
    let session = agent(&host);
    for _ in 0..2 {
        let error = call_waiting(&session, Some(Duration::ZERO)).await.unwrap_err();
        assert_starting(&host, &error);
    }
    let health = HealthStatus::of(&host, host.catalog().get("fake").unwrap());
    assert!(!matches!(health, HealthStatus::Failing { .. }), "{health:?}");
    open_gate(&launcher).await;
    call_waiting(&session, None).await.unwrap();
    assert_eq!(record.starts().len(), 1, "nothing was started twice");
    assert!(host.starting_servers().is_empty());
    host.close().await;
}

#[tokio::test]
async fn the_reason_of_a_failed_install_is_told() {
    let deck = Deck::new();
    let launcher = Arc::new(FakeLauncher::failing(deck.dirs.root()));
    let deck = deck.entry("mcpServers", "fake", launcher.deck_entry(&FakePlan::default()));
    let (host, session) = deck.operator();
    let error = call_waiting(&session, Some(Duration::ZERO)).await.unwrap_err();
    assert_starting(&host, &error);
    let context = context();
    let request = session.request(&context);
    let (report, ()) = tokio::join!(check::check(&request, "fake"), open_gate(&launcher));
    assert_eq!(
        report.outcome.unwrap_err().message,
        "`fake` ended with exit code 1: npm error 404 Not Found - GET https://registry.example/fake"
    );
    host.close().await;
}
