//! A client redeems its code, renews its tokens and gives them back (RFC 7009). Each refresh token works once; one that comes
//! back later means that two have it, and ends the connection. A client that lost the response may ask again for a short while
//! and gets the same one.

use jiff::Timestamp;

use super::{
    AccessTokenRecord, Credential, CredentialKind, EventCaller, EventSubject, NewAuthorizationCode,
    OAuthClient, RefreshTokenRecord, RegistryError, RegistryResult, RegistrySnapshot,
    RegistryTransaction, Scopes, TokenHash, TokenKind, TokenRefusal, TokenService,
    UsedRefreshToken, random,
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

impl TokenService<'_> {
    /// Gives tokens for a code. A code that comes a second time gives nothing and ends what it gave the first time.
    pub async fn redeem_code(
        self,
        caller: &EventCaller,
        redemption: CodeRedemption,
    ) -> RegistryResult<TokenSet> {
        let subject = EventSubject::client(&redemption.client.client_id);
        let redeem = move |draft: &mut RegistryTransaction<'_>| draft.redeem_code(&redemption);
        self.registry.change(caller, "credential.issue", subject, redeem).await
    }

    /// Gives new tokens for a refresh token, which is used up by that.
    pub async fn renew(
        self,
        caller: &EventCaller,
        renewal: TokenRenewal,
    ) -> RegistryResult<TokenSet> {
        let subject = EventSubject::client(&renewal.client.client_id);
        let renew = move |draft: &mut RegistryTransaction<'_>| draft.renew_tokens(&renewal);
        self.registry.change(caller, "credential.refresh", subject, renew).await
    }

    /// Ends the connection that a token is of, whichever of its tokens it is. A token that opens nothing, or is another
    /// client's, changes nothing and is no error: a caller does not learn which it was.
    pub async fn revoke(
        self,
        caller: &EventCaller,
        client: ClientProof,
        token: Secret,
    ) -> RegistryResult<()> {
        let subject = EventSubject::client(&client.client_id);
        self.registry
            .change(caller, "credential.revoke", subject, move |draft| {
                let client = draft.state.proven_client(&client, draft.now)?;
                let is_own = |one: &&Credential| {
                    one.client_id.as_ref() == Some(&client.id) && one.revoked_at.is_none()
                };
                if let Some(found) =
                    draft.state.connection_with(token.expose()).filter(is_own).cloned()
                {
                    draft.event.subject = found.subject();
                    draft.volatile.renewals.lock().remove(&found.id);
                    draft.state.credentials.put(found.revoked(draft.now));
                }
                Ok(())
            })
            .await
    }
}

impl RegistrySnapshot {
    /// The client, if it is who it says.
    pub(super) fn proven_client(
        &self,
        proof: &ClientProof,
        now: Timestamp,
    ) -> RegistryResult<OAuthClient> {
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

    /// The connection of refresh tokens with this half, which stays the same.
    fn connection_of(&self, family: &[u8; 16]) -> Option<&Credential> {
        let family = TokenHash::of_bytes(family);
        let found = self.credentials.get(self.families.get(&family)?)?;
        found.refresh.as_ref().filter(|kept| kept.family.is(&family)).map(|_| found)
    }

    /// The connection that a token opens, or renews.
    fn connection_with(&self, token: &str) -> Option<&Credential> {
        let hash = TokenHash::of(token);
        if let Some(known) = self.tokens.get(&hash).filter(|known| known.hash.is(&hash)) {
            return self.credentials.get(&known.client.credential);
        }
        let bytes = TokenKind::Refresh.bytes(token)?;
        let found = self.connection_of(bytes.first_chunk()?)?;
        found.refresh.as_ref().filter(|kept| kept.current.is(&hash)).map(|_| found)
    }
}

impl RegistryTransaction<'_> {
    fn redeem_code(&mut self, redemption: &CodeRedemption) -> RegistryResult<TokenSet> {
        let refused = |reason| RegistryError::token(TokenRefusal::InvalidGrant, reason);
        let client = self.state.proven_client(&redemption.client, self.now)?;
        let hash = TokenHash::of(redemption.code.expose());
        // A code is used up by sending it, even in an invalid request.
        let code = self.volatile.codes.lock().remove(&hash);
        let Some(code) = code.filter(|code| self.now < code.expires_at) else {
            let came_of = |one: &Credential| {
                one.revoked_at.is_none() && one.code.as_ref().is_some_and(|kept| kept.is(&hash))
            };
            if let Some(stolen) = self.state.credentials.select(came_of).pop() {
                self.end_stolen(stolen);
            }
            return Err(refused("this code is not known, over or used up"));
        };
        let NewAuthorizationCode { authorization, principal, scopes } = code.terms;
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
        if !authorization.challenge.is_met_by(verifier.expose()) {
            return Err(refused("`code_verifier` does not match the code's challenge"));
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

    pub(super) fn give_tokens(
        &mut self,
        mut credential: Credential,
        family: [u8; 16],
    ) -> RegistryResult<TokenSet> {
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
    fn end_stolen(&mut self, credential: Credential) {
        self.end_connection(credential);
        self.commits_on_error = true;
    }

    fn make_room_for_connection(&mut self, principal: &str, audience: Option<&str>) {
        let now = self.now;
        let live = self.state.credentials.select(|one| {
            one.kind == CredentialKind::Oauth
                && one.principal == principal
                && one.audience.as_deref() == audience
                && one.is_live(now)
        });
        if live.len() < MAX_CONNECTIONS {
            return;
        }
        let last_used = |one: &Credential| one.last_used_at.get().unwrap_or(one.created_at);
        if let Some(oldest) = live.into_iter().min_by_key(last_used) {
            self.end_connection(oldest);
        }
    }

    fn renew_tokens(&mut self, renewal: &TokenRenewal) -> RegistryResult<TokenSet> {
        let refused = |reason| RegistryError::token(TokenRefusal::InvalidGrant, reason);
        let unknown = || refused("this token is not known, over or used up");
        let client = self.state.proven_client(&renewal.client, self.now)?;
        let bytes = TokenKind::Refresh.bytes(renewal.refresh_token.expose()).ok_or_else(unknown)?;
        let family = *bytes.first_chunk::<16>().ok_or_else(unknown)?;
        let mut credential = self.state.connection_of(&family).cloned().ok_or_else(unknown)?;
        if credential.client_id.as_ref() != Some(&client.id) {
            return Err(unknown());
        }
        self.event.subject.id = Some(credential.id.clone());
        self.event.subject.principal = Some(credential.principal.clone());
        let used = TokenHash::of(renewal.refresh_token.expose());
        let Some(kept) = credential.refresh.clone().filter(|_| credential.is_live(self.now)) else {
            return Err(unknown());
        };
        if !kept.current.is(&used) {
            let grace = self.options.lifetimes.refresh_grace;
            let is_retry = kept.previous.is_some_and(|previous| {
                previous.hash.is(&used)
                    && previous.used_at.checked_add(grace).is_ok_and(|end| self.now < end)
            });
            if !is_retry {
                self.end_stolen(credential);
                return Err(unknown());
            }
            // Another process may have given the response.
            let renewals = self.volatile.renewals.lock();
            let given = renewals.get(&credential.id).filter(|renewal| renewal.used.is(&used));
            return given.map(|renewal| renewal.response.clone()).ok_or_else(unknown);
        }
        if kept.expires_at <= self.now {
            return Err(unknown());
        }
        if self.state.live_grants(&credential.principal, self.now).is_empty() {
            return Err(refused("what was agreed to was taken back, or is over"));
        }
        if let (Some(meant), Some(given)) = (&credential.audience, &renewal.resource)
            && meant != given
        {
            let reason = "`resource` is not the one that the token is for";
            return Err(RegistryError::token(TokenRefusal::InvalidTarget, reason));
        }
        if let Some(scopes) = renewal.scopes.as_ref().filter(|scopes| !scopes.is_empty()) {
            if !credential.scopes.covers(scopes) {
                let reason = "a scope goes beyond what was agreed to; sign in again for more";
                return Err(RegistryError::token(TokenRefusal::InvalidScope, reason));
            }
            credential.scopes = scopes.clone();
        }
        if let Some(refresh) = &mut credential.refresh {
            refresh.previous = Some(UsedRefreshToken { hash: used, used_at: self.now });
        }
        let response = self.give_tokens(credential, family)?;
        let until = self.after(self.options.lifetimes.refresh_grace);
        let remembered = RenewalResponse { used, response: response.clone(), until };
        self.volatile.renewals.lock().insert(response.credential.clone(), remembered);
        Ok(response)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenRenewal {
    pub client: ClientProof,
    pub refresh_token: Secret,
    /// Fewer scopes narrow the connection for good; none keep what it has.
    pub scopes: Option<Scopes>,
    pub resource: Option<String>,
}

/// The response to the last renewal of a connection. Kept in memory only, and not for long.
#[derive(Debug)]
pub(super) struct RenewalResponse {
    used: TokenHash,
    response: TokenSet,
    pub(super) until: Timestamp,
}
