//! Operators sign in: with the admin key, with a key of their own, or through a provider.

use std::net::IpAddr;

use jiff::Timestamp;

use super::{
    AdminKey, Caller, NewSession, Newcomers, Operator, OperatorAccount, OperatorStanding,
    OperatorSubject, Registry, RegistryError,
    event::{Deed, Subject},
    registry::Draft,
};
use crate::ProviderIdentity;

/// Whether a sign-in that came to nothing is held against where it came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blame {
    /// It was begun there, and what came back was refused. Later ones have to wait.
    Sender,
    /// Any page can send a browser here, and a provider may be away: whoever came has done nothing.
    Nobody,
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
        let (now, key) = (self.now(), key.trim());
        if let Some(admin) = admin {
            self.use_admin_key(admin);
        }
        let operator = match self.0.volatile.failures.check(address, now) {
            Err(error) => Err(error),
            Ok(()) => {
                let is_admin = admin.is_some_and(|admin| admin.is(key));
                let known = if is_admin {
                    Some(OperatorStanding::admin())
                } else {
                    self.operator_by_key(key)
                };
                known.ok_or(RegistryError::Forbidden { reason: "this key opens nothing" })
            }
        };
        match operator {
            Ok(operator) => {
                self.0.volatile.failures.forget(address);
                self.begin_session(address, operator).await
            }
            Err(error) => Err(self.refuse_sign_in(address, error, now).await),
        }
    }

    /// Begins a session for somebody whom a provider vouches for, if an operator is bound to the account, or newcomers like
    /// this are let in. An operator who is known by an address only is bound to the account with this.
    pub async fn sign_in_identity(
        &self,
        address: Option<IpAddr>,
        identity: ProviderIdentity,
        newcomers: &Newcomers,
    ) -> Result<NewSession, RegistryError> {
        self.check_sign_in(address).await?;
        let deed = Deed::new("login.ok", &Caller::unknown(address), Subject::default());
        let is_welcome = newcomers.include(&identity);
        let begun = self.change(deed, move |draft| draft.sign_in(&identity, is_welcome)).await;
        match &begun {
            Ok(_) => self.0.volatile.failures.forget(address),
            Err(RegistryError::Forbidden { .. }) => {
                self.0.volatile.failures.note(address, self.now());
            }
            Err(_) => {}
        }
        begun
    }

    /// Refuses somebody who has to wait after failures, for sign-ins that take more than one request.
    pub async fn check_sign_in(&self, address: Option<IpAddr>) -> Result<(), RegistryError> {
        let now = self.now();
        match self.0.volatile.failures.check(address, now) {
            Ok(()) => Ok(()),
            Err(error) => Err(self.refuse_sign_in(address, error, now).await),
        }
    }

    /// Records a sign-in that came to nothing before anybody was known.
    pub async fn record_failed_sign_in(&self, address: Option<IpAddr>, blame: Blame) {
        let error =
            RegistryError::Forbidden { reason: "the sign-in at the provider came to nothing" };
        if blame == Blame::Sender {
            self.0.volatile.failures.note(address, self.now());
        }
        let deed = Deed::new("login.fail", &Caller::unknown(address), Subject::default());
        self.record(deed, Some(&error)).await;
    }

    async fn begin_session(
        &self,
        address: Option<IpAddr>,
        operator: OperatorStanding,
    ) -> Result<NewSession, RegistryError> {
        let caller = Caller::new(operator.id.clone(), address);
        let deed = Deed::new("login.ok", &caller, Subject::default());
        self.change(deed, move |draft| {
            // Somebody may have been removed in between.
            if draft.state.operator_standing(&operator.id).is_none() {
                return Err(RegistryError::Forbidden { reason: "this key opens nothing" });
            }
            let begun = draft.begin_session(operator)?;
            draft.deed.subject.id = Some(begun.session.id.clone());
            Ok(begun)
        })
        .await
    }

    async fn refuse_sign_in(
        &self,
        address: Option<IpAddr>,
        error: RegistryError,
        now: Timestamp,
    ) -> RegistryError {
        if !matches!(error, RegistryError::TooSoon { .. }) {
            self.0.volatile.failures.note(address, now);
        }
        let deed = Deed::new("login.fail", &Caller::unknown(address), Subject::default());
        self.record(deed, Some(&error)).await;
        error
    }
}

impl Draft<'_> {
    /// Begins a session for whoever has this account.
    fn sign_in(
        &mut self,
        identity: &ProviderIdentity,
        is_welcome: bool,
    ) -> Result<NewSession, RegistryError> {
        let known_by = |account| OperatorSubject { issuer: identity.issuer.clone(), account };
        let account = known_by(OperatorAccount::Subject(identity.subject.clone()));
        let email = identity.email.clone().map(|email| known_by(OperatorAccount::Email(email)));
        let found = self.operator_of(&account).or_else(|| self.operator_of(email.as_ref()?));
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
                self.deed.action = "login.fail";
                let reason = "this account belongs to no operator";
                return Err(RegistryError::Forbidden { reason });
            }
        };
        self.deed.caller.id.clone_from(&operator.id);
        let begun = self.begin_session(operator.standing())?;
        self.deed.subject.id = Some(begun.session.id.clone());
        Ok(begun)
    }

    /// A further line: what a sign-in did to the operator, in their own name.
    fn follow_up(&mut self, action: &'static str, operator: &str) {
        let caller = Caller::new(operator, self.deed.caller.address);
        self.consequences.push(Deed::new(action, &caller, Subject::id(operator)));
    }

    /// The operator who is bound to an account.
    fn operator_of(&self, account: &OperatorSubject) -> Option<Operator> {
        let is_bound =
            |one: &&Operator| one.subject.as_ref().is_some_and(|bound| bound.is_same(account));
        self.state.operators.values().find(is_bound).cloned()
    }
}
