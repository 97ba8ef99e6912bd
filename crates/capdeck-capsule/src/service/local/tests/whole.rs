//! Capsules as a whole: made, changed, carried, checked.

use std::{fs, process::Command};

use crate::{CapsuleUpdate, CapsuleVisibility, ExistingEntryMode, ImportMode};

use super::*;

#[tokio::test]
async fn capsules_are_made_renamed_found_and_deleted() {
    let fixture = ServiceFixture::with(&["First Team"]).await;
    assert_eq!(fixture.code(create("first team")).await, "exists");
    assert_eq!(fixture.code(create("")).await, "invalid_input");
    assert_eq!(fixture.code(create("two\nlines")).await, "invalid_input");
    let update = CapsuleUpdate {
        name: Some("Second".to_owned()),
        description: Some("what we know".to_owned()),
        visibility: Some(CapsuleVisibility::Discoverable),
    };
    let updated = fixture.ask(Some("first-team"), update).await.unwrap();
    assert_eq!((&updated["id"], &updated["name"]), (&json!("first-team"), &json!("Second")));
    fixture.ask(None, create("Private")).await.unwrap();
    let found = fixture.ask(None, DiscoverRequest).await.unwrap();
    let expected = json!({ "capsules": [{ "name": "Second", "description": "what we know" }] });
    assert_eq!(found, expected);
    fixture.ask(Some("second"), DeleteCapsuleRequest).await.unwrap();
    let listed = fixture.ask(None, ListCapsulesRequest { with_counts: true }).await;
    let listed = listed.unwrap();
    assert_eq!(listed["capsules"].as_array().unwrap().len(), 1);
    assert_eq!(listed["capsules"][0]["entries"], 0);
}

#[tokio::test]
async fn a_purged_capsule_leaves_nothing() {
    let fixture = ServiceFixture::with(&["One", "Two"]).await;
    fixture.write(Some("one"), "docs://a", "the-only-secret").await;
    let purge = || PurgeCapsuleRequest;
    let purged = fixture.ask(Some("ONE"), purge()).await.unwrap();
    assert_eq!((&purged["id"], &purged["purged"]), (&json!("one"), &json!(1)));
    assert_eq!(fixture.ask(Some("one"), purge()).await.unwrap_err().code, "not_found");
    // What was deleted before goes by its id; what has another id stays.
    for name in ["Three", "Three 1"] {
        fixture.ask(None, create(name)).await.unwrap();
        fixture.write(Some(name), "docs://a", "kept aside").await;
        fixture.ask(Some(name), DeleteCapsuleRequest).await.unwrap();
    }
    let kept = fixture.ask(Some("three"), purge()).await.unwrap();
    assert_eq!(kept, json!({ "id": "three", "purged": 1 }));
    for wrong in ["three", "../boxes/two", "two/../two", "", "three-1-"] {
        assert_eq!(
            fixture.ask(Some(wrong), purge()).await.unwrap_err().code,
            "not_found",
            "{wrong}"
        );
    }
    let left = texts_below(fixture.folder.path());
    assert!(!left.iter().any(|text| text.contains("the-only-secret")), "{left:?}");
    assert_eq!(left.iter().filter(|text| text.contains("kept aside")).count(), 1, "{left:?}");
    let listed = fixture.ask(None, ListCapsulesRequest { with_counts: false }).await;
    assert_eq!(listed.unwrap()["capsules"].as_array().unwrap().len(), 1);
}

/// Every Markdown file below a folder.
fn texts_below(folder: &std::path::Path) -> Vec<String> {
    let mut texts = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            texts.extend(texts_below(&path));
        } else if path.extension().is_some_and(|extension| extension == "md") {
            texts.push(fs::read_to_string(path).unwrap());
        }
    }
    texts
}

#[tokio::test]
async fn capsules_are_carried_in_files() {
    let fixture = ServiceFixture::with(&["One"]).await;
    let folder = fixture.folder.path();
    fixture.write(None, "docs://a/b", "one").await;
    fixture.write(None, "docs://a/b", "two").await;
    let export = |name: &str, form| {
        let path = folder.join(name);
        ExportRequest { path, form }
    };
    let done = fixture.ask(None, export("files", ExportTarget::Folder)).await.unwrap();
    assert_eq!(done["entries"], 1);
    assert_eq!(fs::read_to_string(folder.join("files/docs/a/b.md")).unwrap(), "two");
    assert_eq!(fixture.code(export("files", ExportTarget::Folder)).await, "invalid_input");
    fixture.ask(None, export("all.tar", ExportTarget::Tar)).await.unwrap();
    assert!(fs::metadata(folder.join("all.tar")).unwrap().len() > 1024);
    assert_eq!(fixture.code(export("all.tar", ExportTarget::Tar)).await, "invalid_input");
    assert_eq!(
        fixture.code(export("no/such/folder/all.tar", ExportTarget::Tar)).await,
        "io_failed"
    );
    fixture.ask(None, export("repository", ExportTarget::Git)).await.unwrap();
    let repository = folder.join("repository");
    assert_eq!(fs::read_to_string(repository.join("docs/a/b.md")).unwrap(), "two");
    let log = Command::new("git").arg("-C").arg(&repository).args(["log", "--oneline"]).output();
    assert_eq!(String::from_utf8_lossy(&log.unwrap().stdout).lines().count(), 2);
    assert_eq!(fixture.code(export("repository", ExportTarget::Git)).await, "invalid_input");

    fixture.ask(None, create("Other")).await.unwrap();
    let import = |name: &str, form| {
        let path = folder.join(name);
        let (existing, mode) = (ExistingEntryMode::default(), ImportMode::default());
        ImportFilesRequest { path, form, existing, mode }
    };
    let scheme = "docs".to_owned();
    let into = import("files/docs", ImportSource::Folder { scheme });
    let taken = fixture.ask(Some("other"), into).await.unwrap();
    assert_eq!(uris(&taken, "entries"), ["docs://a/b"]);
    let uri = "guidance://agents".to_owned();
    let one = import("files/docs/a/b.md", ImportSource::File { uri });
    assert_eq!(fixture.ask(Some("other"), one).await.unwrap()["entries"][0]["version"], 1);
    let bad = import("files", ImportSource::File { uri: "agents".to_owned() });
    assert_eq!(fixture.ask(Some("other"), bad).await.unwrap_err().code, "invalid_uri");
    let nowhere = import("nowhere", ImportSource::Skills);
    assert_eq!(fixture.ask(Some("other"), nowhere).await.unwrap_err().code, "io_failed");
}

#[tokio::test]
async fn every_call_is_one_line_of_the_audit() {
    let fixture = ServiceFixture::with(&["One"]).await;
    fixture.write(None, "docs://a", "a body that is not told").await;
    fixture.ask(None, read("docs://a")).await.unwrap();
    fixture.ask(None, read("docs://missing")).await.unwrap_err();
    fixture.ask(None, read("no address")).await.unwrap_err();
    let (key, value) = ("k".to_owned(), "a value that is not told".to_owned());
    fixture.ask(None, MemorySetRequest { key, value }).await.unwrap();
    fixture.ask(None, VerifyRequest).await.unwrap();
    let lines = fixture.ask(None, AuditFilter::default()).await.unwrap();
    let actions: Vec<_> =
        lines["lines"].as_array().unwrap().iter().map(|line| &line["action"]).collect();
    assert_eq!(
        actions,
        ["write.replace", "read", "read", "read", "memory.set", "verify", "audit.query"]
    );
    assert!(!lines.to_string().contains("not told"));
    let errors = AuditFilter { action: Some("read".to_owned()), ..AuditFilter::default() };
    let errors = fixture.ask(None, errors).await.unwrap();
    assert_eq!(errors["lines"][2]["error_code"], "invalid_uri");
    let bad = AuditFilter { prefix: Some("docs".to_owned()), ..AuditFilter::default() };
    assert_eq!(fixture.code(bad).await, "invalid_uri");
    let report = fixture.ask(None, AuditVerifyRequest).await.unwrap();
    assert_eq!(report["problems"], json!([]));
    let report = fixture.ask(None, VerifyRequest).await.unwrap();
    assert_eq!((&report["clean"], &report["entries"]), (&json!(true), &json!(1)));
}

#[tokio::test]
async fn spec_26_24_a_second_process_is_refused_until_the_first_lets_go() {
    let fixture = ServiceFixture::with(&["One"]).await;
    let folder = fixture.folder.path().join("data");
    let second = LocalCapsuleService::open(&folder, StoreOptions::default()).await;
    assert_eq!(second.unwrap_err().code, "in_use");
    fixture.service.close().await;
    assert_eq!(fixture.code(create("Two")).await, "closed");
    let second = LocalCapsuleService::open(&folder, StoreOptions::default()).await.unwrap();
    assert!(second.may_have_capsules());
}
