//! A client redeems its code.

use jiff::Timestamp;

use super::{
    Credential, CredentialKind, EventCaller, OAuthClient, Registry, RegistryError, Scopes,
    TokenRefusal,
    authorization::AuthorizationCode,
    credential::{AccessTokenRecord, RefreshTokenRecord},
    event::{AuditEvent, EventSubject},
    registry::RegistryTransaction,
    state::RegistrySnapshot,
    token::{TokenHash, TokenKind, random},
};
use crate::Secret;

/// How many connections one principal may have to one resource. The one that was used longest ago makes room.
const MAX_CONNECTIONS: usize = 20;

/// Who a client says it is when it asks for tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientProof {
    pub client_id: String,
    pub secret: Option<Secret>,
}

/// What came with a code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeRedemption {
    pub client: ClientProof,
    pub code: Secret,
    pub verifier: Option<Secret>,
    /// Has to be the one that the code was sent to. May be left out: the verifier says the same.
    pub redirect_uri: Option<String>,
    pub resource: Option<String>,
}

/// Tokens, shown this once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenSet {
    /// The id of the connection that they open.
    pub credential: String,
    pub access_token: Secret,
    pub expires_at: Timestamp,
    pub refresh_token: Secret,
    pub scopes: Scopes,
    pub audience: Option<String>,
}

impl Registry {
    /// Gives tokens for a code. A code that comes a second time gives nothing and ends what it gave the first time.
    pub async fn redeem_code(
        &self,
        caller: &EventCaller,
        redemption: CodeRedemption,
    ) -> Result<TokenSet, RegistryError> {
        let subject = EventSubject {
            client_id: Some(redemption.client.client_id.clone()),
            ..EventSubject::default()
        };
        let event = AuditEvent::new("credential.issue", caller, subject);
        self.change(event, move |draft| draft.redeem_code(&redemption)).await
    }
}

impl RegistrySnapshot {
    /// The client, if it is who it says.
    pub(super) fn proven_client(
        &self,
        proof: &ClientProof,
        now: Timestamp,
    ) -> Result<OAuthClient, RegistryError> {
        let refused = || {
            let reason = "this client is not known here, or its secret is wrong";
            RegistryError::token(TokenRefusal::InvalidClient, reason)
        };
        let client = self.clients.get(&proof.client_id).ok_or_else(refused)?;
        if let Some(kept) = &client.secret {
            let given = proof.secret.as_ref().map(|secret| TokenHash::of(secret.expose()));
            given.filter(|given| kept.is(given)).ok_or_else(refused)?;
        }
        client.last_used_at.record(now);
        Ok(client.clone())
    }
}

impl RegistryTransaction<'_> {
    /// The client, if it is who it says.
    pub(super) fn proven_client(&self, proof: &ClientProof) -> Result<OAuthClient, RegistryError> {
        self.state.proven_client(proof, self.now)
    }

    fn redeem_code(&mut self, redemption: &CodeRedemption) -> Result<TokenSet, RegistryError> {
        let refused = |reason| RegistryError::token(TokenRefusal::InvalidGrant, reason);
        let client = self.proven_client(&redemption.client)?;
        let hash = TokenHash::of(redemption.code.expose());
        // Whoever shows a code uses it up, whatever else is wrong.
        let code = self.volatile.codes.lock().remove(&hash);
        let Some(code) = code.filter(|code| self.now < code.expires_at) else {
            self.end_what_came_of(&hash);
            return Err(refused("this code is not known, over or used up"));
        };
        let AuthorizationCode { authorization, principal, scopes, .. } = code;
        if authorization.client_id != client.id {
            return Err(refused("this code was given to another client"));
        }
        if redemption.redirect_uri.as_ref().is_some_and(|uri| *uri != authorization.redirect_uri) {
            return Err(refused("`redirect_uri` is not the one that the code was sent to"));
        }
        let verifier = redemption.verifier.as_ref().ok_or(RegistryError::token(
            TokenRefusal::InvalidRequest,
            "`code_verifier` is missing",
        ))?;
        if !authorization.is_met_by(verifier.expose()) {
            return Err(refused("`code_verifier` does not fit the code"));
        }
        let audience = match (authorization.resource, &redemption.resource) {
            (Some(meant), Some(given)) if meant != *given => {
                let reason = "`resource` is not the one that the code is for";
                return Err(RegistryError::token(TokenRefusal::InvalidTarget, reason));
            }
            (meant, given) => meant.or_else(|| given.clone()),
        };
        self.make_room_for_connection(&principal, audience.as_deref());
        let mut credential =
            self.credential_for(&principal, scopes).map_err(|error| match error {
                RegistryError::Forbidden { .. } | RegistryError::NotFound { .. } => {
                    refused("what was agreed to was taken back")
                }
                other => other,
            })?;
        credential.kind = CredentialKind::Oauth;
        credential.client_id = Some(client.id);
        credential.client_name = client.name;
        credential.audience = audience;
        credential.code = Some(hash);
        self.event.subject.id = Some(credential.id.clone());
        self.event.subject.principal = Some(principal);
        let family = random::<16>()?;
        self.give_tokens(credential, family)
    }

    /// Gives a connection its next tokens.
    pub(super) fn give_tokens(
        &mut self,
        mut credential: Credential,
        family: [u8; 16],
    ) -> Result<TokenSet, RegistryError> {
        /// Older access tokens stay until they are over, but not without limit.
        const MAX_ACCESS_TOKENS: usize = 4;
        let now = self.now;
        let access_token = TokenKind::Access.create()?;
        let expires_at = self.after(self.options.lifetimes.access_token);
        let mut bytes = [0; 32];
        bytes
            .iter_mut()
            .zip(family.into_iter().chain(random::<16>()?))
            .for_each(|(to, from)| *to = from);
        let refresh_token = TokenKind::Refresh.written(&bytes);
        credential.tokens.retain(|token| token.expires_at.is_none_or(|end| now < end));
        while credential.tokens.len() >= MAX_ACCESS_TOKENS {
            credential.tokens.remove(0);
        }
        credential.tokens.push(AccessTokenRecord {
            hash: TokenHash::of(access_token.expose()),
            expires_at: Some(expires_at),
        });
        let renewable_until = self.after(self.options.lifetimes.refresh_token).max(expires_at);
        let previous = credential.refresh.take().and_then(|refresh| refresh.previous);
        credential.refresh = Some(RefreshTokenRecord {
            family: TokenHash::of_bytes(&family),
            current: TokenHash::of(refresh_token.expose()),
            previous,
            expires_at: renewable_until,
        });
        credential.expires_at = Some(renewable_until);
        let tokens = TokenSet {
            credential: credential.id.clone(),
            access_token,
            expires_at,
            refresh_token,
            scopes: credential.scopes.clone(),
            audience: credential.audience.clone(),
        };
        self.state.credentials.put(credential);
        Ok(tokens)
    }

    /// Ends a connection because something of it came back that was used up: there are two who have it.
    pub(super) fn end_stolen(&mut self, credential: Credential) {
        self.end_by_the_way(credential);
        self.commits_on_error = true;
    }

    /// Ends a connection as a consequence of something else, with a line of its own.
    fn end_by_the_way(&mut self, credential: Credential) {
        let subject = EventSubject {
            id: Some(credential.id.clone()),
            principal: Some(credential.principal.clone()),
            client_id: credential.client_id.clone(),
            ..EventSubject::default()
        };
        self.consequences.push(AuditEvent::new("credential.revoke", &self.event.caller, subject));
        self.volatile.renewals.lock().remove(&credential.id);
        self.state.credentials.put(credential.revoked(self.now));
    }

    fn end_what_came_of(&mut self, code: &TokenHash) {
        let came_of = |one: &&Credential| {
            one.revoked_at.is_none() && one.code.as_ref().is_some_and(|kept| kept.is(code))
        };
        if let Some(stolen) = self.state.credentials.values().find(came_of).cloned() {
            self.end_stolen(stolen);
        }
    }

    fn make_room_for_connection(&mut self, principal: &str, audience: Option<&str>) {
        let now = self.now;
        let mut live: Vec<&Credential> = self
            .state
            .credentials
            .values()
            .filter(|one| {
                one.kind == CredentialKind::Oauth
                    && one.principal == principal
                    && one.audience.as_deref() == audience
                    && one.is_live(now)
            })
            .collect();
        if live.len() < MAX_CONNECTIONS {
            return;
        }
        live.sort_by_key(|one| one.last_used_at.get().unwrap_or(one.created_at));
        let Some(oldest) = live.first().map(|one| Credential::clone(one)) else { return };
        self.end_by_the_way(oldest);
    }
}
