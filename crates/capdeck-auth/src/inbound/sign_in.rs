//! Operators sign in: with the admin key, with a key of their own, or through a provider.

use std::net::IpAddr;

use jiff::Timestamp;

use super::{
    AdminKey, Caller, NewSession, Operator, OperatorAccount, OperatorStanding, OperatorSubject,
    Registry, RegistryError,
    event::{Deed, Subject},
    registry::Draft,
};
use crate::ProviderIdentity;

impl Registry {
    /// Begins a session for whoever has this key. After some failures from one address, later ones have to wait longer and
    /// longer.
    pub async fn sign_in(
        &self,
        address: Option<IpAddr>,
        key: &str,
        admin: Option<&AdminKey>,
    ) -> Result<NewSession, RegistryError> {
        let now = self.now();
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

    /// Begins a session for somebody whom a provider vouches for, if an operator is bound to the account. One that is known
    /// by an address only is bound to the account with this.
    pub async fn sign_in_identity(
        &self,
        address: Option<IpAddr>,
        identity: &ProviderIdentity,
    ) -> Result<NewSession, RegistryError> {
        let deed = Deed::new("login.ok", &Caller::unknown(address), Subject::default());
        let ProviderIdentity { issuer, subject, email, .. } = identity.clone();
        let known_by = |account| OperatorSubject { issuer: issuer.clone(), account };
        let account = known_by(OperatorAccount::Subject(subject));
        let email = email.map(|email| known_by(OperatorAccount::Email(email)));
        self.change(deed, move |draft| {
            let found = draft.operator_of(&account).or_else(|| draft.operator_of(email.as_ref()?));
            let Some(mut operator) = found else {
                draft.deed.action = "login.fail";
                return Err(RegistryError::Forbidden {
                    reason: "this account belongs to no operator",
                });
            };
            draft.deed.caller.id.clone_from(&operator.id);
            if operator.subject.as_ref() != Some(&account) {
                operator.subject = Some(account);
                let subject = Subject::id(operator.id.clone());
                let bound = Deed::new("operator.update", &draft.deed.caller, subject);
                draft.consequences.push(bound);
                draft.state.operators.put(operator.clone());
            }
            let begun = draft.begin_session(operator.standing())?;
            draft.deed.subject.id = Some(begun.session.id.clone());
            Ok(begun)
        })
        .await
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
    /// The operator who is bound to an account.
    fn operator_of(&self, account: &OperatorSubject) -> Option<Operator> {
        let is_bound =
            |one: &&Operator| one.subject.as_ref().is_some_and(|bound| bound.is_same(account));
        self.state.operators.values().find(is_bound).cloned()
    }
}
