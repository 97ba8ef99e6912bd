//! Converts a refusal of credentials to an error that names what to renew.

use capdeck_auth::{ReferenceTarget, SecretScrubber, StaticCredentials};
use capdeck_definition::CapabilityId;
use reqwest::{Response, StatusCode};
use serde_json::json;

use crate::{CallError, ErrorCode};

const MAX_BODY_EXCERPT_BYTES: usize = 4 * 1024;

pub(super) struct RejectedCredentials<'a> {
    pub(super) id: &'a CapabilityId,
    pub(super) credentials: &'a StaticCredentials,
    pub(super) has_sign_in: bool,
    pub(super) references: &'a [ReferenceTarget],
}

impl RejectedCredentials<'_> {
    pub(super) async fn error_for(
        &self,
        response: Response,
        scrubber: &SecretScrubber,
    ) -> CallError {
        let status = response.status();
        let words = read_body_excerpt(response).await;
        let message = format!("{} (HTTP {})", self.message(status), status.as_u16());
        CallError::new(ErrorCode::AuthRequired, message)
            .hint(self.hint())
            .data(json!({"status": status.as_u16(), "body": scrubber.text(&words)}))
    }

    fn message(&self, status: StatusCode) -> String {
        let id = self.id;
        let has_credentials = self.has_sign_in || *self.credentials != StaticCredentials::None;
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
        let renewals: Vec<String> = self.references.iter().map(renewal_hint).collect();
        match (self.credentials, renewals.as_slice()) {
            (StaticCredentials::None, _) => {
                format!("give the definition of `{id}` an `auth` block")
            }
            (_, []) => format!("renew the credentials in the `auth` block of `{id}`"),
            (_, renewals) => renewals.join("; "),
        }
    }
}

fn renewal_hint(reference: &ReferenceTarget) -> String {
    match reference {
        ReferenceTarget::Variable { name } => {
            format!("set `{name}` to a valid value where capdeck is started")
        }
        ReferenceTarget::Vault { name } => format!("run: capdeck vault set {name}"),
    }
}

async fn read_body_excerpt(mut response: Response) -> String {
    let mut bytes = Vec::new();
    while bytes.len() < MAX_BODY_EXCERPT_BYTES
        && let Ok(Some(chunk)) = response.chunk().await
    {
        bytes.extend_from_slice(&chunk);
    }
    bytes.truncate(MAX_BODY_EXCERPT_BYTES);
    String::from_utf8_lossy(&bytes).into_owned()
}
