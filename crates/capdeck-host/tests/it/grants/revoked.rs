//! What is taken back is gone with the next request, also inside of what is going on.

use capdeck_definition::Exposure;
use capdeck_host::{ErrorCode, artifacts, resources};
use serde_json::json;

use super::{
    book::{Book, Granted, granted, guest},
    opened,
};
use crate::deck::{Deck, call, call_listed, caplet, context, listed, text};

#[tokio::test]
async fn item_13_the_next_call_fails_and_the_next_list_is_empty() {
    let book = Book::of(granted(&["open"], &[], &[]));
    let (host, session, _deck) = opened(&book, Exposure::Direct);
    assert!(call(&session, "open", "tool_00000", json!({})).await.is_ok());
    assert!(listed(&session).await.contains(&"open__tool_00000".to_owned()));
    book.set(None);
    assert!(listed(&session).await.is_empty());
    let error = call(&session, "open", "tool_00000", json!({})).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::ServerNotFound);
    // What is granted again is there without another session.
    book.set(Some(granted(&["sayer"], &[], &[])));
    assert_eq!(listed(&session).await, ["sayer__say"]);
    assert!(call(&session, "sayer", "say", json!({})).await.is_ok());
    book.set(Some(Granted { may_call: false, ..granted(&["sayer"], &[], &[]) }));
    let error = call(&session, "sayer", "say", json!({})).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::Denied);
    host.close().await;
}

#[tokio::test]
async fn item_13_a_script_that_runs_loses_it_too() {
    let book = Book::of(granted(&["open", "sayer"], &[], &[]));
    let (host, session, _deck) = opened(&book, Exposure::CodeModeAndSearch);
    let first =
        "globalThis.open = caplets.open; await globalThis.open.tool_00000({}); return 'kept';";
    let ran = call_listed(&session, "code_mode", json!({ "code": first })).await.unwrap().unwrap();
    let id = ran["structuredContent"]["meta"]["sessionId"].as_str().map(str::to_owned);
    assert!(text(&ran).contains("kept"), "{ran}");
    book.set(Some(granted(&["sayer"], &[], &[])));
    let again = "try { await globalThis.open.tool_00000({}); return 'still there'; } catch (error) { return String(error); }";
    let mut arguments = json!({ "code": again });
    if let Some(id) = id {
        arguments["sessionId"] = json!(id);
    }
    let ran = call_listed(&session, "code_mode", arguments).await.unwrap().unwrap();
    assert!(!text(&ran).contains("still there"), "{ran}");
    host.close().await;
}

#[tokio::test]
async fn security_18_artifacts_of_others_are_not_read() {
    let big = caplet(&json!({
        "name": "Big",
        "description": "Prints a lot",
        "cliTools": { "actions": { "print": {
            "command": "seq", "args": ["1", "200000"], "description": "Prints numbers"
        } } },
    }));
    let host = Deck::new().file("config/big.md", &big).open();
    let (mine, theirs) =
        (Book::of(granted(&["big"], &[], &[])), Book::of(granted(&["big"], &[], &[])));
    let (mine, other) =
        (guest(&host, &mine, Exposure::Direct), guest(&host, &theirs, Exposure::Direct));
    let answer = call(&mine, "big", "print", json!({})).await.unwrap().to_string();
    let start = answer.find("capdeck://artifacts/").unwrap();
    let uri: String =
        answer.chars().skip(start).take_while(|one| !"\"?\\ ".contains(*one)).collect();
    assert!(
        resources::read(
            &mine.request(&context()),
            &format!("{uri}?offset=0&length=10"),
            Default::default()
        )
        .await
        .is_ok()
    );
    let hidden =
        resources::read(&other.request(&context()), &uri, Default::default()).await.unwrap_err();
    let absent = uri.replace("big", "bag");
    let unknown =
        resources::read(&other.request(&context()), &absent, Default::default()).await.unwrap_err();
    assert_eq!(hidden.code, unknown.code);
    assert_eq!(hidden.message.replace("big", "bag"), unknown.message);
    assert!(artifacts::list(&other.snapshot()).is_empty());
    host.close().await;
}
