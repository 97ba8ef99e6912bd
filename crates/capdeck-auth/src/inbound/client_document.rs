//! Clients that say who they are in a document: their id is its address.

use std::time::Duration;

use serde::Deserialize;
use url::Url;

use super::{
    ClientAuthMethod, ClientKind, ClientMetadata, ClientService, EventCaller, EventSubject,
    LastUseTime, OAuthClient, RedirectPolicy, RegistryClock, RegistryResult,
};
use crate::{GuardedClients, NetworkReach, ReachError, outbound::read_limited};

const MAX_DOCUMENT_BYTES: usize = 64 * 1024;
const FETCH_TIMEOUT: Duration = Duration::from_secs(10);
const MAX_ID_LENGTH: usize = 1000;

/// Why a document makes no client.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClientDocumentError {
    #[error("the client's id is no address of a document: {reason}")]
    NotAnAddress { reason: &'static str },
    #[error("the client's document may not be fetched: {reason}")]
    OutOfReach { reason: ReachError },
    #[error("the client's document could not be fetched: {reason}")]
    Unreachable { reason: String },
    #[error("the client's document was answered with status {status}; redirects are not followed")]
    Status { status: u16 },
    #[error("the client's document is larger than {MAX_DOCUMENT_BYTES} bytes")]
    TooLarge,
    #[error("the client's document is not valid: {reason}")]
    Invalid { reason: String },
}

#[derive(Deserialize)]
struct ClientDocumentBody {
    client_id: String,
    #[serde(flatten)]
    metadata: ClientMetadata,
}

impl OAuthClient {
    /// Whether a client's id is the address of a document, rather than one that was given here.
    pub fn is_document_id(client_id: &str) -> bool {
        client_id.starts_with("https://")
    }

    /// The address of a document, from a client's id.
    pub fn document_address(client_id: &str) -> Result<Url, ClientDocumentError> {
        let wrong = |reason| Err(ClientDocumentError::NotAnAddress { reason });
        if client_id.len() > MAX_ID_LENGTH {
            return wrong("it is too long");
        }
        let Ok(url) = Url::parse(client_id) else { return wrong("it cannot be read") };
        if url.scheme() != "https" {
            return wrong("it does not start with `https://`");
        }
        if matches!(url.path(), "" | "/") {
            return wrong("it has no path");
        }
        if url.fragment().is_some() || !url.username().is_empty() || url.password().is_some() {
            return wrong("it has a fragment, a user name or a password");
        }
        // What is compared later is the text, so the text has to be the address and nothing that is read as it.
        if url.as_str() != client_id {
            return wrong("it is not written in the usual form");
        }
        Ok(url)
    }

    /// The client that the document at its id describes, checked. It is not kept before a person agreed.
    pub fn from_document(
        client_id: &str,
        bytes: &[u8],
        policy: &RedirectPolicy,
        clock: &RegistryClock,
    ) -> Result<Self, ClientDocumentError> {
        let url = Self::document_address(client_id)?;
        if bytes.len() > MAX_DOCUMENT_BYTES {
            return Err(ClientDocumentError::TooLarge);
        }
        let invalid = |reason: String| ClientDocumentError::Invalid { reason };
        // The parser's own words quote the document, so only the place is passed on.
        let document: ClientDocumentBody = serde_json::from_slice(bytes)
            .map_err(|error| invalid(format!("it cannot be read (line {})", error.line())))?;
        if document.client_id != client_id {
            return Err(invalid("its `client_id` is not its own address".to_owned()));
        }
        let (redirect_uris, auth_method) =
            document.metadata.check(policy).map_err(|error| invalid(error.to_string()))?;
        if auth_method != ClientAuthMethod::None {
            let reason = "it shares no secret with this host, so its method has to be `none`";
            return Err(invalid(reason.to_owned()));
        }
        let host = url.host_str().unwrap_or_default();
        Ok(Self {
            id: client_id.to_owned(),
            kind: ClientKind::Document,
            name: document.metadata.name(host).map_err(|error| invalid(error.to_string()))?,
            redirect_uris,
            client_uri: document.metadata.page(),
            auth_method,
            created_at: clock.now(),
            last_used_at: LastUseTime::default(),
            secret: None,
        })
    }
}

/// Fetches and checks the document of a client: only from public addresses over HTTPS, without redirects, and not for long.
pub async fn fetch_client_document(
    clients: &GuardedClients,
    client_id: &str,
    policy: &RedirectPolicy,
    clock: &RegistryClock,
) -> Result<OAuthClient, ClientDocumentError> {
    let (url, reach) = (OAuthClient::document_address(client_id)?, NetworkReach::Public);
    reach.check(&url).map_err(|reason| ClientDocumentError::OutOfReach { reason })?;
    let client =
        clients.get(reach).map_err(|reason| ClientDocumentError::Unreachable { reason })?;
    let fetched = tokio::time::timeout(FETCH_TIMEOUT, fetch(&client, url)).await;
    let bytes = fetched.map_err(|_| {
        let reason = format!("no answer within {} s", FETCH_TIMEOUT.as_secs());
        ClientDocumentError::Unreachable { reason }
    })??;
    OAuthClient::from_document(client_id, &bytes, policy, clock)
}

async fn fetch(client: &reqwest::Client, url: Url) -> Result<Vec<u8>, ClientDocumentError> {
    let unreachable = |error: reqwest::Error| ClientDocumentError::Unreachable {
        reason: error.without_url().to_string(),
    };
    let request = client.get(url).header("accept", "application/json");
    let response = request.send().await.map_err(unreachable)?;
    let status = response.status().as_u16();
    if status != 200 {
        return Err(ClientDocumentError::Status { status });
    }
    let body = read_limited(response, MAX_DOCUMENT_BYTES).await.map_err(unreachable)?;
    body.ok_or(ClientDocumentError::TooLarge)
}

impl ClientService<'_> {
    /// Keeps a client that is known by a document, once a person agreed to what it asks for.
    pub async fn remember(
        self,
        caller: &EventCaller,
        described: &OAuthClient,
    ) -> RegistryResult<OAuthClient> {
        let mut client = described.clone();
        let subject = EventSubject::client(&client.id);
        self.registry
            .change(caller, "client.remember", subject, move |draft| {
                match draft.state.clients.get(&client.id) {
                    Some(known) => {
                        client.created_at = known.created_at;
                        client.last_used_at = known.last_used_at.clone();
                    }
                    None => draft.make_room_for_client()?,
                }
                draft.state.clients.put(client.clone());
                Ok(client)
            })
            .await
    }
}

#[cfg(test)]
mod tests {
    use axum::{Router, response::Redirect, routing::get};

    use super::*;

    /// What fetching this path from a server of our own comes to.
    async fn fetched(path: &str) -> Result<Vec<u8>, ClientDocumentError> {
        // Asked for over HTTP only, but the client wants to know how it would do the rest.
        drop(rustls::crypto::ring::default_provider().install_default());
        let redirect = || async { Redirect::temporary("/small") };
        let router = Router::new()
            .route("/small", get(|| async { "{}" }))
            .route("/moved", get(redirect))
            .route("/large", get(|| async { "x".repeat(MAX_DOCUMENT_BYTES + 1) }))
            .route("/full", get(|| async { "x".repeat(MAX_DOCUMENT_BYTES) }));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}{path}", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none());
        fetch(&client.no_proxy().build().unwrap(), Url::parse(&url).unwrap()).await
    }

    #[tokio::test]
    async fn item_16_redirects_and_large_documents_are_refused() {
        assert_eq!(fetched("/small").await, Ok(b"{}".to_vec()));
        assert_eq!(fetched("/moved").await, Err(ClientDocumentError::Status { status: 307 }));
        assert_eq!(fetched("/none").await, Err(ClientDocumentError::Status { status: 404 }));
        assert_eq!(fetched("/large").await, Err(ClientDocumentError::TooLarge));
        assert!(fetched("/full").await.is_ok());
    }
}
