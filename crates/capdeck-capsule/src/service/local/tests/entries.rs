//! Entries, signals and memory of one capsule.

use std::collections::BTreeMap;

use crate::{PatchStep, RiskClass, Scheme};
use base64::{Engine as _, engine::general_purpose::STANDARD};

use super::*;

#[tokio::test]
async fn what_is_written_is_read_with_its_provenance() {
    let fixture = ServiceFixture::with(&["Team"]).await;
    let written = fixture.write(None, "docs://a", "# Title\n\nplain prose").await;
    assert_eq!(written["capsule"], "team");
    assert_eq!((&written["version"], &written["created"]), (&json!(1), &json!(true)));
    let whole = fixture.ask(Some("TEAM"), read("docs://a")).await.unwrap();
    assert_eq!(whole["body"], "# Title\n\nplain prose");
    assert_eq!(whole["title"], "Title");
    assert_eq!((&whole["written_by"], &whole["client"]), (&json!("local"), &json!("tester")));
    assert_eq!(whole["mime_type"], "text/markdown");
    assert!(whole["text"].as_str().unwrap().contains("PROVENANCE"));
    let uri = "docs://a".to_owned();
    let meta = ReadRequest { uri, version: Some(1), body: ReadBody::Meta };
    let meta = fixture.ask(None, meta).await.unwrap();
    assert_eq!((meta.get("body"), meta.get("text")), (None, None));
    let found = fixture.ask(Some("capsol://team"), search("prose")).await.unwrap();
    assert_eq!(found["total"], 1);
    assert_eq!(uris(&found, "hits"), ["docs://a"]);
    assert_eq!(uris(&fixture.ask(None, listing()).await.unwrap(), "entries"), ["docs://a"]);
    let overview = fixture.ask(None, OverviewRequest).await.unwrap();
    assert_eq!(overview["name"], "Team");
    assert_eq!(uris(&overview, "recent"), ["docs://a"]);
}

#[tokio::test]
async fn a_key_of_a_request_is_not_shown_again() {
    let fixture = ServiceFixture::with(&["Team"]).await;
    let keyed = WriteRequest {
        uri: "docs://a".to_owned(),
        content: Some("x".to_owned()),
        idempotency_key: Some("k".to_owned()),
        ..WriteRequest::default()
    };
    fixture.ask(None, keyed.clone()).await.unwrap();
    let again = fixture.ask(None, keyed).await.unwrap();
    assert_eq!((&again["version"], &again["repeated"]), (&json!(1), &json!(true)));
    let read = fixture.ask(None, read("docs://a")).await.unwrap();
    assert_eq!(read.get("idempotency"), None);
}

#[tokio::test]
async fn writes_say_what_they_mean() {
    let fixture = ServiceFixture::with(&["Team"]).await;
    fixture.write(None, "docs://a", "one\ntwo\n").await;
    let entry = |mode, content: Option<&str>, patch| WriteRequest {
        uri: "docs://a".to_owned(),
        mode,
        content: content.map(str::to_owned),
        patch,
        ..WriteRequest::default()
    };
    let steps = || Some(vec![PatchStep::Append { text: "three".to_owned() }]);
    for bad in [
        entry(None, None, None),
        entry(Some(WriteMode::Patch), None, None),
        entry(Some(WriteMode::Patch), Some("x"), steps()),
        entry(Some(WriteMode::Replace), Some("x"), steps()),
    ] {
        assert_eq!(fixture.code(bad).await, "invalid_input");
    }
    let patched = fixture.ask(None, entry(None, None, steps())).await.unwrap();
    assert_eq!(patched["version"], 2);
    let exists =
        fixture.ask(None, entry(Some(WriteMode::Create), Some("x"), None)).await.unwrap_err();
    assert_eq!(exists.code, "exists");
    assert_eq!(exists.data().unwrap()["current_version"], 2);
    assert_eq!(fixture.code(write("docs://../x", "x")).await, "invalid_uri");
    let unknown = fixture.ask(None, write("nothing://x", "x")).await.unwrap_err();
    assert_eq!(unknown.code, "unknown_scheme");
    assert!(unknown.data().unwrap()["schemes"].as_array().unwrap().contains(&json!("docs")));
    assert_eq!(fixture.code(write("api-data://x", "{")).await, "invalid_json");
}

#[tokio::test]
async fn a_conflict_comes_with_a_proposal() {
    let fixture = ServiceFixture::with(&["Team"]).await;
    fixture.write(None, "docs://a", "one\ntwo\nthree\n").await;
    fixture.write(None, "docs://a", "ONE\ntwo\nthree\n").await;
    let late = WriteRequest {
        uri: "docs://a".to_owned(),
        content: Some("one\ntwo\nTHREE\n".to_owned()),
        if_version: Some(1),
        ..WriteRequest::default()
    };
    let failure = fixture.ask(None, late).await.unwrap_err();
    assert_eq!(failure.code, "version_conflict");
    let data = failure.data().unwrap();
    assert_eq!(data["current_version"], 2);
    assert_eq!(data["proposal"]["text"], "ONE\ntwo\nTHREE\n");
}

#[tokio::test]
async fn versions_are_kept_compared_and_restored() {
    let fixture = ServiceFixture::with(&["Team"]).await;
    fixture.write(None, "docs://a", "one\n").await;
    fixture.write(None, "docs://a", "two\n").await;
    let uri = || "docs://a".to_owned();
    let history = fixture.ask(None, HistoryRequest { uri: uri() }).await.unwrap();
    assert_eq!(history["versions"].as_array().unwrap().len(), 2);
    let diff = DiffRequest { uri: uri(), from: 1, to: None };
    let diff = fixture.ask(None, diff).await.unwrap();
    assert!(diff["diff"].as_str().unwrap().contains("-one\n+two\n"));
    let restore = RestoreRequest { uri: uri(), version: 1, if_version: None };
    assert_eq!(fixture.ask(None, restore).await.unwrap()["version"], 3);
    let delete = DeleteRequest { uri: uri(), if_version: Some(2) };
    assert_eq!(fixture.code(delete).await, "version_conflict");
    fixture.ask(None, DeleteRequest { uri: uri(), if_version: None }).await.unwrap();
    assert_eq!(fixture.code(read("docs://a")).await, "not_found");
    let deleted = fixture.ask(None, DeletedRequest).await.unwrap();
    assert_eq!(uris(&deleted, "deleted"), ["docs://a"]);
    let purged = fixture.ask(None, PurgeRequest { uri: uri() }).await.unwrap();
    assert_eq!(purged["purged"], true);
    for bad in [
        CapsuleOperation::from(HistoryRequest { uri: "a".to_owned() }),
        CapsuleOperation::from(DiffRequest { uri: "a".to_owned(), from: 1, to: None }),
        CapsuleOperation::from(RestoreRequest {
            uri: "a".to_owned(),
            version: 1,
            if_version: None,
        }),
        CapsuleOperation::from(DeleteRequest { uri: "a".to_owned(), if_version: None }),
        CapsuleOperation::from(PurgeRequest { uri: "a".to_owned() }),
        CapsuleOperation::from(ReadBlobRequest { uri: "a".to_owned(), version: None }),
    ] {
        assert_eq!(fixture.code(bad).await, "invalid_uri");
    }
}

#[tokio::test]
async fn blobs_travel_in_base64() {
    let fixture = ServiceFixture::with(&["Team"]).await;
    let with = |blob| WriteRequest {
        uri: "docs://a".to_owned(),
        content: Some("a picture".to_owned()),
        blob: Some(blob),
        ..WriteRequest::default()
    };
    let mime = || "image/png".to_owned();
    let bytes = WriteBlob::Bytes { data: STANDARD.encode([0, 159, 146]), mime: mime() };
    fixture.ask(None, with(bytes)).await.unwrap();
    let reading = ReadBlobRequest { uri: "docs://a".to_owned(), version: None };
    let blob = fixture.ask(None, reading.clone()).await.unwrap();
    assert_eq!((&blob["mime"], &blob["bytes"]), (&json!("image/png"), &json!(3)));
    assert_eq!(STANDARD.decode(blob["data"].as_str().unwrap()).unwrap(), [0, 159, 146]);
    let id = || "../../etc/passwd".to_owned();
    assert_eq!(
        fixture.code(with(WriteBlob::Pointer { id: id(), mime: mime() })).await,
        "invalid_input"
    );
    let bad = WriteBlob::Bytes { data: "!".to_owned(), mime: mime() };
    assert_eq!(fixture.code(with(bad)).await, "invalid_input");
    fixture.ask(None, with(WriteBlob::Remove)).await.unwrap();
    assert_eq!(fixture.code(reading).await, "invalid_input");
    assert_eq!(fixture.ask(None, CollectBlobsRequest).await.unwrap()["kept"], 1);
}

#[tokio::test]
async fn schemes_and_prompts() {
    let fixture = ServiceFixture::with(&["Team"]).await;
    let mut runbooks = Scheme::named("runbooks");
    runbooks.prompt_source = true;
    fixture.ask(None, AddSchemeRequest { scheme: runbooks.clone() }).await.unwrap();
    let again = AddSchemeRequest { scheme: runbooks };
    assert_eq!(fixture.code(again).await, "invalid_scheme");
    let schemes = fixture.ask(None, SchemesRequest).await.unwrap();
    assert_eq!(schemes["schemes"].as_array().unwrap().len(), 7);
    fixture.write(None, "runbooks://deploy/web", "Deploy {{what}}.").await;
    let prompts = fixture.ask(None, PromptsRequest).await.unwrap();
    assert_eq!(prompts["prompts"][0]["name"], "deploy.web");
    let arguments = [("what".to_owned(), "it".to_owned())].into();
    let filled = PromptRequest { name: "deploy.web".to_owned(), arguments };
    assert_eq!(fixture.ask(None, filled).await.unwrap()["body"], "Deploy it.");
    let missing = PromptRequest { name: "x".to_owned(), arguments: BTreeMap::default() };
    assert_eq!(fixture.code(missing).await, "invalid_input");
    let remove = RemoveSchemeRequest { name: "runbooks".to_owned() };
    assert_eq!(fixture.code(remove).await, "scheme_in_use");
}

#[tokio::test]
async fn signals_are_polled_until_they_are_acknowledged() {
    let fixture = ServiceFixture::with(&["Team"]).await;
    let signal = |kind: &str, uri: Option<&str>| SendSignalRequest {
        kind: kind.to_owned(),
        text: Some("look".to_owned()),
        uri: uri.map(str::to_owned),
        to: None,
        data: None,
    };
    fixture.ask(None, signal("review", None)).await.unwrap();
    let poll = || PollSignalsRequest { after: None, kinds: Vec::new(), limit: 0 };
    let first = fixture.ask(None, poll()).await.unwrap();
    assert_eq!(first["signals"][0]["kind"], "review");
    let cursor = first["next_cursor"].as_str().unwrap().to_owned();
    fixture.ask(None, AcknowledgeRequest { signal: cursor }).await.unwrap();
    assert_eq!(fixture.ask(None, poll()).await.unwrap()["signals"], json!([]));
    assert_eq!(fixture.code(signal("entry.created", None)).await, "invalid_input");
    assert_eq!(fixture.code(signal("review", Some("x"))).await, "invalid_uri");
}

#[tokio::test]
async fn memory_belongs_to_the_one_who_asks() {
    let fixture = ServiceFixture::with(&["Team"]).await;
    let (key, value) = ("colour".to_owned(), "dark green".to_owned());
    let get = || MemoryGetRequest { key: "colour".to_owned() };
    fixture.ask(None, MemorySetRequest { key, value }).await.unwrap();
    assert_eq!(fixture.ask(None, get()).await.unwrap()["value"], "dark green");
    let other = CapsuleCaller::local(CapsuleAuthor::client("somebody else"));
    assert_eq!(fixture.ask_as(&other, None, get()).await.unwrap_err().code, "no_such_key");
    let query = "green".to_owned();
    let found = fixture.ask(None, MemorySearchRequest { query }).await.unwrap();
    assert_eq!(found["items"][0]["key"], "colour");
    let listed = fixture.ask(None, MemoryListRequest).await.unwrap();
    assert_eq!(listed["items"].as_array().unwrap().len(), 1);
    let delete = || MemoryDeleteRequest { key: "colour".to_owned() };
    fixture.ask(None, delete()).await.unwrap();
    assert_eq!(fixture.code(delete()).await, "no_such_key");
}

#[tokio::test]
async fn filters_of_a_search_are_checked() {
    let fixture = ServiceFixture::with(&["Team"]).await;
    fixture.write(None, "docs://a", "a plan").await;
    fixture.write(None, "notes://b", "a plan in src/main.rs").await;
    let within = |prefix: &str| SearchQuery {
        query: "plan".to_owned(),
        prefix: Some(prefix.to_owned()),
        ..SearchQuery::default()
    };
    let found = fixture.ask(None, within("docs://")).await.unwrap();
    assert_eq!(uris(&found, "hits"), ["docs://a"]);
    assert_eq!(fixture.code(within("docs")).await, "invalid_uri");
    let of_code = SearchQuery {
        query: "plan".to_owned(),
        risk_class: Some(RiskClass::SpecificCode),
        ..SearchQuery::default()
    };
    let found = fixture.ask(None, of_code).await.unwrap();
    assert_eq!(uris(&found, "hits"), ["notes://b"]);
    let bad_page = ListQuery { cursor: Some("x".to_owned()), ..ListQuery::default() };
    assert_eq!(fixture.code(bad_page).await, "bad_cursor");
}
