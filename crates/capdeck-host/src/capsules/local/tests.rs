//! Every operation of the desk, with what it refuses.

mod entries;
mod granted;
mod reach;
mod whole;

use capdeck_capsule::{Role, ShareExpiry};
use serde_json::json;
use tempfile::TempDir;

use super::*;
use crate::capsules::{EntryWrite, ListQuery, ReadBody, SearchQuery, WriteMode};

/// A desk over a folder of its own.
struct Desk {
    desk: LocalDesk,
    folder: TempDir,
}

impl Desk {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let desk = LocalDesk::open(&folder.path().join("data"), StoreOptions::default()).await;
        Self { desk: desk.unwrap(), folder }
    }

    async fn with(names: &[&str]) -> Self {
        let desk = Self::new().await;
        for name in names {
            desk.ask(None, create(name)).await.unwrap();
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

    async fn code(&self, operation: CapsuleOperation) -> String {
        self.ask(None, operation).await.unwrap_err().code
    }

    async fn write(&self, capsule: Option<&str>, uri: &str, body: &str) -> Value {
        self.ask(capsule, write(uri, body)).await.unwrap()
    }

    /// A caller who holds a share.
    async fn share(&self, capsule: &str, role: Role, allow: &[&str], deny: &[&str]) -> Holder {
        let texts = |prefixes: &[&str]| prefixes.iter().map(|text| (*text).to_owned()).collect();
        let new = CapsuleOperation::AddShare {
            name: "a share".to_owned(),
            role,
            uri_prefixes: texts(allow),
            denied_prefixes: texts(deny),
            expires_at: ShareExpiry::Default,
        };
        let share = self.ask(Some(capsule), new).await.unwrap();
        let id = share["id"].as_str().unwrap().to_owned();
        let token = share["token"].as_str().unwrap().to_owned();
        let reach = Reach::Share(id.clone());
        let caller = CapsuleCaller::new(Author::client("guest"), reach);
        Holder { caller, id, token }
    }
}

/// Somebody with a share.
struct Holder {
    caller: CapsuleCaller,
    id: String,
    token: String,
}

fn person() -> CapsuleCaller {
    CapsuleCaller::local(Author::client("tester"))
}

fn create(name: &str) -> CapsuleOperation {
    let name = name.to_owned();
    CapsuleOperation::CreateCapsule { name, description: None, visibility: None }
}

fn read(uri: &str) -> CapsuleOperation {
    CapsuleOperation::Read { uri: uri.to_owned(), version: None, body: ReadBody::Banded }
}

fn write(uri: &str, body: &str) -> CapsuleOperation {
    let (uri, content) = (uri.to_owned(), Some(body.to_owned()));
    CapsuleOperation::Write(EntryWrite { uri, content, ..EntryWrite::default() })
}

fn search(query: &str) -> CapsuleOperation {
    CapsuleOperation::Search(SearchQuery { query: query.to_owned(), ..SearchQuery::default() })
}

fn listing() -> CapsuleOperation {
    CapsuleOperation::List(ListQuery::default())
}

/// The addresses in a listing.
fn uris(answer: &Value, key: &str) -> Vec<String> {
    let found = answer[key].as_array().unwrap().iter();
    found.map(|one| one["uri"].as_str().unwrap().to_owned()).collect()
}
