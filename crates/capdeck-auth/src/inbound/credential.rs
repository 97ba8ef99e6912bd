//! Credentials: a connection of one client, and the tokens that open it.

use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{
    EventCaller, LastUseTime, Registry, RegistryError, Scopes,
    collection::RegistryRecord,
    event::{AuditEvent, EventSubject},
    registry::RegistryTransaction,
    token::{TokenHash, TokenKind},
};

/// A connection as it is kept. It keeps its id when its tokens are renewed; of tokens there are only hashes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Credential {
    pub id: String,
    pub kind: CredentialKind,
    /// Who holds the grants that it opens.
    pub principal: String,
    pub client_id: Option<String>,
    pub client_name: String,
    pub scopes: Scopes,
    /// The resource that its tokens are for; none means every one of this host.
    pub audience: Option<String>,
    pub created_at: Timestamp,
    /// When it ends unless it is renewed.
    pub expires_at: Option<Timestamp>,
    pub revoked_at: Option<Timestamp>,
    #[serde(default)]
    pub last_used_at: LastUseTime,
    pub(super) tokens: Vec<AccessTokenRecord>,
    #[serde(default)]
    pub(super) refresh: Option<RefreshTokenRecord>,
    /// The code that it was given for. Somebody who comes with the code again ends it.
    #[serde(default)]
    pub(super) code: Option<TokenHash>,
}

/// How a connection came to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CredentialKind {
    /// A client signed in.
    Oauth,
    /// An agent signed up and was approved.
    Enrollment,
    /// An operator made it by hand.
    Connection,
}

/// One token that opens a connection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AccessTokenRecord {
    pub(super) hash: TokenHash,
    pub(super) expires_at: Option<Timestamp>,
}

/// What renews a connection. The first half of such a token stays the same, the second changes with each renewal; so a token
/// that was used up is known as one of this connection for ever, without a list of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RefreshTokenRecord {
    /// The hash of the half that stays.
    pub(super) family: TokenHash,
    pub(super) current: TokenHash,
    /// The one before, and when it was used.
    pub(super) previous: Option<UsedRefreshToken>,
    pub(super) expires_at: Timestamp,
}

/// A token that renewed a connection once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct UsedRefreshToken {
    pub(super) hash: TokenHash,
    pub(super) used_at: Timestamp,
}

/// Who somebody with a token is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthenticatedClient {
    /// The id of the credential, never the token.
    pub credential: String,
    pub kind: CredentialKind,
    pub principal: String,
    pub client_id: Option<String>,
    pub client_name: String,
    pub scopes: Scopes,
    /// The resource that the token is for; none means every one of this host.
    pub audience: Option<String>,
    /// When this token ends.
    pub expires_at: Option<Timestamp>,
}

impl RegistryRecord for Credential {
    const FILE: &'static str = "credentials.json";

    fn id(&self) -> &str {
        &self.id
    }
}

impl Credential {
    /// Whether it is neither over nor taken back.
    pub fn is_live(&self, now: Timestamp) -> bool {
        self.revoked_at.is_none() && self.expires_at.is_none_or(|expires| now < expires)
    }

    pub(super) fn authenticated(&self, token: &AccessTokenRecord) -> AuthenticatedClient {
        AuthenticatedClient {
            credential: self.id.clone(),
            kind: self.kind,
            principal: self.principal.clone(),
            client_id: self.client_id.clone(),
            client_name: self.client_name.clone(),
            scopes: self.scopes.clone(),
            audience: self.audience.clone(),
            expires_at: token.expires_at,
        }
    }
}

impl Registry {
    /// Who comes with this token; `None` for whatever opens nothing. Hashes once, looks once, and leaves the disk alone.
    pub fn authenticate(&self, token: &str) -> Option<Arc<AuthenticatedClient>> {
        if !TokenKind::Access.fits(token) && !TokenKind::Enrollment.fits(token) {
            return None;
        }
        let hash = TokenHash::of(token);
        let state = self.state();
        let found = state.tokens.get(&hash).filter(|found| found.hash.is(&hash))?;
        let now = self.now();
        if found.client.expires_at.is_some_and(|expires| expires <= now) {
            return None;
        }
        found.last_used.record(now);
        Some(Arc::clone(&found.client))
    }

    /// A connection by id.
    pub fn credential(&self, id: &str) -> Option<Credential> {
        self.state().credentials.get(id).cloned()
    }

    /// Whether a connection is there, and neither over nor taken back.
    pub fn is_connected(&self, id: &str) -> bool {
        let now = self.now();
        self.state().credentials.get(id).is_some_and(|found| found.is_live(now))
    }

    /// Ends a connection at once, with all of its tokens.
    pub async fn revoke_credential(
        &self,
        caller: &EventCaller,
        id: &str,
    ) -> Result<(), RegistryError> {
        let (id, event) =
            (id.to_owned(), AuditEvent::new("credential.revoke", caller, EventSubject::id(id)));
        self.change(event, move |draft| {
            let now = draft.now;
            let found = draft.state.credentials.get(&id).filter(|one| one.revoked_at.is_none());
            let found = found.ok_or_else(|| RegistryError::not_found("connection", &id))?.clone();
            draft.event.subject.principal = Some(found.principal.clone());
            draft.event.subject.client_id.clone_from(&found.client_id);
            draft.state.credentials.put(found.revoked(now));
            Ok(())
        })
        .await
    }
}

impl Credential {
    /// Ended. Its tokens are forgotten, all but what tells that one of them is used again.
    pub(super) fn revoked(mut self, now: Timestamp) -> Self {
        self.revoked_at = Some(now);
        self.tokens.clear();
        self
    }
}

impl RegistryTransaction<'_> {
    /// Ends every connection of a principal that has no grant left.
    pub(super) fn end_connections_without_grants(&mut self, principal: &str) {
        let now = self.now;
        let has_grant = self
            .state
            .grants
            .values()
            .any(|grant| grant.principal == principal && grant.is_live(now));
        if has_grant {
            return;
        }
        let live = |one: &&Credential| one.principal == principal && one.is_live(now);
        let ended: Vec<Credential> =
            self.state.credentials.values().filter(live).cloned().collect();
        for credential in ended {
            let subject = EventSubject {
                id: Some(credential.id.clone()),
                principal: Some(principal.to_owned()),
                client_id: credential.client_id.clone(),
                ..EventSubject::default()
            };
            self.consequences.push(AuditEvent::new(
                "credential.revoke",
                &self.event.caller,
                subject,
            ));
            self.state.credentials.put(credential.revoked(now));
        }
    }
}
