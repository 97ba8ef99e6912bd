//! What a token may be used for at all, independent of what its holder was granted.

use std::{collections::BTreeSet, fmt};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Role;

/// A scope by its name.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[schemars(rename = "ScopeName")]
pub enum OAuthScope {
    // Lists, searches and describes what the deck offers.
    #[serde(rename = "deck:read")]
    DeckRead,
    // Calls tools of the deck.
    #[serde(rename = "deck:call")]
    DeckCall,
    // Reads entries.
    #[serde(rename = "capsule:read")]
    CapsuleRead,
    // Creates entries.
    #[serde(rename = "capsule:append")]
    CapsuleAppend,
    // Creates and changes entries.
    #[serde(rename = "capsule:write")]
    CapsuleWrite,
    // Deletes entries and changes the capsule itself.
    #[serde(rename = "capsule:admin")]
    CapsuleAdmin,
    // Asks for access on behalf of others, and decides about it where the mode lets principals decide.
    #[serde(rename = "registry:manage")]
    RegistryManage,
}

/// A set of scopes. A stronger scope includes the weaker ones of its family.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Scopes(BTreeSet<OAuthScope>);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{name}` is no scope; there are {}", Scopes::all())]
pub struct UnknownScope {
    /// The word, cut to a length that can be shown.
    pub name: String,
}

impl OAuthScope {
    /// Every scope, weaker ones first.
    pub const ALL: [Self; 7] = [
        Self::DeckRead,
        Self::DeckCall,
        Self::CapsuleRead,
        Self::CapsuleAppend,
        Self::CapsuleWrite,
        Self::CapsuleAdmin,
        Self::RegistryManage,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::DeckRead => "deck:read",
            Self::DeckCall => "deck:call",
            Self::CapsuleRead => "capsule:read",
            Self::CapsuleAppend => "capsule:append",
            Self::CapsuleWrite => "capsule:write",
            Self::CapsuleAdmin => "capsule:admin",
            Self::RegistryManage => "registry:manage",
        }
    }

    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| scope.as_str() == name)
    }

    /// Whether a holder of this one has the other.
    pub fn implies(self, other: Self) -> bool {
        self.family() == other.family() && self >= other
    }

    fn family(self) -> u8 {
        match self {
            Self::DeckRead | Self::DeckCall => 0,
            Self::CapsuleRead | Self::CapsuleAppend | Self::CapsuleWrite | Self::CapsuleAdmin => 1,
            Self::RegistryManage => 2,
        }
    }
}

impl Scopes {
    /// Everything that can be granted.
    pub fn all() -> Self {
        OAuthScope::ALL.into_iter().collect()
    }

    /// Reads scopes separated by spaces, as OAuth writes them.
    pub fn parse(text: &str) -> Result<Self, UnknownScope> {
        text.split_ascii_whitespace()
            .map(|name| {
                OAuthScope::parse(name)
                    .ok_or_else(|| UnknownScope { name: name.chars().take(40).collect() })
            })
            .collect()
    }

    /// The scopes that a role in a capsule can make use of.
    pub fn of_role(role: Role) -> Self {
        Self::from_iter([match role {
            Role::Reader => OAuthScope::CapsuleRead,
            Role::Appender => OAuthScope::CapsuleAppend,
            Role::Writer => OAuthScope::CapsuleWrite,
            Role::Owner => OAuthScope::CapsuleAdmin,
        }])
    }

    /// The highest role in a capsule that these scopes leave.
    pub fn highest_role(&self) -> Option<Role> {
        [
            (OAuthScope::CapsuleAdmin, Role::Owner),
            (OAuthScope::CapsuleWrite, Role::Writer),
            (OAuthScope::CapsuleAppend, Role::Appender),
            (OAuthScope::CapsuleRead, Role::Reader),
        ]
        .into_iter()
        .find_map(|(scope, role)| self.allows(scope).then_some(role))
    }

    /// Whether one of these scopes is the given one, or includes it.
    pub fn allows(&self, scope: OAuthScope) -> bool {
        self.0.iter().any(|held| held.implies(scope))
    }

    /// Whether everything that the other set allows is allowed here.
    pub fn covers(&self, other: &Self) -> bool {
        other.0.iter().all(|scope| self.allows(*scope))
    }

    /// What both sets allow.
    pub fn meet(&self, other: &Self) -> Self {
        OAuthScope::ALL
            .into_iter()
            .filter(|scope| self.allows(*scope) && other.allows(*scope))
            .collect::<Self>()
            .strongest()
    }

    /// What either set allows.
    pub fn union(&self, other: &Self) -> Self {
        self.0.union(&other.0).copied().collect::<Self>().strongest()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = OAuthScope> + '_ {
        self.0.iter().copied()
    }

    /// Without those that another one of the set includes.
    fn strongest(&self) -> Self {
        let is_implied =
            |scope: &OAuthScope| self.0.iter().any(|other| other != scope && other.implies(*scope));
        self.0.iter().filter(|scope| !is_implied(scope)).copied().collect()
    }
}

impl FromIterator<OAuthScope> for Scopes {
    fn from_iter<I: IntoIterator<Item = OAuthScope>>(scopes: I) -> Self {
        Self(scopes.into_iter().collect())
    }
}

impl fmt::Display for OAuthScope {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl fmt::Display for Scopes {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, scope) in self.iter().enumerate() {
            if position > 0 {
                formatter.write_str(" ")?;
            }
            formatter.write_str(scope.as_str())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scopes(text: &str) -> Scopes {
        Scopes::parse(text).unwrap()
    }

    #[test]
    fn security_07_a_stronger_scope_stands_for_the_weaker_ones_of_its_family_only() {
        assert!(scopes("capsule:write").allows(OAuthScope::CapsuleRead));
        assert!(!scopes("capsule:write").allows(OAuthScope::CapsuleAdmin));
        assert!(!scopes("capsule:admin").allows(OAuthScope::DeckRead));
        assert!(scopes("deck:call").allows(OAuthScope::DeckRead));
        assert!(!scopes("deck:call capsule:admin").allows(OAuthScope::RegistryManage));
        assert!(!scopes("registry:manage").allows(OAuthScope::CapsuleRead));
    }

    #[test]
    fn sets_meet_and_join() {
        let both =
            scopes("capsule:write deck:read").meet(&scopes("capsule:append registry:manage"));
        assert_eq!(both, scopes("capsule:append"));
        let joined = scopes("capsule:read deck:call").union(&scopes("capsule:write"));
        assert_eq!(joined, scopes("capsule:write deck:call"));
        assert!(scopes("capsule:write").covers(&scopes("capsule:read capsule:append")));
        assert!(!scopes("capsule:read").covers(&scopes("capsule:append")));
        assert_eq!(scopes("capsule:append").highest_role(), Some(Role::Appender));
        assert_eq!(scopes("deck:call").highest_role(), None);
    }

    #[test]
    fn unknown_words_are_named_and_cut() {
        let error = Scopes::parse("deck:read offline_access").unwrap_err();
        assert!(error.to_string().starts_with("`offline_access` is no scope; there are deck:read"));
        assert_eq!(Scopes::parse(&"x".repeat(900)).unwrap_err().name.len(), 40);
        assert_eq!(Scopes::parse("  ").unwrap(), Scopes::default());
    }
}
