//! The part of an access that decides which capabilities and tools exist for its holder.

use std::hash::{DefaultHasher, Hash, Hasher};

use crate::{DeckGrant, GrantTools, NamePattern};

/// Several grants of the deck as one: what any of them gives, without what any of them denies. It is the key under
/// which a host keeps what it makes of its catalog for such clients, so its hash is computed once.
#[derive(Debug)]
pub struct DeckAccess {
    grants: Vec<CompiledGrant>,
    denied: Vec<ToolPattern>,
    /// Whether the capability of the host's own capsules is there, regardless of the deck's grants.
    pub has_capsules: bool,
    pub grant_tools: GrantTools,
    hash: u64,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct CompiledGrant {
    capabilities: Vec<NamePattern>,
    /// Empty gives the capabilities whole.
    tools: Vec<ToolPattern>,
    modes: Vec<String>,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct ToolPattern {
    capability: NamePattern,
    tool: NamePattern,
}

impl DeckAccess {
    pub fn new(grants: &[DeckGrant], has_capsules: bool, grant_tools: GrantTools) -> Self {
        let patterns =
            |texts: &[String]| texts.iter().map(|text| ToolPattern::parse(text)).collect();
        let compiled = grants.iter().filter(|grant| !grant.capabilities.is_empty());
        let compiled = compiled.map(|grant| CompiledGrant {
            capabilities: grant.capabilities.iter().map(|text| NamePattern::new(text)).collect(),
            tools: patterns(&grant.tools),
            modes: grant.modes.clone(),
        });
        let compiled: Vec<CompiledGrant> = compiled.collect();
        let denied: Vec<ToolPattern> =
            grants.iter().flat_map(|grant| patterns(&grant.denied_tools)).collect();
        let mut hasher = DefaultHasher::new();
        (&compiled, &denied, has_capsules, grant_tools).hash(&mut hasher);
        let hash = hasher.finish();
        Self { grants: compiled, denied, has_capsules, grant_tools, hash }
    }

    /// True when no capability was granted.
    pub fn is_empty(&self) -> bool {
        self.grants.is_empty()
    }

    /// True when some of a capability may be had. `ids` are its own and those of the sets around it.
    pub fn has_some_of(&self, ids: &[&str]) -> bool {
        self.about(ids).next().is_some() && !self.denies_all_of(ids)
    }

    /// True when a capability is had whole, with its resources and prompts, but for tools that are denied.
    pub fn has_all_of(&self, ids: &[&str]) -> bool {
        self.about(ids).any(|grant| grant.tools.is_empty())
    }

    pub fn has(&self, ids: &[&str], tool: &str) -> bool {
        let gives = |grant: &CompiledGrant| {
            grant.tools.is_empty() || grant.tools.iter().any(|pattern| pattern.fits(ids, tool))
        };
        !self.denies(ids, tool) && self.about(ids).any(gives)
    }

    /// True when a grant denies this tool, whichever other one gives it.
    pub fn denies(&self, ids: &[&str], tool: &str) -> bool {
        self.denied.iter().any(|pattern| pattern.fits(ids, tool))
    }

    /// True when no tool of the capability can be allowed, whatever its name.
    pub fn denies_all_of(&self, ids: &[&str]) -> bool {
        self.denied.iter().any(|pattern| pattern.tool.is_any() && pattern.is_about(ids))
    }

    /// The names of the exposures in which a capability may be offered; `None`: all.
    pub fn modes_of(&self, ids: &[&str]) -> Option<Vec<&str>> {
        let mut modes = Vec::new();
        let mut about = self.about(ids).peekable();
        about.peek()?;
        for grant in about {
            if grant.modes.is_empty() {
                return None;
            }
            modes.extend(grant.modes.iter().map(String::as_str));
        }
        Some(modes)
    }

    /// The grants that give something of a capability.
    fn about(&self, ids: &[&str]) -> impl Iterator<Item = &CompiledGrant> {
        let names = |patterns: &[NamePattern]| {
            patterns.iter().any(|pattern| ids.iter().any(|id| pattern.matches(id)))
        };
        self.grants.iter().filter(move |grant| {
            names(&grant.capabilities)
                && (grant.tools.is_empty() || grant.tools.iter().any(|tool| tool.is_about(ids)))
        })
    }
}

impl ToolPattern {
    /// `capability/tool`, or a capability alone for all of its tools. Ids have no slash, names of tools may.
    fn parse(text: &str) -> Self {
        let (capability, tool) = text.split_once('/').unwrap_or((text, "*"));
        Self { capability: NamePattern::new(capability), tool: NamePattern::new(tool) }
    }

    fn is_about(&self, ids: &[&str]) -> bool {
        ids.iter().any(|id| self.capability.matches(id))
    }

    fn fits(&self, ids: &[&str], tool: &str) -> bool {
        self.is_about(ids) && self.tool.matches(tool)
    }
}

impl PartialEq for DeckAccess {
    fn eq(&self, other: &Self) -> bool {
        self.hash == other.hash
            && self.has_capsules == other.has_capsules
            && self.grant_tools == other.grant_tools
            && self.grants == other.grants
            && self.denied == other.denied
    }
}

impl Eq for DeckAccess {}

impl Hash for DeckAccess {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.hash.hash(state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    fn grant(capabilities: &[&str], tools: &[&str], denied: &[&str]) -> DeckGrant {
        DeckGrant {
            capabilities: texts(capabilities),
            tools: texts(tools),
            denied_tools: texts(denied),
            modes: Vec::new(),
        }
    }

    fn deck(grants: &[DeckGrant], has_capsules: bool) -> DeckAccess {
        DeckAccess::new(grants, has_capsules, GrantTools::None)
    }

    #[test]
    fn patterns_are_of_whole_names() {
        let allowed = deck(&[grant(&["git*", "team"], &[], &["git*/delete_*"])], false);
        for (ids, tool, expected) in [
            (&["github"][..], "list", true),
            (&["github"], "delete_repo", false),
            (&["legit"], "list", false),
            (&["team"], "delete_x", true),
            (&["team__notes", "team"], "anything", true),
            (&["notes"], "list", false),
        ] {
            assert_eq!(allowed.has(ids, tool), expected, "{ids:?} {tool}");
        }
        assert!(allowed.has_all_of(&["github"]) && !allowed.has_some_of(&["notes"]));
    }

    #[test]
    fn tools_are_of_granted_capabilities_only() {
        let grants = [grant(&["a", "b"], &["a/list_*", "c/*", "b/x/y"], &[])];
        let allowed = deck(&grants, false);
        assert!(allowed.has(&["a"], "list_all") && !allowed.has(&["a"], "drop"));
        assert!(!allowed.has(&["c"], "any") && !allowed.has_some_of(&["c"]));
        assert!(allowed.has(&["b"], "x/y") && !allowed.has_all_of(&["b"]));
        assert!(!allowed.has_all_of(&["a"]) && allowed.has_some_of(&["a"]));
        let all = deck(&[grant(&["*"], &["a"], &[])], false);
        assert!(all.has(&["a"], "any") && !all.has_some_of(&["b"]));
        assert!(!deck(&[grant(&[], &["a/x"], &[])], false).has(&["a"], "x"));
        assert!(!deck(&[], true).has_some_of(&["a"]));
    }

    #[test]
    fn what_one_grant_denies_no_other_gives() {
        let grants = [grant(&["*"], &[], &["a/x", "b/*", "c"]), grant(&["a", "b"], &["a/x"], &[])];
        let allowed = deck(&grants, false);
        assert!(!allowed.has(&["a"], "x") && allowed.has(&["a"], "y"));
        assert!(!allowed.has_some_of(&["b"]) && !allowed.has_some_of(&["c"]));
        assert!(!allowed.has_some_of(&["inner", "c"]));
        // No name is no tool.
        assert!(deck(&[grant(&["a"], &[], &["a/"])], false).has(&["a"], "x"));
    }

    #[test]
    fn modes_are_those_of_the_grants_about_a_capability() {
        let with = |capability: &str, modes: &[&str]| DeckGrant {
            modes: texts(modes),
            ..grant(&[capability], &[], &[])
        };
        let grants = [with("a", &["search"]), with("a*", &["direct"]), with("b", &[])];
        let allowed = deck(&grants, false);
        assert_eq!(allowed.modes_of(&["a"]), Some(vec!["search", "direct"]));
        assert_eq!(allowed.modes_of(&["ab"]), Some(vec!["direct"]));
        assert_eq!(allowed.modes_of(&["b"]), None);
        assert_eq!(allowed.modes_of(&["c"]), None);
    }

    #[test]
    fn equal_grants_are_one_key() {
        let one = || deck(&[grant(&["a"], &[], &[])], false);
        assert_eq!(one(), one());
        assert_ne!(one(), deck(&[grant(&["a"], &[], &[])], true));
        assert_ne!(one(), deck(&[grant(&["b"], &[], &[])], false));
    }
}
