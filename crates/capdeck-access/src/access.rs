//! What the holder of a credential may use.

use std::{cmp::Ordering, sync::Arc};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    DeckAccess, DeckGrant, EntryScope, GrantTarget, OAuthScope, Principal, Role, Scopes,
    grant::entry_scope,
};

/// Everything that the holder of a credential may use at one moment: its grants, as far as the scopes of the credential
/// go. Equal accesses allow the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Access {
    pub principal: Principal,
    /// The scopes of the credential.
    pub scopes: Scopes,
    pub deck: Arc<DeckAccess>,
    /// False: the deck may be listed and described, but nothing in it called or read.
    pub may_call: bool,
    /// One item for each grant of a capsule.
    pub capsules: Vec<CapsuleGrant>,
    pub grant_tools: GrantTools,
}

/// A capsule with what may be done there.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CapsuleGrant {
    /// The capsule's key, because its id may be that of a later capsule.
    pub capsule: String,
    #[serde(flatten)]
    pub access: CapsuleAccess,
}

/// A role on a part of a capsule.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct CapsuleAccess {
    pub role: Role,
    #[serde(flatten)]
    pub scope: EntryScope,
}

/// Which tools for requesting access and deciding about it a client has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum GrantTools {
    #[default]
    None,
    /// It may request access.
    Request,
    /// It may also decide about requests of others.
    Manage,
}

impl Access {
    /// What these grants, each with its scopes, leave to a credential with these scopes.
    pub fn new<'g>(
        principal: Principal,
        scopes: Scopes,
        grants: impl IntoIterator<Item = (&'g GrantTarget, &'g Scopes)>,
    ) -> Self {
        let (mut callable, mut readable) = (Vec::new(), Vec::new());
        let mut capsules = Vec::new();
        let mut grant_tools = GrantTools::Request;
        for (target, granted) in grants {
            let effective = scopes.meet(granted);
            if effective.allows(OAuthScope::RegistryManage) {
                grant_tools = GrantTools::Manage;
            }
            match target {
                GrantTarget::Deck(grant) if effective.allows(OAuthScope::DeckCall) => {
                    callable.push(grant.clone());
                }
                GrantTarget::Deck(grant) if effective.allows(OAuthScope::DeckRead) => {
                    readable.push(grant.clone());
                }
                GrantTarget::Deck(_) => {}
                GrantTarget::Capsule { .. } => capsules.extend(capsule_grant(target, &effective)),
            }
        }
        // There is one answer to whether tools may be called. Where a grant allows calls, those that allow only reading
        // are left out, but what they deny stays denied.
        let may_call = !callable.is_empty();
        if may_call {
            let denied = readable.into_iter().map(DeckGrant::only_denied);
            callable.extend(denied.filter(|grant| !grant.denied_tools.is_empty()));
        } else {
            callable = readable;
        }
        let has_capsules = !capsules.is_empty() || grant_tools == GrantTools::Manage;
        let deck = Arc::new(DeckAccess::new(&callable, has_capsules, grant_tools));
        Self { principal, scopes, deck, may_call, capsules, grant_tools }
    }

    /// Of a holder whose grants were all revoked.
    pub fn none(principal: Principal) -> Self {
        Self::new(principal, Scopes::default(), [])
    }

    /// Whether the holder may decide about requests of others.
    pub fn may_manage(&self) -> bool {
        self.grant_tools == GrantTools::Manage
    }

    /// The highest role in the capsule with this key.
    pub fn role_in(&self, capsule: &str) -> Option<Role> {
        let grants = self.capsules.iter().filter(|grant| grant.capsule == capsule);
        grants.map(|grant| grant.access.role).max()
    }

    /// Whether the whole capsule with this key is open with this role.
    pub fn has_whole_capsule(&self, capsule: &str, role: Role) -> bool {
        self.capsules.iter().any(|grant| {
            grant.capsule == capsule && grant.access.role >= role && grant.access.scope.is_all()
        })
    }

    /// Those of these scopes that the credential lacks.
    pub fn missing(&self, needed: impl IntoIterator<Item = OAuthScope>) -> Scopes {
        needed.into_iter().filter(|scope| !self.scopes.allows(*scope)).collect()
    }
}

/// `None` where the scopes allow no role, or a prefix cannot be read: both open nothing.
fn capsule_grant(target: &GrantTarget, scopes: &Scopes) -> Option<CapsuleGrant> {
    let GrantTarget::Capsule { capsule, role, uri_prefixes, denied_prefixes } = target else {
        return None;
    };
    let role = scopes.highest_role()?.min(*role);
    let scope = entry_scope(uri_prefixes, denied_prefixes)?;
    let access = CapsuleAccess { role, scope };
    Some(CapsuleGrant { capsule: capsule.clone(), access })
}

impl CapsuleAccess {
    /// Everything, everywhere.
    pub fn owner() -> Self {
        Self { role: Role::Owner, scope: EntryScope::all() }
    }

    /// What the holder of both may do. The higher role counts where they differ: it is not extended to the part of the
    /// other one.
    #[must_use]
    pub fn joined(&self, other: &Self) -> Self {
        match self.role.cmp(&other.role) {
            Ordering::Greater => self.clone(),
            Ordering::Less => other.clone(),
            Ordering::Equal => Self { role: self.role, scope: self.scope.joined(&other.scope) },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(scopes: &str, grants: &[(GrantTarget, &str)]) -> Access {
        let parse = |text: &str| Scopes::parse(text).unwrap();
        let grants: Vec<_> = grants.iter().map(|(target, text)| (target, parse(text))).collect();
        let grants = grants.iter().map(|(target, scopes)| (*target, scopes));
        Access::new(Principal::named("prn_1"), parse(scopes), grants)
    }

    fn deck(capability: &str, denied: &[&str]) -> GrantTarget {
        GrantTarget::Deck(DeckGrant {
            capabilities: vec![capability.to_owned()],
            denied_tools: denied.iter().map(|text| (*text).to_owned()).collect(),
            ..DeckGrant::default()
        })
    }

    #[test]
    fn a_grant_to_read_adds_nothing_to_one_to_call_but_its_denials() {
        let grants = [(deck("a", &[]), "deck:call"), (deck("b", &["a/x"]), "deck:read")];
        let both = access("deck:call", &grants);
        assert!(both.may_call && both.deck.has(&["a"], "y"));
        assert!(!both.deck.has(&["a"], "x") && !both.deck.has_some_of(&["b"]));
        let reading = access("deck:read", &grants);
        assert!(!reading.may_call && reading.deck.has_some_of(&["b"]));
        assert!(access("capsule:read", &grants).deck.is_empty());
    }

    #[test]
    fn roles_go_as_far_as_scopes() {
        let grants = [(GrantTarget::capsule("team@1", Role::Writer), "capsule:admin")];
        assert_eq!(access("capsule:admin", &grants).role_in("team@1"), Some(Role::Writer));
        let reading = access("capsule:read", &grants);
        assert_eq!(reading.role_in("team@1"), Some(Role::Reader));
        assert!(reading.has_whole_capsule("team@1", Role::Reader));
        assert_eq!(access("deck:call", &grants).role_in("team@1"), None);
        assert_eq!(
            reading.missing([OAuthScope::CapsuleRead, OAuthScope::CapsuleWrite]).to_string(),
            "capsule:write"
        );
    }

    #[test]
    fn managing_needs_the_scope_on_both_sides() {
        let grants = [(GrantTarget::capsule("team@1", Role::Owner), "registry:manage")];
        assert!(access("registry:manage", &grants).may_manage());
        assert!(!access("capsule:admin", &grants).may_manage());
        assert!(!Access::none(Principal::named("prn_1")).may_manage());
    }
}
