//! People whom nobody made an operator, and who become one with their first sign-in at a provider.

use super::{
    NewOperator, Operator, OperatorAccount, OperatorRole, OperatorSubject, RegistryError,
    registry::RegistryTransaction, text,
};
use crate::ProviderIdentity;

/// Who may become a member by signing in. By default nobody: operators are those whom an admin made.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SignUpDomains {
    /// What has to stand behind the `@` of an address that the provider verified, whole.
    pub domains: Vec<String>,
}

impl SignUpDomains {
    /// Whether somebody may come in by the address that the provider verified.
    pub fn include(&self, identity: &ProviderIdentity) -> bool {
        let domain = identity.email.as_deref().and_then(|email| email.rsplit_once('@'));
        domain.is_some_and(|(name, domain)| {
            !name.is_empty() && self.domains.iter().any(|one| one.eq_ignore_ascii_case(domain))
        })
    }
}

impl RegistryTransaction<'_> {
    /// Makes a member of somebody who signed in.
    pub(super) fn welcome(
        &mut self,
        identity: &ProviderIdentity,
    ) -> Result<Operator, RegistryError> {
        let subject = OperatorSubject {
            issuer: identity.issuer.clone(),
            account: OperatorAccount::Subject(identity.subject.clone()),
        };
        let made = self.add_operator(NewOperator {
            name: self.free_name(identity)?,
            role: OperatorRole::Member,
            subject: Some(subject),
            with_key: false,
        })?;
        Ok(made.operator)
    }

    /// What to call somebody: their name, or their address where another one is called so.
    fn free_name(&self, identity: &ProviderIdentity) -> Result<String, RegistryError> {
        let named = [identity.name.as_ref(), identity.email.as_ref(), Some(&identity.subject)];
        let usable = named.into_iter().flatten().filter_map(|name| text::name("name", name).ok());
        let is_free = |name: &String| self.state.operators.values().all(|one| one.name != *name);
        let mut usable = usable.filter(is_free);
        usable
            .next()
            .ok_or(RegistryError::Forbidden { reason: "there is no free name for this account" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_whole_domain_of_a_verified_address_lets_in() {
        let newcomers = SignUpDomains { domains: vec!["example.com".to_owned()] };
        let come = |email: Option<&str>| {
            newcomers.include(&ProviderIdentity {
                issuer: "https://sso.example".to_owned(),
                subject: "1".to_owned(),
                email: email.map(str::to_owned),
                name: None,
            })
        };
        for good in ["ann@example.com", "Ann@Example.COM", "\"a@b\"@example.com"] {
            assert!(come(Some(good)), "{good}");
        }
        for bad in [
            "ann@evil-example.com",
            "ann@sub.example.com",
            "ann@example.com.evil",
            "ann@example.com@evil.example",
            "@example.com",
            "example.com",
            "",
        ] {
            assert!(!come(Some(bad)), "{bad}");
        }
        assert!(!come(None));
    }
}
