//! Capsules in the deck of somebody who was granted some of them.

use std::sync::Arc;

use capdeck_definition::Exposure;
use capdeck_host::{
    Access, Author, CapsuleCaller, CapsuleDesk, CapsuleOperation, ErrorCode, Granted,
    GrantedCapsule, Host, LocalDesk, Role, Session, StoreOptions,
};
use serde_json::{Value, json};

use super::book::{Book, granted, guest};
use crate::deck::{Deck, agent_with, call, call_listed, listed, saying};

async fn opened(names: &[&str]) -> (Host, Deck) {
    let deck = Deck::new().file("config/sayer.md", &saying("hello"));
    let desk = LocalDesk::open(&deck.dirs.data(), StoreOptions::default()).await.unwrap();
    for name in names {
        let name = (*name).to_owned();
        let create = CapsuleOperation::CreateCapsule { name, description: None, visibility: None };
        let caller = CapsuleCaller::local(Author::client("test"));
        desk.ask(caller.request(None, create)).await.unwrap();
    }
    let mut settings = deck.settings();
    settings.capsules = Some(Arc::new(desk));
    (Host::open(settings), deck)
}

fn on(capsule: &str, role: Role) -> GrantedCapsule {
    let access = Access { role, ..Access::owner() };
    GrantedCapsule { capsule: capsule.to_owned(), access }
}

fn capsules(granted: &[GrantedCapsule]) -> Granted {
    Granted { capsules: granted.to_vec(), ..Granted::default() }
}

async fn tool(session: &Session, name: &str, arguments: Value) -> Value {
    let answer = call(session, "capsules", name, arguments).await.unwrap();
    answer["structuredContent"].clone()
}

async fn ids(session: &Session) -> Vec<String> {
    let answer = tool(session, "capsol_capsules", json!({ "action": "list" })).await;
    let listed = answer["capsules"].as_array().unwrap().iter();
    listed.map(|one| one["id"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn item_13_new_grants_appear_without_a_new_session() {
    let (host, _deck) = opened(&["One", "Two"]).await;
    let book = Book::of(capsules(&[on("one", Role::Writer)]));
    let session = guest(&host, &book, Exposure::Direct);
    assert!(listed(&session).await.iter().all(|name| name.starts_with("capsules__capsol_")));
    assert_eq!(ids(&session).await, ["one"]);
    let write = json!({ "uri": "docs://a", "content": "words to find" });
    let written = tool(&session, "capsol_write", write.clone()).await;
    assert_eq!(written["version"], 1, "{written}");
    book.set(Some(capsules(&[on("one", Role::Reader), on("two", Role::Reader)])));
    assert_eq!(ids(&session).await, ["one", "two"]);
    let refused = tool(&session, "capsol_write", write.clone()).await;
    assert_eq!(refused["error"]["code"], "capsule_required", "{refused}");
    let mount = json!({ "action": "mount", "capsule": "one" });
    tool(&session, "capsol_capsules", mount).await;
    let refused = tool(&session, "capsol_write", write).await;
    assert_eq!(refused["error"]["code"], "forbidden_role", "{refused}");
    // A mounted capsule that was taken back is none that is left.
    book.set(Some(capsules(&[on("two", Role::Reader)])));
    let gone = tool(&session, "capsol_read", json!({ "uri": "docs://a" })).await;
    assert_eq!(gone["error"]["code"], "not_found", "{gone}");
    book.set(Some(Granted::default()));
    assert!(listed(&session).await.is_empty());
    let error = call(&session, "capsules", "capsol_read", json!({})).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::ServerNotFound);
    host.close().await;
}

#[tokio::test]
async fn item_14_search_finds_entries_of_granted_capsules_only() {
    let (host, _deck) = opened(&["One", "Two"]).await;
    let owner = agent_with(&host, Some(Exposure::Direct));
    for capsule in ["one", "two"] {
        let entry = json!({ "capsule": capsule, "uri": "docs://a", "content": "words to find" });
        tool(&owner, "capsol_write", entry).await;
    }
    let book = Book::of(capsules(&[on("two", Role::Reader)]));
    let session = guest(&host, &book, Exposure::Search);
    let found = call_listed(&session, "search", json!({ "query": "words find" })).await;
    let found = found.unwrap().unwrap()["structuredContent"].clone();
    let entries = found["entries"].as_array().unwrap();
    assert_eq!(entries.len(), 1, "{found}");
    assert_eq!(entries[0]["capsule"], "two");
    assert!(!found.to_string().contains("sayer"));
    host.close().await;
}

#[tokio::test]
async fn the_author_and_the_memory_are_the_principals() {
    let (host, _deck) = opened(&["One"]).await;
    let book = Book::of(Granted {
        capsules: vec![on("one", Role::Writer)],
        ..granted(&["sayer"], &[], &[])
    });
    let session = guest(&host, &book, Exposure::Direct);
    assert!(listed(&session).await.contains(&"sayer__say".to_owned()));
    let set = json!({ "action": "set", "key": "where", "value": "here" });
    tool(&session, "capsol_memory", set).await;
    let get = json!({ "action": "get", "key": "where" });
    assert_eq!(tool(&session, "capsol_memory", get.clone()).await["value"], "here");
    let owner = agent_with(&host, Some(Exposure::Direct));
    assert_ne!(tool(&owner, "capsol_memory", get).await["value"], "here");
    assert_eq!(session.capsule_caller().author.principal.as_deref(), Some("prn_1"));
    host.close().await;
}

#[tokio::test]
async fn calls_of_capsules_need_no_calls_of_the_deck() {
    let (host, _deck) = opened(&["One"]).await;
    let mut both = granted(&["*"], &[], &["capsules/capsol_signal"]);
    both.may_call = false;
    both.capsules = vec![on("one", Role::Writer)];
    let session = guest(&host, &Book::of(both), Exposure::Direct);
    let names = listed(&session).await;
    assert!(names.contains(&"sayer__say".to_owned()));
    assert!(!names.contains(&"capsules__capsol_signal".to_owned()));
    let entry = json!({ "uri": "docs://a", "content": "x" });
    assert_eq!(tool(&session, "capsol_write", entry).await["version"], 1);
    let refused = call(&session, "sayer", "say", json!({})).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::Denied);
    host.close().await;
}
