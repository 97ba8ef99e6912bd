//! When servers are started, stopped, started again, and left alone for a while.

use capdeck_host::{LastFailure, check};
use capdeck_test::{FakePlan, fake::FakeFault};
use serde_json::json;

use crate::{
    deck::{Deck, agent, call, context, text},
    record::{is_alive, until, until_gone},
};

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_first_calls_start_one_process() {
    let deck = Deck::new();
    let record = deck.record("fake");
    let plan = FakePlan { record: record.path(), start_delay_ms: 200, ..FakePlan::default() };
    let deck = deck.server("fake", &plan, json!({}));
    let host = deck.open();
    let calls: Vec<_> = (0..16)
        .map(|number| {
            let session = agent(&host);
            tokio::spawn(async move { call(&session, "fake", "echo", json!({"n": number})).await })
        })
        .collect();
    for (number, calling) in calls.into_iter().enumerate() {
        let answer = calling.await.unwrap().unwrap();
        assert_eq!(text(&answer), format!(r#"{{"n":{number}}}"#));
    }
    assert_eq!(record.starts().len(), 1);
    assert_eq!(record.received("tools/list").len(), 1);
    host.close().await;
    until_gone(record.starts()[0]).await;
}

#[tokio::test]
async fn a_crashed_server_is_started_by_the_next_call() {
    let deck = Deck::new();
    let record = deck.record("fake");
    let plan = FakePlan { record: record.path(), ..FakePlan::default() };
    let deck = deck.server("fake", &plan, json!({}));
    let (host, session) = deck.operator();
    for _ in 0..2 {
        call(&session, "fake", "crash", json!({})).await.unwrap_err();
        assert_eq!(text(&call(&session, "fake", "echo", json!({})).await.unwrap()), "{}");
    }
    assert_eq!(record.starts().len(), 3);
    assert_eq!(LastFailure::of(&host, "fake"), None, "a success forgets the failure before it");
    host.close().await;
}

#[tokio::test]
async fn repeated_failures_back_off_and_a_check_tries_at_once() {
    let deck = Deck::new();
    let broken = FakePlan { exit_at_start: Some(3), record: None, ..FakePlan::default() };
    let starts = deck.dirs.root().join("starts");
    // A shell in front counts the starts: the fake server ends before it writes its record.
    let (program, arguments) = broken.command();
    let script = format!("echo x >> {}; exec \"$0\" \"$@\"", starts.display());
    let mut args = vec!["-c".to_owned(), script, program.display().to_string()];
    args.extend(arguments);
    // With an unknown era a program that ends is started once more, in case it ended because it was asked for its era.
    let entry = json!({
        "name": "Fake", "description": "A broken server", "command": "sh", "args": args,
        "protocolEra": "legacy",
    });
    let deck = deck.entry("mcpServers", "fake", entry);
    let (host, session) = deck.operator();
    let started = || std::fs::read_to_string(&starts).unwrap_or_default().lines().count();

    for tries in [1, 2] {
        let error = call(&session, "fake", "echo", json!({})).await.unwrap_err();
        assert_eq!(error.message, "`fake` ended with exit code 3");
        assert_eq!(started(), tries, "the first failure may be an accident");
    }
    let error = call(&session, "fake", "echo", json!({})).await.unwrap_err();
    assert_eq!(started(), 2, "nothing is started while it backs off");
    assert_eq!(error.code.as_str(), "SERVER_UNAVAILABLE");
    assert!(error.message.starts_with("`fake` failed to start 2 times, next try in 0."), "{error}");
    assert!(
        error.message.ends_with("the last error was: `fake` ended with exit code 3"),
        "{error}"
    );

    let report = check::check(&session.request(&context()), "fake").await;
    assert_eq!(report.outcome.unwrap_err().message, "`fake` ended with exit code 3");
    assert_eq!(started(), 3, "a person who asks is not put off");
    host.close().await;
}

#[tokio::test]
async fn waiting_callers_share_the_failure_of_one_start() {
    let deck = Deck::new();
    let record = deck.record("fake");
    let plan =
        FakePlan { initialize: FakeFault::Hang, record: record.path(), ..FakePlan::default() };
    let deck = deck.server("fake", &plan, json!({"startupTimeoutMs": 500}));
    let host = deck.open();
    let calls: Vec<_> = (0..8)
        .map(|_| {
            let session = agent(&host);
            tokio::spawn(async move { call(&session, "fake", "echo", json!({})).await })
        })
        .collect();
    for calling in calls {
        let error = calling.await.unwrap().unwrap_err();
        assert_eq!(error.code.as_str(), "SERVER_START_TIMEOUT", "{error}");
    }
    assert!(record.starts().len() <= 2, "{} processes were started", record.starts().len());
    host.close().await;
}

#[tokio::test]
async fn an_idle_server_is_stopped_and_started_again() {
    let deck = Deck::new();
    let record = deck.record("fake");
    let plan = FakePlan { record: record.path(), ..FakePlan::default() };
    let deck = deck.server("fake", &plan, json!({"idleTimeoutMs": 300}));
    let (host, session) = deck.operator();
    call(&session, "fake", "echo", json!({})).await.unwrap();
    let first = record.starts()[0];
    until_gone(first).await;
    // A call longer than the idle time is not idleness.
    call(&session, "fake", "wait", json!({"ms": 900})).await.unwrap();
    assert_eq!(record.starts().len(), 2);
    until_gone(record.starts()[1]).await;
    host.close().await;
}

#[tokio::test]
async fn closing_ends_servers_that_do_not_want_to_go_and_what_they_started() {
    let deck = Deck::new();
    let record = deck.record("fake");
    let plan = FakePlan {
        ignore_sigterm: true,
        ignore_stdin_close: true,
        record: record.path(),
        ..FakePlan::default()
    };
    let deck = deck.server("fake", &plan, json!({}));
    let (host, session) = deck.operator();
    let answer = call(&session, "fake", "grandchild", json!({})).await.unwrap();
    let grandchild: u64 = text(&answer).parse().unwrap();
    let server = record.starts()[0];
    assert!(is_alive(server) && is_alive(grandchild));
    host.close().await;
    assert!(!is_alive(server) && !is_alive(grandchild), "closing waits until they are gone");
}

#[tokio::test]
async fn a_removed_or_changed_definition_ends_its_process() {
    let deck = Deck::new();
    let record = deck.record("fake");
    let plan = FakePlan { record: record.path(), ..FakePlan::default() };
    let deck = deck.server("fake", &plan, json!({}));
    let (host, session) = deck.operator();
    call(&session, "fake", "echo", json!({})).await.unwrap();
    let deck = deck.server("fake", &plan, json!({"callTimeoutMs": 5000}));
    host.reload();
    until_gone(record.starts()[0]).await;
    call(&session, "fake", "echo", json!({})).await.unwrap();
    let second = record.starts()[1];
    let _changed = deck.entry(
        "mcpServers",
        "fake",
        json!({"name": "F", "description": "Off for now", "command": "true", "disabled": true}),
    );
    host.reload();
    until_gone(second).await;
    let error = call(&session, "fake", "echo", json!({})).await.unwrap_err();
    assert_eq!(error.code.as_str(), "SERVER_NOT_FOUND");
    host.close().await;
}

#[tokio::test]
async fn a_session_with_its_own_connections_ends_them_when_closed() {
    let deck = Deck::new();
    let record = deck.record("fake");
    let plan = FakePlan { record: record.path(), ..FakePlan::default() };
    let deck = deck.server("fake", &plan, json!({}));
    let host = deck.open();
    let client = crate::client::ScriptedClient::new("ada");
    let session = client.agent(&host, &["elicitation"]);
    call(&session, "fake", "echo", json!({})).await.unwrap();
    let pid = until("the start", || record.starts().first().copied()).await;
    session.close().await;
    assert!(!is_alive(pid), "closing a session waits for its processes");
    host.close().await;
}
