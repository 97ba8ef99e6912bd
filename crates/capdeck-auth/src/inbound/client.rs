//! Clients: the programs that sign in.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use url::Url;

use super::{
    EventCaller, LastUseTime, RedirectPolicy, Registry, RegistryError,
    collection::RegistryRecord,
    event::{AuditEvent, EventSubject},
    redirect, text,
    token::{TokenHash, TokenKind, new_id},
};
use crate::Secret;

/// How many redirects a client may name.
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
    #[serde(default)]
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
pub enum ClientAuthMethod {
    /// By the proof that it asked for the code, and nothing else.
    #[default]
    None,
    ClientSecretPost,
    ClientSecretBasic,
}

/// What a client says about itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct ClientMetadata {
    #[serde(default)]
    pub redirect_uris: Vec<String>,
    #[serde(default)]
    pub client_name: Option<String>,
    #[serde(default)]
    pub client_uri: Option<String>,
    #[serde(default)]
    pub token_endpoint_auth_method: Option<String>,
    #[serde(default)]
    pub grant_types: Option<Vec<String>>,
    #[serde(default)]
    pub response_types: Option<Vec<String>>,
}

/// A client with a secret that is shown this once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegisteredClient {
    pub client: OAuthClient,
    pub secret: Option<Secret>,
}

impl ClientAuthMethod {
    /// The method's name in metadata.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::ClientSecretPost => "client_secret_post",
            Self::ClientSecretBasic => "client_secret_basic",
        }
    }

    /// Reads a method by name.
    pub fn parse(name: &str) -> Option<Self> {
        [Self::None, Self::ClientSecretPost, Self::ClientSecretBasic]
            .into_iter()
            .find(|method| method.as_str() == name)
    }
}

impl RegistryRecord for OAuthClient {
    const FILE: &'static str = "clients.json";

    fn id(&self) -> &str {
        &self.id
    }
}

impl OAuthClient {
    /// Whether it may send people to this address. Exact, but for the port of a loopback address.
    pub fn has_redirect(&self, uri: &str) -> bool {
        self.redirect_uris.iter().any(|registered| redirect::is_registered(registered, uri))
    }

    /// Whether all it names are programs on a person's own machine. Anybody can pretend to be such a client, so people are
    /// told.
    pub fn is_local_only(&self) -> bool {
        self.redirect_uris
            .iter()
            .all(|uri| Url::parse(uri).is_ok_and(|url| redirect::is_loopback(&url)))
    }
}

impl ClientMetadata {
    /// What a client says, as far as it can be kept.
    pub(super) fn check(
        &self,
        policy: &RedirectPolicy,
    ) -> Result<(Vec<String>, ClientAuthMethod), RegistryError> {
        if self.redirect_uris.is_empty() || self.redirect_uris.len() > MAX_REDIRECTS {
            let reason = format!("1 to {MAX_REDIRECTS} of them");
            return Err(RegistryError::invalid("redirect_uris", reason));
        }
        for uri in &self.redirect_uris {
            policy.check(uri).map_err(|reason| RegistryError::invalid("redirect_uris", reason))?;
        }
        let lacks = |list: &Option<Vec<String>>, needed: &str| {
            list.as_ref().is_some_and(|list| !list.iter().any(|one| one == needed))
        };
        if lacks(&self.grant_types, "authorization_code") {
            let reason = "`authorization_code` is among them";
            return Err(RegistryError::invalid("grant_types", reason));
        }
        if lacks(&self.response_types, "code") {
            return Err(RegistryError::invalid("response_types", "`code` is among them"));
        }
        // A client that does not say how it shows who it is has nothing to show.
        let method = self.token_endpoint_auth_method.as_deref().unwrap_or("none");
        let method = ClientAuthMethod::parse(method).ok_or_else(|| {
            let reason = "`none`, `client_secret_post` or `client_secret_basic`";
            RegistryError::invalid("token_endpoint_auth_method", reason)
        })?;
        Ok((self.redirect_uris.clone(), method))
    }

    /// The name to show. A client without one is shown by its id.
    pub(super) fn name(&self, id: &str) -> Result<String, RegistryError> {
        match self.client_name.as_deref().map(str::trim).filter(|name| !name.is_empty()) {
            Some(name) => text::name("client_name", name),
            None => Ok(id.chars().take(100).collect()),
        }
    }

    /// The page about it, if it can be shown as a link.
    pub(super) fn page(&self) -> Option<String> {
        let uri = self.client_uri.as_deref().filter(|uri| uri.len() <= 500)?;
        let url = Url::parse(uri).ok().filter(|url| url.scheme() == "https")?;
        Some(url.into())
    }
}

impl Registry {
    /// A client by id. Those that are known by a document are there once they signed in.
    pub fn client(&self, id: &str) -> Option<OAuthClient> {
        self.state().clients.get(id).cloned()
    }

    /// Registers a client by what it says about itself. Nothing of that is believed but where it wants people to be sent.
    pub async fn register_client(
        &self,
        caller: &EventCaller,
        metadata: ClientMetadata,
    ) -> Result<RegisteredClient, RegistryError> {
        let event = AuditEvent::new("client.register", caller, EventSubject::default());
        self.change(event, move |draft| {
            let (redirect_uris, auth_method) = metadata.check(&draft.options.redirects)?;
            draft.make_room_for_client()?;
            let id = new_id("cli_")?;
            let secret = match auth_method {
                ClientAuthMethod::None => None,
                ClientAuthMethod::ClientSecretPost | ClientAuthMethod::ClientSecretBasic => {
                    Some(TokenKind::ClientSecret.create()?)
                }
            };
            let client = OAuthClient {
                kind: ClientKind::Registered,
                name: metadata.name(&id)?,
                redirect_uris,
                client_uri: metadata.page(),
                auth_method,
                created_at: draft.now,
                last_used_at: LastUseTime::default(),
                secret: secret.as_ref().map(|secret| TokenHash::of(secret.expose())),
                id,
            };
            draft.event.subject.client_id = Some(client.id.clone());
            draft.state.clients.put(client.clone());
            Ok(RegisteredClient { client, secret })
        })
        .await
    }

    /// Removes a client with everything it holds: connections, grants, requests.
    pub async fn remove_client(&self, caller: &EventCaller, id: &str) -> Result<(), RegistryError> {
        let subject = EventSubject { client_id: Some(id.to_owned()), ..EventSubject::default() };
        let (id, event) = (id.to_owned(), AuditEvent::new("client.remove", caller, subject));
        self.change(event, move |draft| {
            if !draft.state.clients.contains_key(&id) {
                return Err(RegistryError::not_found("client", &id));
            }
            draft.state.clients.edit().remove(&id);
            draft.end_client(&id);
            Ok(())
        })
        .await
    }
}
