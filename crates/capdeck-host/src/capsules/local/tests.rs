//! Every operation of the desk, with what it refuses.

use serde_json::json;
use tempfile::TempDir;

use super::*;
use crate::capsules::{EntryWrite, ReadBody, SearchQuery};

/// A desk over a folder of its own.
struct Desk {
    desk: LocalDesk,
    _folder: TempDir,
}

impl Desk {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let desk = LocalDesk::open(&folder.path().join("data"), StoreOptions::default()).await;
        Self { desk: desk.unwrap(), _folder: folder }
    }

    async fn with(names: &[&str]) -> Self {
        let desk = Self::new().await;
        for name in names {
            let (name, description, visibility) = ((*name).to_owned(), None, None);
            let create = CapsuleOperation::CreateCapsule { name, description, visibility };
            desk.ask(None, create).await.unwrap();
        }
        desk
    }

    async fn ask(&self, capsule: Option<&str>, operation: CapsuleOperation) -> Answer {
        self.ask_as(&person(), capsule, operation).await
    }

    async fn ask_as(
        &self,
        caller: &CapsuleCaller,
        capsule: Option<&str>,
        operation: CapsuleOperation,
    ) -> Answer {
        self.desk.ask(caller.request(capsule, operation)).await
    }

    async fn write(&self, capsule: Option<&str>, uri: &str, body: &str) -> Value {
        let (uri, content) = (uri.to_owned(), Some(body.to_owned()));
        let write = EntryWrite { uri, content, ..EntryWrite::default() };
        self.ask(capsule, CapsuleOperation::Write(write)).await.unwrap()
    }
}

fn person() -> CapsuleCaller {
    CapsuleCaller::local(Author::client("tester"))
}

fn read(uri: &str) -> CapsuleOperation {
    CapsuleOperation::Read { uri: uri.to_owned(), version: None, body: ReadBody::Banded }
}

fn search(query: &str) -> CapsuleOperation {
    CapsuleOperation::Search(SearchQuery { query: query.to_owned(), ..SearchQuery::default() })
}

#[tokio::test]
async fn what_is_written_is_read_with_its_provenance() {
    let desk = Desk::with(&["Team"]).await;
    let written = desk.write(None, "docs://a", "# Title\n\nplain prose").await;
    assert_eq!(written["capsule"], "team");
    assert_eq!((&written["version"], &written["created"]), (&json!(1), &json!(true)));
    let read = desk.ask(Some("TEAM"), read("docs://a")).await.unwrap();
    assert_eq!(read["body"], "# Title\n\nplain prose");
    assert_eq!(read["title"], "Title");
    assert_eq!(read["written_by"], "tester");
    assert!(read["text"].as_str().unwrap().contains("PROVENANCE"));
    let found = desk.ask(Some("capsol://team"), search("prose")).await.unwrap();
    assert_eq!(found["total"], 1);
    assert_eq!(found["hits"][0]["uri"], "docs://a");
}

#[tokio::test]
async fn without_a_name_the_only_capsule_is_meant() {
    let desk = Desk::new().await;
    let failure = desk.ask(None, read("docs://a")).await.unwrap_err();
    assert_eq!(failure.code, "capsule_required");
    assert_eq!(failure.message, "there is no capsule yet");
    let desk = Desk::with(&["One", "Two"]).await;
    let failure = desk.ask(None, read("docs://a")).await.unwrap_err();
    assert_eq!(failure.code, "capsule_required");
    assert_eq!(failure.message, "say which capsule: `one`, `two`");
    let ids = |failure: &CapsuleFailure| failure.data.clone().unwrap()["capsules"][1]["id"].clone();
    assert_eq!(ids(&failure), "two");
}
