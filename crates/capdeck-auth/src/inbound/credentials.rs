//! Credentials: a connection of one client, the tokens that open it, and what it opens now.

use std::{collections::HashMap, sync::Arc};

use jiff::Timestamp;
use parking_lot::RwLock;
use serde::{Deserialize, Serialize};

use super::{
    Access, EventCaller, EventSubject, LastUseTime, Principal, PrincipalRecord, Registry,
    RegistryError, RegistryRecord, RegistryResult, RegistrySnapshot, RegistryTransaction, Scopes,
    TokenHash, TokenKind, TokenService, check_room, new_id,
};
use crate::Secret;

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
    /// The code that it was given for. The same code again ends it.
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

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct UsedRefreshToken {
    pub(super) hash: TokenHash,
    pub(super) used_at: Timestamp,
}

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

impl Credential {
    /// A connection made by hand, without tokens yet.
    pub(super) fn new(
        id: String,
        principal: &PrincipalRecord,
        scopes: Scopes,
        now: Timestamp,
    ) -> Self {
        Self {
            id,
            kind: CredentialKind::Connection,
            principal: principal.id.clone(),
            client_id: principal.client_id.clone(),
            client_name: principal.name.clone(),
            scopes,
            audience: None,
            created_at: now,
            expires_at: None,
            revoked_at: None,
            last_used_at: LastUseTime::default(),
            tokens: Vec::new(),
            refresh: None,
            code: None,
        }
    }

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

    pub(super) fn subject(&self) -> EventSubject {
        EventSubject {
            id: Some(self.id.clone()),
            principal: Some(self.principal.clone()),
            client_id: self.client_id.clone(),
            ..EventSubject::default()
        }
    }

    /// Ended. Its tokens are forgotten, all but what tells that one of them is used again.
    pub(super) fn revoked(mut self, now: Timestamp) -> Self {
        self.revoked_at = Some(now);
        self.tokens.clear();
        self
    }
}

impl Registry {
    /// The client with this token; `None` for a token that opens nothing. Hashes once, looks once, and leaves the disk alone.
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

    /// What a credential may use now; `None` once it opens nothing. The same value until something of it changes.
    pub fn access(&self, credential: &str) -> Option<Arc<Access>> {
        let (state, now) = (self.state(), self.now());
        let cache = &self.inner.accesses.0;
        if let Some(known) = cache.read().get(credential)
            && known.generation == state.generation
            && now < known.valid_until
        {
            return Some(Arc::clone(&known.access));
        }
        let found = state.credentials.get(credential).filter(|found| found.is_live(now));
        let read = found.and_then(|found| read(&state, found, now));
        let mut cache = cache.write();
        let Some((access, valid_until)) = read else {
            cache.remove(credential);
            return None;
        };
        // A change of something else keeps the value, so that nothing is built from it again.
        let access = match cache.get(credential).filter(|known| *known.access == access) {
            Some(known) => Arc::clone(&known.access),
            None => Arc::new(access),
        };
        let known =
            CachedAccess { access: Arc::clone(&access), generation: state.generation, valid_until };
        cache.insert(credential.to_owned(), known);
        Some(access)
    }
}

impl TokenService<'_> {
    pub fn credential(self, id: &str) -> Option<Credential> {
        self.registry.state().credentials.get(id).cloned()
    }

    /// Whether a connection is there, and neither over nor taken back.
    pub fn is_connected(self, id: &str) -> bool {
        let now = self.registry.now();
        self.registry.state().credentials.get(id).is_some_and(|found| found.is_live(now))
    }

    /// Ends a connection at once, with all of its tokens.
    pub async fn revoke_credential(self, caller: &EventCaller, id: &str) -> RegistryResult<()> {
        let id = id.to_owned();
        self.registry
            .change(caller, "credential.revoke", EventSubject::id(&id), move |draft| {
                let found = draft.state.credentials.require(&id)?;
                if found.revoked_at.is_some() {
                    return Err(RegistryError::not_found(Credential::NAME, &id));
                }
                draft.event.subject = found.subject();
                draft.state.credentials.put(found.revoked(draft.now));
                Ok(())
            })
            .await
    }

    pub async fn open_connection(
        self,
        caller: &EventCaller,
        new: NewCredential,
    ) -> RegistryResult<IssuedCredential> {
        self.registry
            .change(caller, "credential.issue", EventSubject::default(), move |draft| {
                draft.event.subject.principal = Some(new.principal.clone());
                if new.expires_at <= draft.now {
                    return Err(RegistryError::invalid("expires_at", "a time to come"));
                }
                let mut credential = draft.credential_for(&new.principal, new.scopes)?;
                let token = TokenKind::Access.create()?;
                let expires_at = Some(new.expires_at);
                credential
                    .tokens
                    .push(AccessTokenRecord { hash: TokenHash::of(token.expose()), expires_at });
                credential.audience = new.audience;
                credential.expires_at = expires_at;
                draft.event.subject.id = Some(credential.id.clone());
                draft.state.credentials.put(credential.clone());
                Ok(IssuedCredential { credential, token })
            })
            .await
    }
}

impl RegistryTransaction<'_> {
    pub(super) fn end_connections_without_grants(&mut self, principal: &str) {
        let now = self.now;
        // The index does not have this change yet.
        let mut grants = self.state.grants.values();
        if grants.any(|grant| grant.principal == principal && grant.is_live(now)) {
            return;
        }
        let live = |one: &Credential| one.principal == principal && one.is_live(now);
        for credential in self.state.credentials.select(live) {
            self.end_connection(credential);
        }
    }

    /// Ends a connection as a consequence of something else.
    pub(super) fn end_connection(&mut self, credential: Credential) {
        self.record_also("credential.revoke", credential.subject());
        self.volatile.renewals.lock().remove(&credential.id);
        self.state.credentials.put(credential.revoked(self.now));
    }

    /// A connection of a principal that holds a grant, without tokens yet.
    pub(super) fn credential_for(
        &self,
        principal: &str,
        scopes: Scopes,
    ) -> RegistryResult<Credential> {
        let limit = self.options.limits.credentials;
        check_room("connections", self.state.credentials.len(), limit)?;
        if scopes.is_empty() {
            return Err(RegistryError::invalid("scopes", "at least one"));
        }
        let principal = self.state.principals.require(principal)?;
        if self.state.live_grants(&principal.id, self.now).is_empty() {
            return Err(RegistryError::Forbidden { reason: "nothing was granted yet" });
        }
        Ok(Credential::new(new_id("crd_")?, &principal, scopes, self.now))
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewCredential {
    pub principal: String,
    pub scopes: Scopes,
    /// The resource that it is for; none means every one of this host.
    pub audience: Option<String>,
    pub expires_at: Timestamp,
}

/// A connection with its token, which is shown this once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IssuedCredential {
    pub credential: Credential,
    pub token: Secret,
}

/// Accesses by credential, each until something of it changes.
#[derive(Debug, Default)]
pub(super) struct AccessCache(RwLock<HashMap<String, CachedAccess>>);

#[derive(Debug)]
struct CachedAccess {
    access: Arc<Access>,
    /// The state that it was read from.
    generation: u64,
    /// When something in it ends.
    valid_until: Timestamp,
}

/// What a live credential opens, and until when nothing of that ends by itself.
fn read(
    state: &RegistrySnapshot,
    credential: &Credential,
    now: Timestamp,
) -> Option<(Access, Timestamp)> {
    let grants = state.live_grants(&credential.principal, now);
    if grants.is_empty() {
        return None;
    }
    let ends = grants.iter().filter_map(|grant| grant.expires_at).chain(credential.expires_at);
    let valid_until = ends.min().unwrap_or(Timestamp::MAX);
    let terms = grants.iter().map(|grant| (&grant.target, &grant.scopes));
    let access =
        Access::new(Principal::named(&credential.principal), credential.scopes.clone(), terms);
    Some((access, valid_until))
}

impl AccessCache {
    pub(super) fn sweep(&self, state: &RegistrySnapshot) {
        self.0.write().retain(|id, _| state.credentials.contains_key(id));
    }
}
