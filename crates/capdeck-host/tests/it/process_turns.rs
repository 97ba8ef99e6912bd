//! Processes that run for single clients are bounded: clients take turns, first come first served.

use std::{sync::Arc, time::Duration};

use capdeck_host::{CallContext, CallError, Host, Session, calls};
use capdeck_test::FakePlan;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::{
    client::ScriptedClient,
    deck::{Deck, context, request, text, value},
    record::{Record, is_alive, until},
};

fn bounded(most: u32) -> (Host, Record, Deck) {
    let deck = Deck::new();
    let record = deck.record("fake");
    let plan = FakePlan { record: record.path(), ..FakePlan::default() };
    let deck = deck.server("fake", &plan, json!({ "maxProcesses": most }));
    (deck.open(), record, deck)
}

fn client(host: &Host, name: &str) -> Arc<Session> {
    ScriptedClient::new(name).agent(host, &["elicitation"])
}

async fn call(session: &Session, tool: &str, context: &CallContext) -> Result<Value, CallError> {
    let asked = request("fake", tool, json!({"a": 1}));
    calls::call(session.request(context), &asked).await.map(|answer| value(&answer))
}

/// A call that holds its process until it is cancelled.
async fn hold(session: &Arc<Session>, record: &Record) -> (CallContext, JoinHandle<()>) {
    let (session, held) = (session.clone(), context());
    let before = record.calls();
    let calling = held.clone();
    let call = tokio::spawn(async move {
        assert!(call(&session, "hang", &calling).await.is_err());
    });
    until("the call", || (record.calls() > before).then_some(())).await;
    (held, call)
}

fn names(record: &Record) -> Vec<String> {
    let hellos = record.received("initialize");
    hellos.iter().map(|hello| hello["clientInfo"]["name"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn a_process_that_is_not_used_makes_room_for_another_client() {
    let (host, record, _deck) = bounded(2);
    let sessions: Vec<_> = ["ada", "bob", "eve"].map(|name| client(&host, name)).into();
    for session in &sessions {
        call(session, "echo", &context()).await.unwrap();
    }
    assert_eq!(record.starts().len(), 3);
    let running = || record.starts().into_iter().filter(|process| is_alive(*process)).count();
    until("the end of one", || (running() == 2).then_some(())).await;
    // Its client gets another one, and notices nothing.
    for session in &sessions {
        call(session, "echo", &context()).await.unwrap();
    }
    assert!(record.starts().len() > 3);
    until("the end of one more", || (running() == 2).then_some(())).await;
    for session in sessions {
        session.close().await;
    }
    host.close().await;
}

#[tokio::test]
async fn the_longest_wait_is_served_next_and_a_wait_has_an_end() {
    let (host, record, _deck) = bounded(2);
    let [ada, bob, eve, joe, max] =
        ["ada", "bob", "eve", "joe", "max"].map(|name| client(&host, name));
    let (first, holding) = hold(&ada, &record).await;
    let (second, holding_too) = hold(&bob, &record).await;
    let short = CallContext { timeout: Some(Duration::from_millis(200)), ..context() };
    let error = call(&max, "echo", &short).await.unwrap_err();
    assert_eq!(error.code.as_str(), "SERVER_UNAVAILABLE");
    assert!(error.message.contains("runs 2 processes for other clients"), "{error}");
    assert!(error.hint.as_ref().unwrap().contains("`maxProcesses`"), "{:?}", error.hint);
    // What the host refuses is not a failure of the server, and a later try is not held back.
    assert_eq!(capdeck_host::LastFailure::of(&host, "fake"), None);
    let waiting: Vec<_> = [&eve, &joe]
        .map(|session| {
            let session = session.clone();
            tokio::spawn(async move { call(&session, "echo", &context()).await.unwrap() })
        })
        .into();
    // One process is free now, and again when its new client does not use it.
    first.cancel.cancel();
    for answer in waiting {
        let answer = answer.await.unwrap();
        assert_eq!(text(&answer), r#"{"a":1}"#);
    }
    second.cancel.cancel();
    for held in [holding, holding_too] {
        held.await.unwrap();
    }
    assert_eq!(names(&record)[2..], ["eve", "joe"]);
    for session in [ada, bob, eve, joe, max] {
        session.close().await;
    }
    host.close().await;
}

#[tokio::test]
async fn one_process_serves_all_clients_where_the_definition_says_so() {
    let (host, record, _deck) = bounded(1);
    let sessions: Vec<_> = ["ada", "bob", "eve"].map(|name| client(&host, name)).into();
    for session in &sessions {
        call(session, "echo", &context()).await.unwrap();
        assert!(session.shares_connection("fake"));
    }
    assert_eq!(record.starts().len(), 1);
    assert_eq!(record.received("initialize")[0]["capabilities"], json!({}));
    for session in sessions {
        session.close().await;
    }
    host.close().await;
}

#[tokio::test]
async fn the_processes_of_a_silent_client_end_and_start_again() {
    let (host, record, _deck) = bounded(8);
    let ada = client(&host, "ada");
    call(&ada, "echo", &context()).await.unwrap();
    let (held, holding) = hold(&ada, &record).await;
    ada.end_unused_processes();
    held.cancel.cancel();
    holding.await.unwrap();
    assert_eq!(record.starts().len(), 1, "a process in use goes on");
    let first = record.starts()[0];
    // Its list may be being read at the moment.
    let end = || {
        ada.end_unused_processes();
        (!is_alive(first)).then_some(())
    };
    until("the end of the process", end).await;
    call(&ada, "echo", &context()).await.unwrap();
    assert_eq!(record.starts().len(), 2);
    ada.close().await;
    host.close().await;
}
