//! Clients: the programs that sign in, and the principals that they are for the people who use them.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use url::Url;

use super::{
    ClientService, EventCaller, EventSubject, LastUseTime, RedirectPolicy, RegistryError,
    RegistryResult, RegistrySnapshot, RegistryTransaction, TokenHash, TokenKind, new_id, redirect,
    text,
};
use crate::Secret;

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
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::ClientSecretPost => "client_secret_post",
            Self::ClientSecretBasic => "client_secret_basic",
        }
    }

    pub fn parse(name: &str) -> Option<Self> {
        [Self::None, Self::ClientSecretPost, Self::ClientSecretBasic]
            .into_iter()
            .find(|method| method.as_str() == name)
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
    ) -> RegistryResult<(Vec<String>, ClientAuthMethod)> {
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
    pub(super) fn name(&self, id: &str) -> RegistryResult<String> {
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

/// For whom something is asked.
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
