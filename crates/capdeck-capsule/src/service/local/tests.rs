//! Every operation of the service, with what it refuses.

mod entries;
mod granted;
mod reach;
mod whole;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;
use crate::{CapsuleErrorCode, Role, ShareExpiry, service::*};

/// What an operation responds with, as clients get it.
type Answer = Result<Value, CapsuleError>;

/// A service over its own folder.
struct ServiceFixture {
    service: LocalCapsuleService,
    folder: TempDir,
}

impl ServiceFixture {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let service =
            LocalCapsuleService::open(&folder.path().join("data"), StoreOptions::default()).await;
        Self { service: service.unwrap(), folder }
    }

    async fn with(names: &[&str]) -> Self {
        let fixture = Self::new().await;
        for name in names {
            fixture.ask(None, create(name)).await.unwrap();
        }
        fixture
    }

    async fn ask(&self, capsule: Option<&str>, operation: impl CapsuleCall) -> Answer {
        self.ask_as(&person(), capsule, operation).await
    }

    async fn ask_as(
        &self,
        caller: &CapsuleCaller,
        capsule: Option<&str>,
        operation: impl CapsuleCall,
    ) -> Answer {
        let response = self.service.ask(caller.request(capsule, operation)).await?;
        Ok(serde_json::to_value(response).unwrap())
    }

    async fn code(&self, operation: impl CapsuleCall) -> CapsuleErrorCode {
        self.ask(None, operation).await.unwrap_err().code
    }

    async fn write(&self, capsule: Option<&str>, uri: &str, body: &str) -> Value {
        self.ask(capsule, write(uri, body)).await.unwrap()
    }

    /// A caller who holds a share.
    async fn share(&self, capsule: &str, role: Role, allow: &[&str], deny: &[&str]) -> Holder {
        let texts = |prefixes: &[&str]| prefixes.iter().map(|text| (*text).to_owned()).collect();
        let new = AddShareRequest {
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
        let caller = CapsuleCaller::new(CapsuleAuthor::client("guest"), reach);
        Holder { caller, id, token }
    }
}

/// A person with a share.
struct Holder {
    caller: CapsuleCaller,
    id: String,
    token: String,
}

fn person() -> CapsuleCaller {
    CapsuleCaller::local(CapsuleAuthor::client("tester"))
}

fn create(name: &str) -> CreateCapsuleRequest {
    CreateCapsuleRequest::named(name)
}

fn read(uri: &str) -> ReadRequest {
    ReadRequest { uri: uri.to_owned(), version: None, body: ReadBody::Banded }
}

fn write(uri: &str, body: &str) -> WriteRequest {
    let (uri, content) = (uri.to_owned(), Some(body.to_owned()));
    WriteRequest { uri, content, ..WriteRequest::default() }
}

fn search(query: &str) -> SearchQuery {
    SearchQuery { query: query.to_owned(), ..SearchQuery::default() }
}

fn listing() -> ListQuery {
    ListQuery::default()
}

/// The addresses in a listing.
fn uris(answer: &Value, key: &str) -> Vec<String> {
    let found = answer[key].as_array().unwrap().iter();
    found.map(|one| one["uri"].as_str().unwrap().to_owned()).collect()
}
