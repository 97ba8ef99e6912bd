//! Sessions of operators at the dashboard.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq as _;

use super::{
    ADMIN_OPERATOR, AdminKey, AuthenticatedOperator, EventCaller, LastUseTime, Registry,
    RegistryError,
    collection::RegistryRecord,
    event::{AuditEvent, EventSubject},
    registry::RegistryTransaction,
    token::{TokenHash, TokenKind, new_id},
};
use crate::Secret;

/// A session as it is kept: without what opens it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SessionRecord {
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

/// A session that was just begun.
#[derive(Debug, Clone)]
pub struct NewSession {
    /// What the cookie holds. Shown this once.
    pub token: Secret,
    pub session: OperatorSession,
}

/// Who has a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperatorSession {
    pub id: String,
    pub operator: AuthenticatedOperator,
    pub expires_at: Timestamp,
    csrf: Secret,
}

impl RegistryRecord for SessionRecord {
    const FILE: &'static str = "sessions.json";

    fn id(&self) -> &str {
        &self.id
    }
}

impl SessionRecord {
    pub(super) fn is_live(&self, now: Timestamp, idle: std::time::Duration) -> bool {
        let last = self.last_used_at.get().unwrap_or(self.created_at);
        now < self.expires_at && last.checked_add(idle).is_ok_and(|end| now < end)
    }
}

impl OperatorSession {
    /// What every change has to bring along besides the cookie. It is made from the cookie's value, which no other site can
    /// read, and does not tell it.
    pub fn csrf(&self) -> &str {
        self.csrf.expose()
    }

    /// Whether a request brought it. Compares in the same time whatever the value is.
    pub fn has_csrf(&self, given: &str) -> bool {
        self.csrf().as_bytes().ct_eq(given.as_bytes()).into()
    }
}

impl Registry {
    /// Who has this session; `None` when it is over.
    pub fn session(&self, token: &str) -> Option<OperatorSession> {
        if !TokenKind::Session.fits(token) {
            return None;
        }
        let hash = TokenHash::of(token);
        let (state, now) = (self.state(), self.now());
        let kept = state.sessions.get(state.session_tokens.get(&hash)?)?;
        if !kept.token.is(&hash) || !kept.is_live(now, self.0.options.lifetimes.session_idle) {
            return None;
        }
        if let (Some(proof), Some(key)) = (&kept.key_proof, &*self.0.volatile.admin_key.lock())
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

    /// Who has the session of this id; `None` when it is over. For what stays open longer than a request: looking is no use of
    /// the session.
    pub fn operator_of_session(&self, id: &str) -> Option<AuthenticatedOperator> {
        let (state, now) = (self.state(), self.now());
        let kept = state.sessions.get(id)?;
        let is_live = kept.is_live(now, self.0.options.lifetimes.session_idle);
        if is_live { state.operator_standing(&kept.operator) } else { None }
    }

    /// Says which admin key is in force. Sessions that were begun with another one end.
    pub fn use_admin_key(&self, key: &AdminKey) {
        *self.0.volatile.admin_key.lock() = Some(key.clone());
    }

    /// Ends a session.
    pub async fn sign_out(&self, caller: &EventCaller, session: &str) -> Result<(), RegistryError> {
        let (id, event) =
            (session.to_owned(), AuditEvent::new("logout", caller, EventSubject::id(session)));
        self.change(event, move |draft| {
            draft.state.sessions.keep(|session| session.id != id);
            Ok(())
        })
        .await
    }
}

impl RegistryTransaction<'_> {
    /// Begins a session.
    pub(super) fn begin_session(
        &mut self,
        operator: AuthenticatedOperator,
    ) -> Result<NewSession, RegistryError> {
        let limit = self.options.limits.sessions;
        if self.state.sessions.len() >= limit {
            return Err(RegistryError::Full { what: "sessions", limit });
        }
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
        self.state.sessions.put(kept);
        Ok(NewSession { token, session })
    }
}

fn csrf(token: &str) -> Secret {
    let digest = Sha256::new().chain_update(b"capdeck csrf\0").chain_update(token).finalize();
    Secret::new(URL_SAFE_NO_PAD.encode(digest))
}
