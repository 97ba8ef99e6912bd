//! What a grant is about, and whether one is within another.

use serde::{Deserialize, Serialize};

use crate::{EntryScope, NamePattern, Role, UriPrefix};

/// One capsule, or the deck.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase", deny_unknown_fields)]
pub enum GrantTarget {
    /// A role on a part of a capsule.
    Capsule {
        /// The key of the capsule.
        capsule: String,
        role: Role,
        /// Empty means everything.
        #[serde(default)]
        uri_prefixes: Vec<String>,
        /// Wins over what is allowed.
        #[serde(default)]
        denied_prefixes: Vec<String>,
    },
    /// A part of the deck.
    Deck(DeckGrant),
}

/// Capabilities and tools by patterns in which `*` matches any letters and `?` one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeckGrant {
    /// Ids of capabilities. A set is granted with its members; without a pattern nothing is granted.
    pub capabilities: Vec<String>,
    /// `capability/tool`; a capability alone means all of its tools. Empty grants the capabilities whole, with their
    /// resources and prompts.
    #[serde(default)]
    pub tools: Vec<String>,
    /// Of the same form. What one grant denies no other one gives.
    #[serde(default)]
    pub denied_tools: Vec<String>,
    /// Names of the exposures in which the capabilities may be offered; empty means all.
    #[serde(default)]
    pub modes: Vec<String>,
}

/// A target that cannot be stored.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}: {reason}")]
pub struct InvalidTarget {
    /// The field.
    pub what: &'static str,
    /// What it has to be.
    pub reason: String,
}

impl DeckGrant {
    /// Nothing but what it denies.
    pub(crate) fn only_denied(self) -> Self {
        Self { denied_tools: self.denied_tools, ..Self::default() }
    }
}

/// Bytes of a name, and of the uid behind it.
const MAX_CAPSULE_KEY: usize = 240;
/// How many prefixes or patterns one list may hold.
const MAX_LIST_ITEMS: usize = 200;

impl GrantTarget {
    pub fn whole_deck() -> Self {
        Self::Deck(DeckGrant { capabilities: vec!["*".to_owned()], ..DeckGrant::default() })
    }

    pub fn capsule(capsule: impl Into<String>, role: Role) -> Self {
        let capsule = capsule.into();
        Self::Capsule { capsule, role, uri_prefixes: Vec::new(), denied_prefixes: Vec::new() }
    }

    /// Names the capsule by another key, if it is about a capsule.
    pub fn rename_capsule(&mut self, key: String) {
        if let Self::Capsule { capsule, .. } = self {
            *capsule = key;
        }
    }

    /// The capsule's key, if it is about a capsule.
    pub fn capsule_id(&self) -> Option<&str> {
        match self {
            Self::Capsule { capsule, .. } => Some(capsule),
            Self::Deck(_) => None,
        }
    }

    pub fn role(&self) -> Option<Role> {
        match self {
            Self::Capsule { role, .. } => Some(*role),
            Self::Deck(_) => None,
        }
    }

    /// Refuses what cannot be a target.
    pub fn check(&self) -> Result<(), InvalidTarget> {
        match self {
            Self::Capsule { capsule, uri_prefixes, denied_prefixes, .. } => {
                if capsule.is_empty()
                    || capsule.len() > MAX_CAPSULE_KEY
                    || capsule.contains(char::is_control)
                {
                    return Err(invalid("capsule", "1 to 200 characters"));
                }
                for (what, prefixes) in
                    [("uri_prefixes", uri_prefixes), ("denied_prefixes", denied_prefixes)]
                {
                    check_list(what, prefixes)?;
                    if prefixes.iter().any(|one| UriPrefix::parse(one).is_err()) {
                        let reason = "each is `scheme://`, `scheme://path` or `scheme://start*`";
                        return Err(invalid(what, reason));
                    }
                }
                Ok(())
            }
            Self::Deck(DeckGrant { capabilities, tools, denied_tools, modes }) => {
                if capabilities.is_empty() {
                    return Err(invalid("capabilities", "at least one pattern"));
                }
                for (what, patterns) in [
                    ("capabilities", capabilities),
                    ("tools", tools),
                    ("denied_tools", denied_tools),
                    ("modes", modes),
                ] {
                    check_list(what, patterns)?;
                    if !patterns.iter().all(|one| NamePattern::is_valid(one)) {
                        let reason = "each is a name of 1 to 256 letters, with `*` and `?`";
                        return Err(invalid(what, reason));
                    }
                }
                Ok(())
            }
        }
    }

    /// Whether it opens nothing that the other one does not. When in doubt it says no.
    pub fn is_within(&self, other: &Self) -> bool {
        match (self, other) {
            (
                Self::Capsule { capsule, role, uri_prefixes, denied_prefixes },
                Self::Capsule {
                    capsule: other_capsule,
                    role: other_role,
                    uri_prefixes: other_allowed,
                    denied_prefixes: other_denied,
                },
            ) => {
                capsule == other_capsule
                    && role <= other_role
                    && entry_scope(uri_prefixes, denied_prefixes)
                        .zip(entry_scope(other_allowed, other_denied))
                        .is_some_and(|(own, other)| own.is_within(&other))
            }
            (Self::Deck(own), Self::Deck(other)) => own.is_within(other),
            (Self::Capsule { .. }, Self::Deck(_)) | (Self::Deck(_), Self::Capsule { .. }) => false,
        }
    }
}

impl DeckGrant {
    fn is_within(&self, other: &Self) -> bool {
        patterns_within(&self.capabilities, &other.capabilities)
            && (other.tools.is_empty()
                || (!self.tools.is_empty() && patterns_within(&self.tools, &other.tools)))
            && patterns_within(&other.denied_tools, &self.denied_tools)
            && (other.modes.is_empty()
                || (!self.modes.is_empty()
                    && self.modes.iter().all(|mode| other.modes.contains(mode))))
    }
}

fn invalid(what: &'static str, reason: impl Into<String>) -> InvalidTarget {
    InvalidTarget { what, reason: reason.into() }
}

fn check_list(what: &'static str, list: &[String]) -> Result<(), InvalidTarget> {
    if list.len() > MAX_LIST_ITEMS {
        return Err(invalid(what, format!("at most {MAX_LIST_ITEMS}")));
    }
    Ok(())
}

fn patterns_within(inner: &[String], outer: &[String]) -> bool {
    let outer: Vec<NamePattern> = outer.iter().map(|text| NamePattern::new(text)).collect();
    inner
        .iter()
        .map(|text| NamePattern::new(text))
        .all(|one| outer.iter().any(|other| other.covers(&one)))
}

/// A part of a capsule from its lists; `None` where one holds something else than a prefix.
pub(crate) fn entry_scope(allowed: &[String], denied: &[String]) -> Option<EntryScope> {
    let (allowed, denied) = (allowed.iter(), denied.iter());
    EntryScope::parse(allowed.map(String::as_str), denied.map(String::as_str)).ok()
}

#[cfg(test)]
mod tests;
