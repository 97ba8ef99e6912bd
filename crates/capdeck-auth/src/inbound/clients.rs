//! Clients: the programs that sign in, the principals that they are for the people who use them, and the documents that describe
//! them: the id of such a client is the address of its document.

use std::time::Duration;

use capdeck_storage::WallClock;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr};
use url::Url;

use super::{
    ClientService, EventCaller, EventSubject, LastUseTime, RedirectPolicy, RegistryError,
    RegistryResult, RegistrySnapshot, RegistryTransaction, TokenHash, TokenKind, new_id, redirect,
    text,
};
use crate::{GuardedClients, NetworkReach, ReachError, Secret, outbound::read_limited};

const MAX_REDIRECTS: usize = 20;

/// A program that signs in, as it is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OAuthClient {
    /// Ours for those that registered; the address of its document for the others.
    pub id: String,
    pub kind: ClientKind,
    pub name: String,
    pub redirect_uris: Vec<String>,
    /// A page about it.
    pub client_uri: Option<String>,
    pub auth_method: ClientAuthMethod,
    pub created_at: Timestamp,
    #[serde(default)]
    pub last_used_at: LastUseTime,
    pub(super) secret: Option<TokenHash>,
}

/// Where what is known about a client comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ClientKind {
    /// It said so itself.
    Registered,
    /// A document at its id says so.
    Document,
}

/// How a client shows who it is when it redeems a code.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[derive(EnumString, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum ClientAuthMethod {
    /// By the proof that it asked for the code, and nothing else.
    #[default]
    None,
    ClientSecretPost,
    ClientSecretBasic,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ClientMetadata {
    pub redirect_uris: Vec<String>,
    pub client_name: Option<String>,
    pub client_uri: Option<String>,
    pub token_endpoint_auth_method: Option<String>,
    pub grant_types: Option<Vec<String>>,
    pub response_types: Option<Vec<String>>,
}

/// A client with a secret that is shown this once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegisteredClient {
    pub client: OAuthClient,
    pub secret: Option<Secret>,
}

impl ClientAuthMethod {
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    pub fn parse(name: &str) -> Option<Self> {
        name.parse().ok()
    }
}

impl OAuthClient {
    /// Whether it may send people to this address. Exact, but for the port of a loopback address.
    pub fn has_redirect(&self, uri: &str) -> bool {
        self.redirect_uris.iter().any(|registered| redirect::is_registered(registered, uri))
    }

    /// Returns whether all redirects lead to the person's own machine. Any program there can imitate such a client.
    pub fn is_local_only(&self) -> bool {
        self.redirect_uris
            .iter()
            .all(|uri| Url::parse(uri).is_ok_and(|url| redirect::is_loopback(&url)))
    }
}

impl ClientMetadata {
    /// The client with this id that says this about itself, as far as it can be kept. Without a name it is shown by `fallback`.
    pub(super) fn into_client(
        self,
        kind: ClientKind,
        id: String,
        fallback: &str,
        policy: &RedirectPolicy,
        now: Timestamp,
    ) -> RegistryResult<OAuthClient> {
        if self.redirect_uris.is_empty() || self.redirect_uris.len() > MAX_REDIRECTS {
            let reason = format!("1 to {MAX_REDIRECTS} of them");
            return Err(RegistryError::invalid("redirect_uris", reason));
        }
        for uri in &self.redirect_uris {
            policy.check(uri).map_err(|reason| RegistryError::invalid("redirect_uris", reason))?;
        }
        for (what, list, needed) in [
            ("grant_types", &self.grant_types, "authorization_code"),
            ("response_types", &self.response_types, "code"),
        ] {
            if list.as_ref().is_some_and(|list| !list.iter().any(|one| one == needed)) {
                return Err(RegistryError::invalid(what, format!("`{needed}` is among them")));
            }
        }
        // A client that does not say how it shows who it is has nothing to show.
        let method = self.token_endpoint_auth_method.as_deref().unwrap_or("none");
        let auth_method = ClientAuthMethod::parse(method).ok_or_else(|| {
            let reason = "`none`, `client_secret_post` or `client_secret_basic`";
            RegistryError::invalid("token_endpoint_auth_method", reason)
        })?;
        let name = match self.client_name.as_deref().map(str::trim).filter(|name| !name.is_empty())
        {
            Some(name) => text::name("client_name", name)?,
            None => fallback.chars().take(100).collect(),
        };
        // A page about it, if it can be shown as a link.
        let page = self.client_uri.as_deref().filter(|uri| uri.len() <= 500);
        let page = page.and_then(|uri| Url::parse(uri).ok()).filter(|url| url.scheme() == "https");
        Ok(OAuthClient {
            id,
            kind,
            name,
            redirect_uris: self.redirect_uris,
            client_uri: page.map(String::from),
            auth_method,
            created_at: now,
            last_used_at: LastUseTime::default(),
            secret: None,
        })
    }
}

impl ClientService<'_> {
    /// A client by id. Those that are known by a document are there once they signed in.
    pub fn get(self, id: &str) -> Option<OAuthClient> {
        self.registry.state().clients.get(id).cloned()
    }

    /// Registers a client by what it says about itself. Nothing of that is believed but where it wants people to be sent.
    pub async fn register(
        self,
        caller: &EventCaller,
        metadata: ClientMetadata,
    ) -> RegistryResult<RegisteredClient> {
        self.registry
            .change(caller, "client.register", EventSubject::default(), move |draft| {
                let (id, policy) = (new_id("cli_")?, &draft.options.redirects);
                let (kind, fallback) = (ClientKind::Registered, id.clone());
                let mut client = metadata.into_client(kind, id, &fallback, policy, draft.now)?;
                draft.make_room_for_client()?;
                let secret = match client.auth_method {
                    ClientAuthMethod::None => None,
                    ClientAuthMethod::ClientSecretPost | ClientAuthMethod::ClientSecretBasic => {
                        Some(TokenKind::ClientSecret.create()?)
                    }
                };
                client.secret = secret.as_ref().map(|secret| TokenHash::of(secret.expose()));
                draft.event.subject.client_id = Some(client.id.clone());
                draft.state.clients.put(client.clone());
                Ok(RegisteredClient { client, secret })
            })
            .await
    }

    /// Removes a client with everything it holds: connections, grants, requests.
    pub async fn remove(self, caller: &EventCaller, id: &str) -> RegistryResult<()> {
        let subject = EventSubject::client(id);
        let id = id.to_owned();
        self.registry
            .change(caller, "client.remove", subject, move |draft| {
                draft.state.clients.remove(&id)?;
                draft.end_principals(|one| one.client_id.as_ref() == Some(&id));
                Ok(())
            })
            .await
    }

    pub fn principal(self, id: &str) -> Option<PrincipalRecord> {
        self.registry.state().principals.get(id).cloned()
    }

    /// The principal that a client is when this operator uses it, if they met before.
    pub fn principal_of_client(self, client_id: &str, operator: &str) -> Option<PrincipalRecord> {
        self.registry.state().principal_of_client(client_id, operator).cloned()
    }

    /// Whether this operator let a client in, and did not take all of it back.
    pub fn has_let_in(self, operator: &str, client_id: &str) -> bool {
        let (state, now) = (self.registry.state(), self.registry.now());
        let known = state.principal_of_client(client_id, operator);
        known.is_some_and(|one| !state.live_grants(&one.id, now).is_empty())
    }

    /// The principals that a client is known as: one for each operator who uses it, and for each time it signed up.
    pub fn principals_of_client(self, client_id: &str) -> Vec<PrincipalRecord> {
        self.registry.state().principals.select(|one| one.client_id.as_deref() == Some(client_id))
    }
}

/// A program, as one person uses it. It keeps its grants, and what it remembers, over sign-ins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PrincipalRecord {
    pub id: String,
    /// What it calls itself.
    pub name: String,
    pub client_id: Option<String>,
    /// The operator who signed in with it, if one did.
    pub operator: Option<String>,
    pub created_at: Timestamp,
}

/// The client or person that a request is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GrantRecipient {
    /// A known principal.
    Principal { id: String },
    /// A client as this operator uses it: the same principal each time.
    Client { client_id: String, client_name: String, operator: String },
    /// A new principal.
    New { name: String, client_id: Option<String> },
}

impl RegistrySnapshot {
    pub(super) fn principal_of_client(
        &self,
        client_id: &str,
        operator: &str,
    ) -> Option<&PrincipalRecord> {
        self.principals.values().find(|one| {
            one.client_id.as_deref() == Some(client_id) && one.operator.as_deref() == Some(operator)
        })
    }
}

impl RegistryTransaction<'_> {
    /// The principal that is meant, made if it is new.
    pub(super) fn principal(&mut self, holder: &GrantRecipient) -> RegistryResult<PrincipalRecord> {
        let (name, client_id, operator) = match holder {
            GrantRecipient::Principal { id } => return self.state.principals.require(id),
            GrantRecipient::Client { client_id, client_name, operator } => {
                if let Some(found) = self.state.principal_of_client(client_id, operator) {
                    return Ok(found.clone());
                }
                (client_name, Some(client_id), Some(operator))
            }
            GrantRecipient::New { name, client_id } => (name, client_id.as_ref(), None),
        };
        let principal = PrincipalRecord {
            id: new_id("prn_")?,
            name: super::text::name("name", name)?,
            client_id: client_id.cloned(),
            operator: operator.cloned(),
            created_at: self.now,
        };
        self.state.principals.put(principal.clone());
        Ok(principal)
    }

    /// Ends everything that some principals hold: grants, connections, and what they ask for.
    pub(super) fn end_principals(&mut self, is_meant: impl Fn(&PrincipalRecord) -> bool) {
        let now = self.now;
        let meant = self.state.principals.values().filter(|one| is_meant(one));
        for principal in meant.map(|one| one.id.clone()).collect::<Vec<_>>() {
            for grant in self.state.live_grants(&principal, now) {
                self.end_grant(grant);
            }
            let requests = &self.state.requests;
            for request in requests.select(|one| one.principal == principal && one.is_pending(now))
            {
                self.deny(request, self.event.caller.id.clone(), None);
            }
            self.end_connections_without_grants(&principal);
        }
    }

    /// Makes room for one more client: when there are too many, those go that registered first and hold nothing.
    pub(super) fn make_room_for_client(&mut self) -> RegistryResult<()> {
        let limit = self.options.limits.clients;
        if self.state.clients.len() < limit {
            return Ok(());
        }
        let holds = |id: &str| {
            self.state.principals.values().any(|one| one.client_id.as_deref() == Some(id))
        };
        // A client has some time to send a person here before another one may push it out.
        let settled = self.now.checked_sub(self.options.lifetimes.code * 2);
        let unused = self.state.clients.values().filter(|client| {
            !holds(&client.id) && settled.as_ref().is_ok_and(|settled| client.created_at < *settled)
        });
        let oldest = unused.min_by_key(|client| client.created_at).map(|client| client.id.clone());
        let id = oldest.ok_or(RegistryError::Full { what: "clients", limit })?;
        self.state.clients.edit().remove(&id);
        Ok(())
    }
}

const MAX_DOCUMENT_BYTES: usize = 64 * 1024;
const FETCH_TIMEOUT: Duration = Duration::from_secs(10);
const MAX_ID_LENGTH: usize = 1000;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClientDocumentError {
    #[error("the client's id is no address of a document: {reason}")]
    NotAnAddress { reason: &'static str },
    #[error(
        "this host fetches no documents of clients; sign in again, and the client registers itself"
    )]
    Refused,
    #[error("the client's document may not be fetched: {reason}")]
    OutOfReach { reason: ReachError },
    #[error(
        "the client's document could not be fetched: {reason}; without a way there, use `capdeck up --no-client-documents`"
    )]
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
        now: Timestamp,
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
        let (id, host) = (document.client_id, url.host_str().unwrap_or_default());
        let client = document.metadata.into_client(ClientKind::Document, id, host, policy, now);
        let client = client.map_err(|error| invalid(error.to_string()))?;
        if client.auth_method != ClientAuthMethod::None {
            let reason = "it shares no secret with this host, so its method has to be `none`";
            return Err(invalid(reason.to_owned()));
        }
        Ok(client)
    }
}

/// Fetches and checks the document of a client: only from public addresses over HTTPS, without redirects, and not for long.
pub async fn fetch_client_document(
    clients: &GuardedClients,
    client_id: &str,
    policy: &RedirectPolicy,
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
    OAuthClient::from_document(client_id, &bytes, policy, WallClock::default().now())
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
