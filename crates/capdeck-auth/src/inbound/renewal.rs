//! A client renews its tokens. Each renewing token works once; one that comes back later means that two have it, and ends
//! the connection. A client that lost the answer may ask again for a short while and gets the same answer.

use jiff::Timestamp;

use super::{
    ClientProof, Credential, EventCaller, Registry, RegistryError, Scopes, TokenRefusal, TokenSet,
    credential::UsedRefreshToken,
    event::{AuditEvent, EventSubject},
    registry::RegistryTransaction,
    token::{TokenHash, TokenKind},
};
use crate::Secret;

/// What came with a request for new tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenRenewal {
    pub client: ClientProof,
    pub refresh_token: Secret,
    /// Fewer scopes narrow the connection for good; none keep what it has.
    pub scopes: Option<Scopes>,
    pub resource: Option<String>,
}

/// The answer to the last renewal of a connection. Kept in memory only, and not for long.
#[derive(Debug)]
pub(super) struct RenewalResponse {
    used: TokenHash,
    answer: TokenSet,
    pub(super) until: Timestamp,
}

impl Registry {
    /// Gives new tokens for a renewing token, which is used up by that.
    pub async fn renew_tokens(
        &self,
        caller: &EventCaller,
        renewal: TokenRenewal,
    ) -> Result<TokenSet, RegistryError> {
        let subject = EventSubject {
            client_id: Some(renewal.client.client_id.clone()),
            ..EventSubject::default()
        };
        let event = AuditEvent::new("credential.refresh", caller, subject);
        self.change(event, move |draft| draft.renew_tokens(&renewal)).await
    }
}

impl RegistryTransaction<'_> {
    fn renew_tokens(&mut self, renewal: &TokenRenewal) -> Result<TokenSet, RegistryError> {
        let refused = |reason| RegistryError::token(TokenRefusal::InvalidGrant, reason);
        let unknown = || refused("this token is not known, over or used up");
        let client = self.proven_client(&renewal.client)?;
        let bytes = TokenKind::Refresh.bytes(renewal.refresh_token.expose()).ok_or_else(unknown)?;
        let family = *bytes.first_chunk::<16>().ok_or_else(unknown)?;
        let mut credential =
            self.connection_of(&TokenHash::of_bytes(&family)).ok_or_else(unknown)?;
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
            return match self.answered_before(&credential, &used) {
                TokenReuse::Answer(answer) => Ok(*answer),
                TokenReuse::Forgotten => Err(unknown()),
                TokenReuse::Stolen => {
                    self.end_stolen(credential);
                    Err(unknown())
                }
            };
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
        let answer = self.give_tokens(credential, family)?;
        let until = self.after(self.options.lifetimes.refresh_grace);
        let remembered = RenewalResponse { used, answer: answer.clone(), until };
        self.volatile.renewals.lock().insert(answer.credential.clone(), remembered);
        Ok(answer)
    }

    /// The connection that a renewing token is or was of.
    pub(super) fn connection_of(&self, family: &TokenHash) -> Option<Credential> {
        let found = self.state.credentials.get(self.state.families.get(family)?)?;
        let kept = found.refresh.as_ref()?;
        kept.family.is(family).then(|| found.clone())
    }

    /// What to make of a token that was used up.
    fn answered_before(&self, credential: &Credential, used: &TokenHash) -> TokenReuse {
        let grace = self.options.lifetimes.refresh_grace;
        let previous = credential.refresh.as_ref().and_then(|refresh| refresh.previous.as_ref());
        let is_fresh = previous.is_some_and(|previous| {
            previous.hash.is(used)
                && previous.used_at.checked_add(grace).is_ok_and(|end| self.now < end)
        });
        if !is_fresh {
            return TokenReuse::Stolen;
        }
        let renewals = self.volatile.renewals.lock();
        match renewals.get(&credential.id).filter(|renewal| renewal.used.is(used)) {
            Some(renewal) => TokenReuse::Answer(Box::new(renewal.answer.clone())),
            None => TokenReuse::Forgotten,
        }
    }
}

/// A renewing token that came again.
enum TokenReuse {
    /// Soon enough: the same answer once more.
    Answer(Box<TokenSet>),
    /// Soon enough, but this process did not give the answer.
    Forgotten,
    /// Too late to be an accident.
    Stolen,
}
