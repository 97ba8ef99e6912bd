//! A server of both eras is spoken to in the era of each client, so that neither loses what it can be asked.

use std::{sync::Arc, time::Duration};

use capdeck_definition::CapabilityId;
use capdeck_host::{
    CallContext, ClientProfile, Host, Principal, RawMembers, Session, SessionContinuity,
    SessionScope, SessionSettings, TaskForm, ViewPolicy, calls, transparent,
};
use capdeck_test::{FakePlan, fake::FakeEra};
use serde_json::{Value, json};

use crate::{
    client::ScriptedClient,
    deck::{Deck, context, listed, raw, request, text, value},
    record::Record,
};

fn deck_of(era: FakeEra) -> (Deck, Record) {
    let deck = Deck::new();
    let record = deck.record("fake");
    let plan = FakePlan { era, record: record.path(), ..FakePlan::default() };
    (deck.server("fake", &plan, json!({})), record)
}

fn modern(host: &Host, scope: SessionScope) -> Arc<Session> {
    let capabilities: RawMembers =
        [("elicitation".to_owned(), raw(&json!({})))].into_iter().collect();
    host.session(SessionSettings {
        scope,
        principal: Principal::local(),
        client_name: "grace".to_owned(),
        client: ClientProfile { info: None, capabilities },
        listener: ScriptedClient::new("grace"),
        tasks: TaskForm::Awaited,
        continuity: SessionContinuity::Requests,
        access: None,
        shares_files: false,
    })
}

fn deck_scope() -> SessionScope {
    SessionScope::Deck(ViewPolicy::default())
}

async fn ask(client: &Arc<ScriptedClient>, session: &Session) -> Value {
    let asked = request("fake", "ask_elicitation", json!({}));
    let answer = calls::call(session.request(&client.context()), &asked).await.unwrap();
    serde_json::from_str(text(&value(&answer))).unwrap()
}

async fn echo(session: &Session) {
    let asked = request("fake", "echo", json!({"a": 1}));
    calls::call(session.request(&context()), &asked).await.unwrap();
}

async fn revision(session: &Session) -> String {
    let waiting = CallContext::detached(Duration::from_secs(10));
    let facts = transparent::server_facts(&session.request(&waiting), "fake").await.unwrap();
    facts.protocol_version
}

#[tokio::test]
async fn clients_of_each_era_are_served_in_their_own() {
    let (deck, record) = deck_of(FakeEra::Both);
    let host = deck.open();
    echo(&host.operator()).await;
    let new = modern(&host, deck_scope());
    echo(&new).await;
    let client = ScriptedClient::new("ada");
    let old = client.agent(&host, &["elicitation"]);
    let answer = ask(&client, &old).await;
    assert_eq!(answer["result"]["content"]["name"], "ada", "{answer}");
    // The modern client shares its connection with everyone; the legacy one has shaken hands.
    assert_eq!(record.received("initialize").len(), 1);
    assert_eq!(record.received("initialize")[0]["capabilities"], json!({"elicitation": {}}));
    assert!(!old.shares_connection("fake"));
    assert!(new.shares_connection("fake"));
    echo(&new).await;
    assert_eq!(record.starts().len(), 2, "one for everyone, and one for the legacy client");
    for session in [old, new] {
        session.close().await;
    }
    host.close().await;
}

#[tokio::test]
async fn the_era_of_a_mirrored_server_is_the_clients() {
    for (era, legacy, modern_era) in [
        (FakeEra::Both, "2025-11-25", "2026-07-28"),
        (FakeEra::Legacy, "2025-11-25", "2025-11-25"),
        (FakeEra::Modern, "2026-07-28", "2026-07-28"),
    ] {
        let (deck, _record) = deck_of(era);
        let host = deck.open();
        let mirror = || SessionScope::Transparent(CapabilityId::new("fake").unwrap());
        let old = ScriptedClient::new("ada").session(&host, mirror(), &["elicitation"]);
        let new = modern(&host, mirror());
        for _ in 0..2 {
            assert_eq!(revision(&old).await, legacy, "{era:?}");
            assert_eq!(revision(&new).await, modern_era, "{era:?}");
        }
        for session in [old, new] {
            session.close().await;
        }
        host.close().await;
    }
}

#[tokio::test]
async fn what_a_server_speaks_is_remembered_and_asked_once() {
    for era in [FakeEra::Modern, FakeEra::Legacy] {
        let (deck, record) = deck_of(era);
        for _ in 0..2 {
            let host = deck.open();
            let old = ScriptedClient::new("ada").agent(&host, &["elicitation"]);
            let plain = host.operator();
            for session in [&old, &plain, &old, &plain] {
                echo(session).await;
            }
            for session in [old, plain] {
                session.close().await;
            }
            host.close().await;
        }
        let (handshakes, probes) =
            (record.received("initialize").len(), record.received("server/discover").len());
        match era {
            // Refused once; every later connection begins with the other era.
            FakeEra::Modern => assert_eq!(handshakes, 1, "{probes} probes"),
            _ => assert_eq!(probes, 1, "{handshakes} handshakes"),
        }
    }
}

#[tokio::test]
async fn the_list_of_a_server_of_both_eras_is_not_read_for_every_client() {
    let (deck, record) = deck_of(FakeEra::Both);
    let host = deck.open();
    let new = modern(&host, deck_scope());
    listed(&new).await;
    echo(&new).await;
    let lists = record.received("tools/list").len();
    for name in ["ada", "bob", "eve"] {
        let client = ScriptedClient::new(name);
        let old = client.agent(&host, &["elicitation"]);
        ask(&client, &old).await;
        old.close().await;
    }
    host.close().await;
    assert_eq!(record.received("tools/list").len(), lists);
}
