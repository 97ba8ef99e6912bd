//! Sessions of operators at the dashboard. They sign in with the admin key, with a key of their own, or through a provider.

use std::net::IpAddr;

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq as _;

use super::{
    ADMIN_OPERATOR, AdminKey, AuthenticatedOperator, CredentialClass, EventCaller, EventSubject,
    FailedAttempt, LastUseTime, Operator, OperatorAccount, OperatorSubject, RegistryError,
    RegistryInner, RegistryResult, RegistrySnapshot, RegistryTransaction, SessionService,
    SignUpDomains, TokenHash, TokenKind, check_room, new_id,
};
use crate::{ProviderIdentity, Secret};

/// A session as it is kept: without what opens it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionRecord {
    pub(super) id: String,
    pub(super) operator: String,
    pub(super) created_at: Timestamp,
    pub(super) expires_at: Timestamp,
    #[serde(default)]
    pub(super) last_used_at: LastUseTime,
    pub(super) token: TokenHash,
    /// Of a session of the admin key: which key it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) key_proof: Option<TokenHash>,
}

#[derive(Debug, Clone)]
pub struct NewSession {
    /// What the cookie holds. Shown this once.
    pub token: Secret,
    pub session: OperatorSession,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperatorSession {
    pub id: String,
    pub operator: AuthenticatedOperator,
    pub expires_at: Timestamp,
    csrf: Secret,
}

impl SessionRecord {
    pub(super) fn is_live(&self, now: Timestamp, idle: std::time::Duration) -> bool {
        let last = self.last_used_at.get().unwrap_or(self.created_at);
        now < self.expires_at && last.checked_add(idle).is_ok_and(|end| now < end)
    }
}

impl OperatorSession {
    /// The value that every change sends beside the cookie. It is derived from the cookie, which no other site can read.
    pub fn csrf(&self) -> &str {
        self.csrf.expose()
    }

    /// Whether a request brought it. Compares in constant time.
    pub fn has_csrf(&self, given: &str) -> bool {
        self.csrf().as_bytes().ct_eq(given.as_bytes()).into()
    }
}

impl SessionService<'_> {
    /// Who has this session; `None` when it is over.
    pub fn find(self, token: &str) -> Option<OperatorSession> {
        if !TokenKind::Session.fits(token) {
            return None;
        }
        let hash = TokenHash::of(token);
        let (state, now) = (self.registry.state(), self.registry.now());
        let kept = state.sessions.get(state.session_tokens.get(&hash)?)?;
        let RegistryInner { options, volatile, .. } = &*self.registry.inner;
        if !kept.token.is(&hash) || !kept.is_live(now, options.lifetimes.session_idle) {
            return None;
        }
        if let (Some(proof), Some(key)) = (&kept.key_proof, &*volatile.admin_key.lock())
            && !proof.is(&key.proof_for(token))
        {
            return None;
        }
        let operator = state.operator_standing(&kept.operator)?;
        kept.last_used_at.record(now);
        Some(OperatorSession {
            id: kept.id.clone(),
            operator,
            expires_at: kept.expires_at,
            csrf: csrf(token),
        })
    }

    /// Returns the operator of a live session, for open streams: this does not count as a use of the session.
    pub fn operator_of(self, id: &str) -> Option<AuthenticatedOperator> {
        let (state, now) = (self.registry.state(), self.registry.now());
        let kept = state.sessions.get(id)?;
        let is_live = kept.is_live(now, self.registry.inner.options.lifetimes.session_idle);
        if is_live { state.operator_standing(&kept.operator) } else { None }
    }

    /// Says which admin key is in force. Sessions that were begun with another one end.
    pub fn use_admin_key(self, key: &AdminKey) {
        *self.registry.inner.volatile.admin_key.lock() = Some(key.clone());
    }

    pub async fn sign_out(self, caller: &EventCaller, session: &str) -> RegistryResult<()> {
        let id = session.to_owned();
        self.registry
            .change(caller, "logout", EventSubject::id(session), move |draft| {
                draft.state.sessions.keep(|session| session.id != id);
                Ok(())
            })
            .await
    }

    /// Begins a session for the holder of this key. After some failures from one address, the wait grows.
    pub async fn sign_in(
        self,
        address: Option<IpAddr>,
        key: &str,
        admin: Option<&AdminKey>,
    ) -> RegistryResult<NewSession> {
        // Keys are pasted, often with the line end behind them.
        let key = key.trim();
        if let Some(admin) = admin {
            self.use_admin_key(admin);
        }
        // The key of an operator cannot be guessed, so it is looked up even after failures.
        let operator = match self.registry.operators().by_key(key) {
            Some(operator) => operator,
            None => match self.registry.failed_credentials().check_admin_key(address, admin, key) {
                Ok(()) => AuthenticatedOperator::admin(),
                Err(attempt) => return Err(self.refuse(address, attempt, WRONG_KEY).await),
            },
        };
        let caller = EventCaller::new(operator.id.clone(), address);
        self.registry
            .change(&caller, "login.ok", EventSubject::default(), move |draft| {
                // The operator may have been removed in between.
                if draft.state.operator_standing(&operator.id).is_none() {
                    return Err(RegistryError::Forbidden { reason: WRONG_KEY });
                }
                draft.begin_session(operator)
            })
            .await
    }

    /// Begins a session for an authenticated account of the provider, if an operator is bound to it, or newcomers like
    /// this are let in. An operator who is known by an address only is bound to the account with this.
    pub async fn sign_in_identity(
        self,
        address: Option<IpAddr>,
        identity: ProviderIdentity,
        newcomers: &SignUpDomains,
    ) -> RegistryResult<NewSession> {
        self.check_sign_in(address).await?;
        let is_welcome = newcomers.include(&identity);
        if !is_welcome && self.registry.state().operator_of_identity(&identity).is_none() {
            return Err(self.count_failure(address, UNKNOWN_ACCOUNT).await);
        }
        let (caller, subject) = (EventCaller::unknown(address), EventSubject::default());
        let sign_in =
            move |draft: &mut RegistryTransaction<'_>| draft.sign_in(&identity, is_welcome);
        self.registry.change(&caller, "login.ok", subject, sign_in).await
    }

    /// Refuses an address that has to wait after failures, for sign-ins that take more than one request.
    pub async fn check_sign_in(self, address: Option<IpAddr>) -> RegistryResult<()> {
        let class = CredentialClass::ProviderAccount;
        match self.registry.failed_credentials().backed_off(address, class) {
            None => Ok(()),
            Some(attempt) => Err(self.refuse(address, attempt, UNKNOWN_ACCOUNT).await),
        }
    }

    /// Records a sign-in that failed before the person was known.
    pub async fn record_failure(self, address: Option<IpAddr>, blame: SignInPenalty) {
        let reason = "the sign-in at the provider came to nothing";
        if blame == SignInPenalty::Counted {
            self.count_failure(address, reason).await;
        } else {
            self.record_refusal(address, &RegistryError::Forbidden { reason }).await;
        }
    }

    /// Counts and refuses a sign-in through a provider.
    async fn count_failure(self, address: Option<IpAddr>, reason: &'static str) -> RegistryError {
        let failures = self.registry.failed_credentials();
        let attempt = failures.record(address, CredentialClass::ProviderAccount);
        self.refuse(address, attempt, reason).await
    }

    /// Refuses a sign-in. A burst of them leaves one event.
    async fn refuse(
        self,
        address: Option<IpAddr>,
        attempt: FailedAttempt,
        reason: &'static str,
    ) -> RegistryError {
        let error = match attempt.retry_after {
            Some(seconds) => RegistryError::TooSoon { seconds },
            None => RegistryError::Forbidden { reason },
        };
        if attempt.starts_burst {
            self.record_refusal(address, &error).await;
        }
        error
    }

    async fn record_refusal(self, address: Option<IpAddr>, error: &RegistryError) {
        let (caller, subject) = (EventCaller::unknown(address), EventSubject::default());
        self.registry.record(&caller, "login.fail", subject, Some(error)).await;
    }
}

impl RegistryTransaction<'_> {
    pub(super) fn begin_session(
        &mut self,
        operator: AuthenticatedOperator,
    ) -> RegistryResult<NewSession> {
        let limit = self.options.limits.sessions;
        check_room("sessions", self.state.sessions.len(), limit)?;
        let token = TokenKind::Session.create()?;
        let key = self.volatile.admin_key.lock();
        let key_proof = key.as_ref().filter(|_| operator.id == ADMIN_OPERATOR);
        let key_proof = key_proof.map(|key| key.proof_for(token.expose()));
        drop(key);
        let last_used_at = LastUseTime::default();
        last_used_at.record(self.now);
        let kept = SessionRecord {
            id: new_id("ses_")?,
            operator: operator.id.clone(),
            created_at: self.now,
            expires_at: self.after(self.options.lifetimes.session),
            last_used_at,
            token: TokenHash::of(token.expose()),
            key_proof,
        };
        let session = OperatorSession {
            id: kept.id.clone(),
            operator,
            expires_at: kept.expires_at,
            csrf: csrf(token.expose()),
        };
        self.event.subject.id = Some(kept.id.clone());
        self.state.sessions.put(kept);
        Ok(NewSession { token, session })
    }

    /// Begins a session for the holder of this account.
    fn sign_in(
        &mut self,
        identity: &ProviderIdentity,
        is_welcome: bool,
    ) -> RegistryResult<NewSession> {
        let account = OperatorSubject {
            issuer: identity.issuer.clone(),
            account: OperatorAccount::Subject(identity.subject.clone()),
        };
        let found = self.state.operator_of_identity(identity);
        let operator = match found {
            Some(operator) if operator.subject.as_ref() == Some(&account) => operator,
            Some(mut operator) => {
                operator.subject = Some(account);
                self.state.operators.put(operator.clone());
                self.follow_up("operator.update", &operator.id);
                operator
            }
            None if is_welcome => {
                let operator = self.welcome(identity)?;
                self.follow_up("operator.create", &operator.id);
                operator
            }
            None => {
                self.event.action = "login.fail";
                return Err(RegistryError::Forbidden { reason: UNKNOWN_ACCOUNT });
            }
        };
        self.event.caller.id.clone_from(&operator.id);
        self.begin_session(operator.authenticated())
    }

    /// A further line: what a sign-in did to the operator, in their own name.
    fn follow_up(&mut self, action: &'static str, operator: &str) {
        let caller = EventCaller::new(operator, self.event.caller.address);
        self.record_also_for(&caller, action, EventSubject::id(operator));
    }
}

fn csrf(token: &str) -> Secret {
    let digest = Sha256::new().chain_update(b"capdeck csrf\0").chain_update(token).finalize();
    Secret::new(URL_SAFE_NO_PAD.encode(digest))
}

const WRONG_KEY: &str = "this key opens nothing";
const UNKNOWN_ACCOUNT: &str = "this account belongs to no operator";

/// Whether a sign-in that came to nothing is held against where it came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignInPenalty {
    /// It was begun there, and what came back was refused. Later ones have to wait.
    Counted,
    /// Any page can send a browser here, and a provider may be away: it says nothing about the sender.
    NotCounted,
}

impl RegistrySnapshot {
    /// The operator who is bound to the account of an identity, or to the address that the provider verified for it.
    fn operator_of_identity(&self, identity: &ProviderIdentity) -> Option<Operator> {
        let bound_to = |account| {
            let account = OperatorSubject { issuer: identity.issuer.clone(), account };
            let is_bound =
                |one: &&Operator| one.subject.as_ref().is_some_and(|bound| bound.is_same(&account));
            self.operators.values().find(is_bound).cloned()
        };
        bound_to(OperatorAccount::Subject(identity.subject.clone()))
            .or_else(|| bound_to(OperatorAccount::Email(identity.email.clone()?)))
    }
}
