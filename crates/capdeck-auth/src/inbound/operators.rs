//! Operators: the people with the dashboard, made by an admin or with their first sign-in at a provider.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    EventCaller, EventSubject, LastUseTime, OperatorRole, OperatorService, RegistryError,
    RegistryResult, RegistrySnapshot, RegistryTransaction, TokenHash, TokenKind, check_room,
    new_id, text,
};
use crate::{ProviderIdentity, Secret};

/// The id of the holder of the admin key.
pub const ADMIN_OPERATOR: &str = "admin";
/// The id of the person at this machine, where no sign-in is needed.
pub const LOCAL_OPERATOR: &str = "local";

/// A person with the dashboard, as it is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Operator {
    pub id: String,
    pub name: String,
    pub role: OperatorRole,
    /// Who they are with the provider of sign-ins.
    pub subject: Option<OperatorSubject>,
    pub created_at: Timestamp,
    #[serde(default)]
    pub last_used_at: LastUseTime,
    /// The start of the key, to tell keys apart; none for those who have no key.
    pub key_hint: Option<String>,
    pub(super) key: Option<TokenHash>,
}

/// An account at an OpenID provider.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(!deny_unknown_fields)]
pub struct OperatorSubject {
    /// The issuer of the provider.
    pub issuer: String,
    pub account: OperatorAccount,
}

/// How an account is identified.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OperatorAccount {
    /// By the subject of the provider.
    Subject(#[schemars(length(min = 1, max = 255))] String),
    // Addresses change hands.
    /// By a verified address; the first sign-in replaces it with the subject.
    Email(#[schemars(length(min = 3, max = 100))] String),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AuthenticatedOperator {
    pub id: String,
    pub name: String,
    pub role: OperatorRole,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewOperator {
    pub name: String,
    pub role: OperatorRole,
    pub subject: Option<OperatorSubject>,
    /// Whether to make a key to sign in with.
    pub with_key: bool,
}

/// What changes about an operator. What is left out stays.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OperatorUpdate {
    pub name: Option<String>,
    pub role: Option<OperatorRole>,
    /// `Some(None)` unbinds the account.
    pub subject: Option<Option<OperatorSubject>>,
}

/// An operator with a key that is shown this once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IssuedOperatorKey {
    pub operator: Operator,
    pub key: Option<Secret>,
}

impl Operator {
    pub fn authenticated(&self) -> AuthenticatedOperator {
        AuthenticatedOperator { id: self.id.clone(), name: self.name.clone(), role: self.role }
    }

    fn make_key(&mut self) -> RegistryResult<Secret> {
        const KEY_HINT_LENGTH: usize = 4;
        let key = TokenKind::Operator.create()?;
        let hint = key
            .expose()
            .chars()
            .take(TokenKind::Operator.prefix().len() + KEY_HINT_LENGTH)
            .collect();
        self.key_hint = Some(hint);
        self.key = Some(TokenHash::of(key.expose()));
        Ok(key)
    }
}

impl OperatorSubject {
    /// Whether both mean the same account. Case does not matter in addresses.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.issuer == other.issuer
            && match (&self.account, &other.account) {
                (OperatorAccount::Subject(one), OperatorAccount::Subject(two)) => one == two,
                (OperatorAccount::Email(one), OperatorAccount::Email(two)) => {
                    one.eq_ignore_ascii_case(two)
                }
                (OperatorAccount::Subject(_), OperatorAccount::Email(_))
                | (OperatorAccount::Email(_), OperatorAccount::Subject(_)) => false,
            }
    }
}

impl AuthenticatedOperator {
    pub fn admin() -> Self {
        Self::built_in(ADMIN_OPERATOR, "Admin")
    }

    pub fn local() -> Self {
        Self::built_in(LOCAL_OPERATOR, "This machine")
    }

    fn built_in(id: &str, name: &str) -> Self {
        Self { id: id.to_owned(), name: name.to_owned(), role: OperatorRole::Admin }
    }
}

impl RegistrySnapshot {
    /// Who an operator is now; `None` when they were removed.
    pub(super) fn operator_standing(&self, id: &str) -> Option<AuthenticatedOperator> {
        match id {
            ADMIN_OPERATOR => Some(AuthenticatedOperator::admin()),
            LOCAL_OPERATOR => Some(AuthenticatedOperator::local()),
            id => self.operators.get(id).map(Operator::authenticated),
        }
    }

    fn operator_with_key(&self, key: &str) -> Option<&Operator> {
        if !TokenKind::Operator.fits(key) {
            return None;
        }
        let hash = TokenHash::of(key);
        let operator = self.operators.get(self.operator_keys.get(&hash)?)?;
        operator.key.as_ref().filter(|kept| kept.is(&hash))?;
        Some(operator)
    }

    fn check_subject(&self, subject: Option<&OperatorSubject>, except: &str) -> RegistryResult<()> {
        let Some(subject) = subject else { return Ok(()) };
        let is_account = match &subject.account {
            OperatorAccount::Subject(name) => !name.is_empty() && name.len() <= 255,
            OperatorAccount::Email(address) => {
                let parts = address.split_once('@');
                parts.is_some_and(|(name, host)| !name.is_empty() && !host.is_empty())
                    && text::name("email", address).is_ok()
            }
        };
        if subject.issuer.is_empty() || !is_account {
            let reason = "an issuer, and an account or an address there";
            return Err(RegistryError::invalid("subject", reason));
        }
        let is_taken = |one: &&Operator| {
            one.id != except && one.subject.as_ref().is_some_and(|bound| bound.is_same(subject))
        };
        match self.operators.values().find(is_taken) {
            Some(other) => Err(RegistryError::Taken {
                what: "operator with this account",
                name: other.name.clone(),
            }),
            None => Ok(()),
        }
    }
}

impl RegistryTransaction<'_> {
    pub(super) fn add_operator(&mut self, new: NewOperator) -> RegistryResult<IssuedOperatorKey> {
        let limit = self.options.limits.operators;
        check_room("operators", self.state.operators.len(), limit)?;
        let name = text::name("name", &new.name)?;
        if self.state.operators.values().any(|other| other.name == name) {
            return Err(RegistryError::Taken { what: "operator", name });
        }
        self.state.check_subject(new.subject.as_ref(), "")?;
        let mut operator = Operator {
            id: new_id("opr_")?,
            name,
            role: new.role,
            subject: new.subject,
            created_at: self.now,
            last_used_at: LastUseTime::default(),
            key_hint: None,
            key: None,
        };
        let key = if new.with_key { Some(operator.make_key()?) } else { None };
        self.event.subject.id = Some(operator.id.clone());
        self.state.operators.put(operator.clone());
        Ok(IssuedOperatorKey { operator, key })
    }

    /// Makes a member of a person who signed in.
    pub(super) fn welcome(&mut self, identity: &ProviderIdentity) -> RegistryResult<Operator> {
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

    /// A name for the person: theirs, or their address where another one has it.
    fn free_name(&self, identity: &ProviderIdentity) -> RegistryResult<String> {
        let named = [identity.name.as_ref(), identity.email.as_ref(), Some(&identity.subject)];
        let usable = named.into_iter().flatten().filter_map(|name| text::name("name", name).ok());
        let is_free = |name: &String| self.state.operators.values().all(|one| one.name != *name);
        let mut usable = usable.filter(is_free);
        usable
            .next()
            .ok_or(RegistryError::Forbidden { reason: "there is no free name for this account" })
    }
}

impl OperatorService<'_> {
    pub fn list(self) -> Vec<Operator> {
        let mut operators: Vec<_> = self.registry.state().operators.values().cloned().collect();
        operators.sort_by(|one, other| one.name.cmp(&other.name));
        operators
    }

    pub fn get(self, id: &str) -> Option<Operator> {
        self.registry.state().operators.get(id).cloned()
    }

    /// Who an operator is now, those included that are not kept; `None` when they were removed.
    pub fn standing(self, id: &str) -> Option<AuthenticatedOperator> {
        self.registry.state().operator_standing(id)
    }

    /// Who comes with this operator's key. For requests without a session; sign-ins go through [`Self::sign_in`].
    pub fn by_key(self, key: &str) -> Option<AuthenticatedOperator> {
        let state = self.registry.state();
        let operator = state.operator_with_key(key)?;
        operator.last_used_at.record(self.registry.now());
        Some(operator.authenticated())
    }

    /// Whether this is the key of an operator. Looking is no use of the key.
    pub fn is_key(self, key: &str) -> bool {
        self.registry.state().operator_with_key(key).is_some()
    }

    pub async fn create(
        self,
        caller: &EventCaller,
        new: NewOperator,
    ) -> RegistryResult<IssuedOperatorKey> {
        let add = move |draft: &mut RegistryTransaction<'_>| draft.add_operator(new);
        self.registry.change(caller, "operator.create", EventSubject::default(), add).await
    }

    /// Changes an operator from their next request on, also in open sessions. Another account, or none, ends their sessions.
    pub async fn update(
        self,
        caller: &EventCaller,
        id: &str,
        update: OperatorUpdate,
    ) -> RegistryResult<Operator> {
        let id = id.to_owned();
        self.registry
            .change(caller, "operator.update", EventSubject::id(&id), move |draft| {
                let mut operator = draft.state.operators.require(&id)?;
                if let Some(name) = update.name {
                    let name = text::name("name", &name)?;
                    if draft.state.operators.values().any(|one| one.id != id && one.name == name) {
                        return Err(RegistryError::Taken { what: "operator", name });
                    }
                    operator.name = name;
                }
                if let Some(subject) = update.subject {
                    draft.state.check_subject(subject.as_ref(), &id)?;
                    if operator.subject != subject {
                        draft.state.sessions.keep(|session| session.operator != id);
                    }
                    operator.subject = subject;
                }
                operator.role = update.role.unwrap_or(operator.role);
                draft.state.operators.put(operator.clone());
                Ok(operator)
            })
            .await
    }

    /// Gives an operator a new key. The old one and every session end at once.
    pub async fn rotate_key(
        self,
        caller: &EventCaller,
        id: &str,
    ) -> RegistryResult<IssuedOperatorKey> {
        let id = id.to_owned();
        self.registry
            .change(caller, "operator.key", EventSubject::id(&id), move |draft| {
                let mut operator = draft.state.operators.require(&id)?;
                let key = Some(operator.make_key()?);
                draft.state.sessions.keep(|session| session.operator != id);
                draft.state.operators.put(operator.clone());
                Ok(IssuedOperatorKey { operator, key })
            })
            .await
    }

    /// Removes an operator with key, sessions and the access of their own programs. Grants to programs of others stay.
    pub async fn remove(self, caller: &EventCaller, id: &str) -> RegistryResult<()> {
        let id = id.to_owned();
        self.registry
            .change(caller, "operator.remove", EventSubject::id(&id), move |draft| {
                draft.state.operators.remove(&id)?;
                draft.state.sessions.keep(|session| session.operator != id);
                draft.state.owners.keep(|owner| owner.operator != id);
                draft.end_principals(|one| one.operator.as_ref() == Some(&id));
                Ok(())
            })
            .await
    }
}

/// Who may become a member by signing in. By default no one: an admin creates operators.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SignUpDomains {
    /// The domain that a verified address must have after its `@`, compared whole.
    pub domains: Vec<String>,
}

impl SignUpDomains {
    /// Whether the address that the provider verified is in one of the domains.
    pub fn include(&self, identity: &ProviderIdentity) -> bool {
        let domain = identity.email.as_deref().and_then(|email| email.rsplit_once('@'));
        domain.is_some_and(|(name, domain)| {
            !name.is_empty() && self.domains.iter().any(|one| one.eq_ignore_ascii_case(domain))
        })
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
