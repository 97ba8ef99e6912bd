//! Operators sign in: with the admin key, with a key of their own, or through a provider.

use std::net::IpAddr;

use jiff::Timestamp;

use super::{
    AdminKey, Caller, NewSession, OperatorStanding, Registry, RegistryError,
    event::{Deed, Subject},
};

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

    /// Begins a session for somebody whom a provider vouches for, if the account is bound to an operator.
    pub async fn sign_in_subject(
        &self,
        address: Option<IpAddr>,
        issuer: &str,
        subject: &str,
    ) -> Result<NewSession, RegistryError> {
        match self.operator_for_subject(issuer, subject) {
            Some(operator) => self.begin_session(address, operator).await,
            None => {
                let error =
                    RegistryError::Forbidden { reason: "this account belongs to no operator" };
                let deed = Deed::new("login.fail", &Caller::unknown(address), Subject::default());
                self.record(deed, Some(&error)).await;
                Err(error)
            }
        }
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
