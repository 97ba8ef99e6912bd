//! Connections that an operator makes by hand, for programs that can neither sign in nor sign up.

use jiff::Timestamp;

use super::{
    Credential, CredentialKind, EventCaller, LastUseTime, Registry, RegistryError, Scopes,
    credential::AccessTokenRecord,
    event::{AuditEvent, EventSubject},
    registry::RegistryTransaction,
    token::{TokenHash, TokenKind, new_id},
};
use crate::Secret;

/// A connection to be made. Its principal holds a grant already.
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

impl Registry {
    /// Makes a connection by hand.
    pub async fn open_connection(
        &self,
        caller: &EventCaller,
        new: NewCredential,
    ) -> Result<IssuedCredential, RegistryError> {
        let event = AuditEvent::new("credential.issue", caller, EventSubject::default());
        self.change(event, move |draft| {
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
    /// A connection of somebody who holds a grant, without tokens yet.
    pub(super) fn credential_for(
        &self,
        principal: &str,
        scopes: Scopes,
    ) -> Result<Credential, RegistryError> {
        let limit = self.options.limits.credentials;
        if self.state.credentials.len() >= limit {
            return Err(RegistryError::Full { what: "connections", limit });
        }
        if scopes.is_empty() {
            return Err(RegistryError::invalid("scopes", "at least one"));
        }
        let found = self.state.principals.get(principal);
        let principal = found.ok_or_else(|| RegistryError::not_found("principal", principal))?;
        if self.state.live_grants(&principal.id, self.now).is_empty() {
            return Err(RegistryError::Forbidden { reason: "nothing was granted yet" });
        }
        Ok(Credential {
            id: new_id("crd_")?,
            kind: CredentialKind::Connection,
            principal: principal.id.clone(),
            client_id: principal.client_id.clone(),
            client_name: principal.name.clone(),
            scopes,
            audience: None,
            created_at: self.now,
            expires_at: None,
            revoked_at: None,
            last_used_at: LastUseTime::default(),
            tokens: Vec::new(),
            refresh: None,
            code: None,
        })
    }
}
