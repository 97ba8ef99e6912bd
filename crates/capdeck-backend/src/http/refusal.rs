//! Converts a refusal of credentials to an error that names what to renew.

use capdeck_auth::{Credentials, Reference, Scrubber};
use capdeck_definition::CapabilityId;
use reqwest::{Response, StatusCode};
use serde_json::json;

use crate::{CallError, ErrorCode};

const LONGEST_WORDS: usize = 4 * 1024;

pub(super) struct Refusal<'a> {
    pub(super) id: &'a CapabilityId,
    pub(super) credentials: &'a Credentials,
    pub(super) has_sign_in: bool,
    pub(super) references: &'a [Reference],
}

impl Refusal<'_> {
    pub(super) async fn told(&self, response: Response, scrubber: &Scrubber) -> CallError {
        let status = response.status();
        let words = words(response).await;
        let message = format!("{} (HTTP {})", self.message(status), status.as_u16());
        CallError::new(ErrorCode::AuthRequired, message)
            .hint(self.hint())
            .data(json!({"status": status.as_u16(), "body": scrubber.text(&words)}))
    }

    fn message(&self, status: StatusCode) -> String {
        let id = self.id;
        let has_credentials = self.has_sign_in || *self.credentials != Credentials::None;
        match (status, has_credentials) {
            (StatusCode::UNAUTHORIZED, true) => format!("`{id}` does not accept our credentials"),
            (StatusCode::UNAUTHORIZED, false) => {
                format!("`{id}` asks for credentials, and its definition has none")
            }
            (_, true) => format!("`{id}` does not allow this with our credentials"),
            (_, false) => format!("`{id}` does not allow this without credentials"),
        }
    }

    fn hint(&self) -> String {
        let id = self.id;
        if self.has_sign_in {
            return format!("run: capdeck auth login {id}");
        }
        let renewals: Vec<String> = self.references.iter().map(renewal).collect();
        match (self.credentials, renewals.as_slice()) {
            (Credentials::None, _) => format!("give the definition of `{id}` an `auth` block"),
            (_, []) => format!("renew the credentials in the `auth` block of `{id}`"),
            (_, renewals) => renewals.join("; "),
        }
    }
}

fn renewal(reference: &Reference) -> String {
    match reference {
        Reference::Variable { name } => {
            format!("set `{name}` to a valid value where capdeck is started")
        }
        Reference::Vault { name } => format!("run: capdeck vault set {name}"),
    }
}

async fn words(mut response: Response) -> String {
    let mut bytes = Vec::new();
    while bytes.len() < LONGEST_WORDS
        && let Ok(Some(chunk)) = response.chunk().await
    {
        bytes.extend_from_slice(&chunk);
    }
    bytes.truncate(LONGEST_WORDS);
    String::from_utf8_lossy(&bytes).into_owned()
}
