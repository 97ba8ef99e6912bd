//! Operators sign in: with the admin key, with a key of their own, or through a provider.

use std::net::IpAddr;

use super::{
    AdminKey, AuthenticatedOperator, CredentialClass, EventCaller, FailedAttempt, NewSession,
    Operator, OperatorAccount, OperatorSubject, Registry, RegistryError, SignUpDomains,
    event::{AuditEvent, EventSubject},
    registry::RegistryTransaction,
    state::RegistrySnapshot,
};
use crate::ProviderIdentity;

const WRONG_KEY: &str = "this key opens nothing";
const UNKNOWN_ACCOUNT: &str = "this account belongs to no operator";

/// Whether a sign-in that came to nothing is held against where it came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignInPenalty {
    /// It was begun there, and what came back was refused. Later ones have to wait.
    Counted,
    /// Any page can send a browser here, and a provider may be away: whoever came has done nothing.
    NotCounted,
}

impl Registry {
    /// Begins a session for whoever has this key. After some failures from one address, later ones have to wait longer and
    /// longer.
    pub async fn sign_in(
        &self,
        address: Option<IpAddr>,
        key: &str,
        admin: Option<&AdminKey>,
    ) -> Result<NewSession, RegistryError> {
        // Keys are pasted, often with the line end behind them.
        let key = key.trim();
        if let Some(admin) = admin {
            self.use_admin_key(admin);
        }
        // The key of an operator cannot be guessed, so it is looked up whatever failed before.
        let operator = match self.operator_by_key(key) {
            Some(operator) => Ok(operator),
            None => {
                let checked = self.0.volatile.failures.check_admin_key(address, admin, key);
                checked.map(|()| AuthenticatedOperator::admin())
            }
        };
        match operator {
            Ok(operator) => self.begin_session(address, operator).await,
            Err(attempt) => Err(self.refuse_sign_in(address, attempt, WRONG_KEY).await),
        }
    }

    /// Begins a session for somebody whom a provider vouches for, if an operator is bound to the account, or newcomers like
    /// this are let in. An operator who is known by an address only is bound to the account with this.
    pub async fn sign_in_identity(
        &self,
        address: Option<IpAddr>,
        identity: ProviderIdentity,
        newcomers: &SignUpDomains,
    ) -> Result<NewSession, RegistryError> {
        self.check_sign_in(address).await?;
        let is_welcome = newcomers.include(&identity);
        if !is_welcome && self.state().operator_of_identity(&identity).is_none() {
            let failures = &self.0.volatile.failures;
            let attempt = failures.record(address, CredentialClass::ProviderAccount);
            return Err(self.refuse_sign_in(address, attempt, UNKNOWN_ACCOUNT).await);
        }
        let event =
            AuditEvent::new("login.ok", &EventCaller::unknown(address), EventSubject::default());
        self.change(event, move |draft| draft.sign_in(&identity, is_welcome)).await
    }

    /// Refuses somebody who has to wait after failures, for sign-ins that take more than one request.
    pub async fn check_sign_in(&self, address: Option<IpAddr>) -> Result<(), RegistryError> {
        let class = CredentialClass::ProviderAccount;
        match self.0.volatile.failures.backed_off(address, class) {
            None => Ok(()),
            Some(attempt) => Err(self.refuse_sign_in(address, attempt, UNKNOWN_ACCOUNT).await),
        }
    }

    /// Records a sign-in that came to nothing before anybody was known.
    pub async fn record_failed_sign_in(&self, address: Option<IpAddr>, blame: SignInPenalty) {
        let reason = "the sign-in at the provider came to nothing";
        if blame == SignInPenalty::Counted {
            let failures = &self.0.volatile.failures;
            let attempt = failures.record(address, CredentialClass::ProviderAccount);
            self.refuse_sign_in(address, attempt, reason).await;
            return;
        }
        let error = RegistryError::Forbidden { reason };
        let event =
            AuditEvent::new("login.fail", &EventCaller::unknown(address), EventSubject::default());
        self.record(event, Some(&error)).await;
    }

    async fn begin_session(
        &self,
        address: Option<IpAddr>,
        operator: AuthenticatedOperator,
    ) -> Result<NewSession, RegistryError> {
        let caller = EventCaller::new(operator.id.clone(), address);
        let event = AuditEvent::new("login.ok", &caller, EventSubject::default());
        self.change(event, move |draft| {
            // Somebody may have been removed in between.
            if draft.state.operator_standing(&operator.id).is_none() {
                return Err(RegistryError::Forbidden { reason: WRONG_KEY });
            }
            let begun = draft.begin_session(operator)?;
            draft.event.subject.id = Some(begun.session.id.clone());
            Ok(begun)
        })
        .await
    }

    /// Refuses a sign-in. A burst of them leaves one line.
    async fn refuse_sign_in(
        &self,
        address: Option<IpAddr>,
        attempt: FailedAttempt,
        reason: &'static str,
    ) -> RegistryError {
        let error = match attempt.retry_after {
            Some(seconds) => RegistryError::TooSoon { seconds },
            None => RegistryError::Forbidden { reason },
        };
        if attempt.starts_burst {
            let event = AuditEvent::new(
                "login.fail",
                &EventCaller::unknown(address),
                EventSubject::default(),
            );
            self.record(event, Some(&error)).await;
        }
        error
    }
}

impl RegistryTransaction<'_> {
    /// Begins a session for whoever has this account.
    fn sign_in(
        &mut self,
        identity: &ProviderIdentity,
        is_welcome: bool,
    ) -> Result<NewSession, RegistryError> {
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
        let begun = self.begin_session(operator.authenticated())?;
        self.event.subject.id = Some(begun.session.id.clone());
        Ok(begun)
    }

    /// A further line: what a sign-in did to the operator, in their own name.
    fn follow_up(&mut self, action: &'static str, operator: &str) {
        let caller = EventCaller::new(operator, self.event.caller.address);
        self.consequences.push(AuditEvent::new(action, &caller, EventSubject::id(operator)));
    }
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
