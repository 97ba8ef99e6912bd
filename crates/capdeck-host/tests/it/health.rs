//! How capabilities do: counted over calls and processes, and blamed only on those who failed.

use capdeck_host::{HealthStatus, Host, LastFailure, check, list_items};
use capdeck_test::FakePlan;
use serde_json::json;

use crate::{
    deck::{Deck, agent, call, call_listed, context, text},
    record::{until, until_gone},
};

fn health(host: &Host, id: &str) -> HealthStatus {
    let catalog = host.catalog();
    let items = list_items(host, &catalog);
    let listed = items.into_iter().find(|item| item.id == id).unwrap().health;
    assert_eq!(HealthStatus::of(host, catalog.get(id).unwrap()), listed);
    listed
}

/// A server that ends with this exit code as soon as it is started.
fn ending(code: i32) -> FakePlan {
    let line = Some("no database here".to_owned());
    FakePlan { exit_at_start: Some(code), stderr_line: line, ..FakePlan::default() }
}

#[tokio::test]
async fn failures_are_counted_over_processes_until_it_answers() {
    let deck = Deck::new().server("fake", &ending(3), json!({})).server(
        "other",
        &FakePlan::default(),
        json!({}),
    );
    let first = {
        let (host, session) = deck.operator();
        assert_eq!(health(&host, "fake"), HealthStatus::Unchecked);
        check::check(&session.request(&context()), "fake").await.outcome.unwrap_err();
        let HealthStatus::Failing { since, times: 1, .. } = health(&host, "fake") else {
            panic!("{:?}", health(&host, "fake"))
        };
        host.close().await;
        since
    };
    let (host, session) = deck.operator();
    let error = check::check(&session.request(&context()), "fake").await.outcome.unwrap_err();
    let HealthStatus::Failing { since, last_at, times, reason } = health(&host, "fake") else {
        panic!("{:?}", health(&host, "fake"))
    };
    assert_eq!((since, times, &reason), (first, 2, &error.message));
    assert!(last_at > since);
    call(&session, "other", "echo", json!({})).await.unwrap();
    assert!(matches!(health(&host, "other"), HealthStatus::Ok { .. }));
    // A host that runs already learns what another process finds out.
    let (second, other_session) = deck.operator();
    assert!(matches!(health(&second, "other"), HealthStatus::Ok { .. }));
    check::check(&other_session.request(&context()), "fake").await.outcome.unwrap_err();
    // Read once per look: the other process may write between two readings.
    let now = || HealthStatus::of(&host, host.catalog().get("fake").unwrap());
    let is_known = || matches!(now(), HealthStatus::Failing { times: 3, .. });
    until("the other failure", || is_known().then_some(())).await;
    second.close().await;
    host.close().await;
    // Another definition has another story.
    let deck = deck.server("fake", &FakePlan::default(), json!({}));
    let (host, session) = deck.operator();
    assert_eq!(health(&host, "fake"), HealthStatus::Unchecked);
    check::check(&session.request(&context()), "fake").await.outcome.unwrap();
    assert!(matches!(health(&host, "fake"), HealthStatus::Ok { .. }));
    host.close().await;
}

#[tokio::test]
async fn what_the_host_stops_did_not_fail() {
    let deck = Deck::new();
    let record = deck.record("fake");
    let plan = FakePlan { record: record.path(), ..FakePlan::default() };
    let deck = deck.server("fake", &plan, json!({}));
    let (host, session) = deck.operator();
    let calling = {
        let session = session.clone();
        tokio::spawn(async move { call(&session, "fake", "hang", json!({})).await })
    };
    until("the call", || (record.calls() == 1).then_some(())).await;
    host.close().await;
    let error = calling.await.unwrap().unwrap_err();
    assert!(!error.message.contains("exit code"), "{error}");
    until_gone(record.starts()[0]).await;
    assert_eq!(LastFailure::of(&host, "fake"), None);
    let host = deck.open();
    assert!(!matches!(health(&host, "fake"), HealthStatus::Failing { .. }));
    host.close().await;
}

#[tokio::test]
async fn a_server_that_leaves_in_the_middle_of_a_call_failed() {
    let (program, arguments) = FakePlan::default().command();
    let script = "\"$0\" \"$@\"; echo goodbye >&2; exit 0";
    let mut args = vec!["-c".to_owned(), script.to_owned(), program.display().to_string()];
    args.extend(arguments);
    let entry = json!({"name": "Fake", "description": "Leaves with success.", "command": "bash", "args": args});
    let deck = Deck::new().entry("mcpServers", "fake", entry);
    let (host, session) = deck.operator();
    for times in 1..=3 {
        let error = call(&session, "fake", "crash", json!({})).await.unwrap_err();
        assert!(error.message.starts_with("`fake` ended with exit code 0"), "{error}");
        // Its last words once, and not those of the process before.
        assert_eq!(error.message.matches("goodbye").count(), 1, "{error}");
        let failing = health(&host, "fake");
        assert!(
            matches!(failing, HealthStatus::Failing { times: counted, .. } if counted == times),
            "{failing:?}"
        );
    }
    host.close().await;
}

#[tokio::test]
async fn an_agent_that_searches_learns_what_fails() {
    let deck = Deck::of(&FakePlan::default());
    let host = deck.open();
    let session = agent(&host);
    let asked = json!({"query": "echo"});
    let found = call_listed(&session, "search", asked.clone()).await.unwrap().unwrap();
    assert!(!text(&found).contains("failing"), "{found}");
    let crash = json!({"name": "fake__crash", "data": {}});
    call_listed(&session, "call_tool", crash).await.unwrap_err();
    let found = call_listed(&session, "search", asked).await.unwrap().unwrap();
    assert!(text(&found).contains("  failing since "), "{found}");
    let item = &found["structuredContent"]["items"][0];
    assert!(item["health"].as_str().unwrap().contains("(once): `fake` was ended by "), "{item}");
    let name = json!({"name": "fake__echo"});
    let described = call_listed(&session, "describe", name).await.unwrap().unwrap();
    assert!(text(&described).contains("`fake` is failing since "), "{described}");
    let call_echo = json!({"name": "fake__echo", "data": {}});
    call_listed(&session, "call_tool", call_echo).await.unwrap();
    assert!(matches!(health(&host, "fake"), HealthStatus::Ok { .. }));
    host.close().await;
}
