//! What a grant is about, and whether one is within another.

use serde::{Deserialize, Serialize};

use super::{RegistryError, Role, name_pattern, uri_prefix::UriPrefix};

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
    /// A part of the deck. All names are patterns with `*` and `?`.
    Deck {
        /// Capabilities; none means none.
        capabilities: Vec<String>,
        /// `capability/tool`; empty means every tool of the capabilities.
        #[serde(default)]
        tools: Vec<String>,
        /// `capability/tool`; wins over what is allowed.
        #[serde(default)]
        denied_tools: Vec<String>,
        /// Ways to offer tools; empty means every way.
        #[serde(default)]
        modes: Vec<String>,
    },
}

/// Bytes of a name, and of the uid behind it.
const MAX_CAPSULE_KEY: usize = 240;
/// How many prefixes or patterns one list may hold.
const LONGEST_LIST: usize = 200;

impl GrantTarget {
    /// The whole deck.
    pub fn whole_deck() -> Self {
        Self::Deck {
            capabilities: vec!["*".to_owned()],
            tools: Vec::new(),
            denied_tools: Vec::new(),
            modes: Vec::new(),
        }
    }

    /// A role on a whole capsule.
    pub fn capsule(capsule: impl Into<String>, role: Role) -> Self {
        let capsule = capsule.into();
        Self::Capsule { capsule, role, uri_prefixes: Vec::new(), denied_prefixes: Vec::new() }
    }

    /// Names the capsule by another key, if it is about a capsule.
    pub(super) fn rename_capsule(&mut self, key: String) {
        if let Self::Capsule { capsule, .. } = self {
            *capsule = key;
        }
    }

    /// The capsule's key, if it is about a capsule.
    pub fn capsule_id(&self) -> Option<&str> {
        match self {
            Self::Capsule { capsule, .. } => Some(capsule),
            Self::Deck { .. } => None,
        }
    }

    /// The role, if it is about a capsule.
    pub fn role(&self) -> Option<Role> {
        match self {
            Self::Capsule { role, .. } => Some(*role),
            Self::Deck { .. } => None,
        }
    }

    /// Refuses what cannot be a target.
    pub fn check(&self) -> Result<(), RegistryError> {
        match self {
            Self::Capsule { capsule, uri_prefixes, denied_prefixes, .. } => {
                if capsule.is_empty()
                    || capsule.len() > MAX_CAPSULE_KEY
                    || capsule.contains(char::is_control)
                {
                    return Err(RegistryError::invalid("capsule", "1 to 200 characters"));
                }
                for (what, prefixes) in
                    [("uri_prefixes", uri_prefixes), ("denied_prefixes", denied_prefixes)]
                {
                    check_list(what, prefixes)?;
                    if prefixes.iter().any(|one| UriPrefix::parse(one).is_none()) {
                        let reason = "each is `scheme://`, `scheme://path` or `scheme://start*`";
                        return Err(RegistryError::invalid(what, reason));
                    }
                }
                Ok(())
            }
            Self::Deck { capabilities, tools, denied_tools, modes } => {
                if capabilities.is_empty() {
                    return Err(RegistryError::invalid("capabilities", "at least one pattern"));
                }
                for (what, patterns) in [
                    ("capabilities", capabilities),
                    ("tools", tools),
                    ("denied_tools", denied_tools),
                    ("modes", modes),
                ] {
                    check_list(what, patterns)?;
                    if !patterns.iter().all(|one| name_pattern::is_pattern(one)) {
                        let reason = "each is a name of 1 to 256 letters, with `*` and `?`";
                        return Err(RegistryError::invalid(what, reason));
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
                    && prefixes_within(uri_prefixes, denied_prefixes, other_allowed, other_denied)
            }
            (
                Self::Deck { capabilities, tools, denied_tools, modes },
                Self::Deck {
                    capabilities: other_capabilities,
                    tools: other_tools,
                    denied_tools: other_denied,
                    modes: other_modes,
                },
            ) => {
                patterns_within(capabilities, other_capabilities)
                    && (other_tools.is_empty()
                        || (!tools.is_empty() && patterns_within(tools, other_tools)))
                    && patterns_within(other_denied, denied_tools)
                    && (other_modes.is_empty()
                        || (!modes.is_empty()
                            && modes.iter().all(|mode| other_modes.contains(mode))))
            }
            (Self::Capsule { .. }, Self::Deck { .. })
            | (Self::Deck { .. }, Self::Capsule { .. }) => false,
        }
    }
}

fn check_list(what: &'static str, list: &[String]) -> Result<(), RegistryError> {
    if list.len() > LONGEST_LIST {
        return Err(RegistryError::invalid(what, format!("at most {LONGEST_LIST}")));
    }
    Ok(())
}

fn patterns_within(inner: &[String], outer: &[String]) -> bool {
    inner.iter().all(|one| outer.iter().any(|other| name_pattern::covers(other, one)))
}

/// Whether nothing is reached by the first pair of lists that the second pair does not reach.
fn prefixes_within(
    allowed: &[String],
    denied: &[String],
    outer_allowed: &[String],
    outer_denied: &[String],
) -> bool {
    let parse = |list: &[String]| list.iter().map(|one| UriPrefix::parse(one)).collect();
    let (Some(allowed), Some(denied)): (Option<Vec<_>>, Option<Vec<_>>) =
        (parse(allowed), parse(denied))
    else {
        return false;
    };
    let (Some(outer_allowed), Some(outer_denied)): (Option<Vec<_>>, Option<Vec<_>>) =
        (parse(outer_allowed), parse(outer_denied))
    else {
        return false;
    };
    let is_denied = |part: &UriPrefix| denied.iter().any(|one| one.covers(part));
    let stays_inside = outer_allowed.is_empty()
        || (!allowed.is_empty()
            && allowed
                .iter()
                .all(|one| is_denied(one) || outer_allowed.iter().any(|other| other.covers(one))));
    // What the outer one denies must stay out: denied here, too, or away from everything that is allowed.
    let stays_out = outer_denied.iter().all(|forbidden| {
        is_denied(forbidden)
            || (!allowed.is_empty()
                && allowed.iter().all(|one| is_denied(one) || !one.overlaps(forbidden)))
    });
    stays_inside && stays_out
}

#[cfg(test)]
mod tests;
