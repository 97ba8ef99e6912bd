//! Files that change under a running host.

use std::sync::Arc;

use capdeck_catalog::CapabilityStatus;
use capdeck_host::{Host, HostEvent, Session, TrustStore, watch_files};
use serde_json::json;
use tokio::sync::broadcast::Receiver;

use crate::deck::{Deck, TEST_TIMEOUT, call, saying};

/// Waits for events until the fact holds.
async fn after_events(events: &mut Receiver<HostEvent>, what: &str, fact: impl Fn() -> bool) {
    let waiting = async {
        while !fact() {
            events.recv().await.unwrap();
        }
    };
    tokio::time::timeout(TEST_TIMEOUT, waiting)
        .await
        .unwrap_or_else(|_| panic!("no event: {what}"));
}

fn watching(deck: &Deck) -> (Host, Arc<Session>, Receiver<HostEvent>) {
    let (host, session) = deck.operator();
    watch_files(&host).unwrap();
    let events = host.events();
    (host, session, events)
}

async fn said(session: &Session, id: &str) -> String {
    let answer = call(session, id, "say", json!({})).await.unwrap();
    answer["structuredContent"]["stdout"].as_str().unwrap().to_owned()
}

fn fingerprint(host: &Host, id: &str) -> Option<String> {
    host.catalog().get(id).map(|capability| capability.definition.fingerprint.clone())
}

#[tokio::test(flavor = "multi_thread")]
async fn edits_additions_and_deletions_are_followed() {
    let deck = Deck::new().file("config/sayer.md", &saying("one"));
    let (host, session, mut events) = watching(&deck);
    assert_eq!(said(&session, "sayer").await, "one");

    let before = fingerprint(&host, "sayer");
    deck.dirs.write("config/sayer.md", saying("two"));
    after_events(&mut events, "edit", || fingerprint(&host, "sayer") != before).await;
    assert_eq!(said(&session, "sayer").await, "two");

    deck.dirs.write("config/added.md", saying("added"));
    after_events(&mut events, "add", || host.catalog().get("added").is_some()).await;
    assert_eq!(said(&session, "added").await, "added");

    deck.dirs.write("config/folder/CAPLET.md", saying("folder"));
    after_events(&mut events, "add a folder", || host.catalog().get("folder").is_some()).await;
    let before = fingerprint(&host, "folder");
    deck.dirs.write("config/folder/CAPLET.md", saying("folder again"));
    after_events(&mut events, "edit in a folder", || fingerprint(&host, "folder") != before).await;
    assert_eq!(said(&session, "folder").await, "folder again");

    std::fs::remove_file(deck.dirs.config().join("sayer.md")).unwrap();
    after_events(&mut events, "delete", || host.catalog().get("sayer").is_none()).await;
    let error = call(&session, "sayer", "say", json!({})).await.unwrap_err();
    assert_eq!(error.code.as_str(), "SERVER_NOT_FOUND");
    host.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broken_edit_keeps_the_last_good_form_until_it_is_fixed() {
    let deck = Deck::new().file("config/sayer.md", &saying("good"));
    let (host, session, mut events) = watching(&deck);
    let status = || host.catalog().get("sayer").unwrap().status.clone();
    assert_eq!(status(), CapabilityStatus::Ready);

    deck.dirs.write("config/sayer.md", saying("bad").replace("cliTools", "cliToolz"));
    after_events(&mut events, "break", || status() != CapabilityStatus::Ready).await;
    let CapabilityStatus::Stale { reason } = status() else { panic!("{:?}", status()) };
    assert!(reason.contains("cliToolz"), "{reason}");
    assert_eq!(said(&session, "sayer").await, "good");
    assert_eq!(host.catalog().quarantined().len(), 1);

    deck.dirs.write("config/sayer.md", saying("fixed"));
    after_events(&mut events, "fix", || status() == CapabilityStatus::Ready).await;
    assert_eq!(said(&session, "sayer").await, "fixed");
    assert_eq!(host.catalog().quarantined().len(), 0);
    host.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deck_that_appears_later_is_noticed() {
    let deck = Deck::new();
    std::fs::remove_dir(deck.dirs.config()).unwrap();
    let (host, session, mut events) = watching(&deck);
    deck.dirs.write("config/sayer.md", saying("late"));
    after_events(&mut events, "a new root", || host.catalog().get("sayer").is_some()).await;
    assert_eq!(said(&session, "sayer").await, "late");
    host.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn trust_given_by_another_process_is_noticed() {
    let deck = Deck::new().file("project/.capdeck/sayer.md", &saying("project"));
    let (host, session, mut events) = watching(&deck);
    call(&session, "sayer", "say", json!({})).await.unwrap_err();
    let hash = host.deck().project_hash.clone().unwrap();
    TrustStore::new(&deck.dirs.state()).trust(&deck.dirs.project(), &hash).unwrap();
    let usable = || host.catalog().get("sayer").is_some_and(|sayer| sayer.is_usable());
    after_events(&mut events, "trust", usable).await;
    assert_eq!(said(&session, "sayer").await, "project");
    host.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_config_that_cannot_be_read_keeps_what_it_declared() {
    let entry = json!({"name": "Sayer", "description": "Says one word on request",
        "actions": {"say": {"command": "printf", "args": ["config"]}}});
    let deck =
        Deck::new().entry("cliTools", "sayer", entry).file("config/other.md", &saying("other"));
    let (host, session, mut events) = watching(&deck);
    assert_eq!(said(&session, "sayer").await, "config");
    deck.dirs.write("config/config.json", "{ \"cliTools\": ");
    let stale = || {
        let catalog = host.catalog();
        matches!(
            catalog.get("sayer").map(|one| one.status.clone()),
            Some(CapabilityStatus::Stale { .. })
        )
    };
    after_events(&mut events, "break the config", stale).await;
    assert_eq!(said(&session, "sayer").await, "config");
    assert_eq!(said(&session, "other").await, "other");
    host.close().await;
}
