//! What a client was granted of the deck, ready to be asked about every capability and tool.

use std::hash::{DefaultHasher, Hash, Hasher};

use capdeck_definition::{Backend, Glob};

use crate::{Capability, DeckGrant, Modes};

/// Several grants as one: what any of them gives, without what any of them denies.
#[derive(Debug)]
pub struct Allowance {
    given: Vec<Given>,
    denied: Vec<ToolPattern>,
    /// Whether the capability of the host's own capsules is there, whatever the deck's grants say.
    capsules: bool,
    /// What it is found by in tables, which look for it with every request.
    hash: u64,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Given {
    capabilities: Vec<Glob>,
    /// Empty gives the capabilities whole.
    tools: Vec<ToolPattern>,
    modes: Option<Modes>,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct ToolPattern {
    capability: Glob,
    tool: Glob,
}

impl Allowance {
    /// What these grants give together, with or without the capability of capsules.
    pub fn new(grants: &[DeckGrant], capsules: bool) -> Self {
        let patterns =
            |texts: &[String]| texts.iter().map(|text| ToolPattern::parse(text)).collect();
        let given = grants.iter().map(|grant| Given {
            capabilities: grant.capabilities.iter().map(Glob::new).collect(),
            tools: patterns(&grant.tools),
            modes: (!grant.modes.is_empty()).then(|| Modes::named(&grant.modes)),
        });
        let given: Vec<Given> = given.collect();
        let denied: Vec<ToolPattern> =
            grants.iter().flat_map(|grant| patterns(&grant.denied_tools)).collect();
        let mut hasher = DefaultHasher::new();
        (&given, &denied, capsules).hash(&mut hasher);
        Self { given, denied, capsules, hash: hasher.finish() }
    }

    /// True when the capability is that of the host's own capsules, which are granted one by one and not with the deck.
    pub(crate) fn has_capsules(&self, capability: &Capability) -> bool {
        self.capsules && capability.definition.backend == Backend::Capsules
    }

    /// True when this tool of this capability may be called. A set has nothing but its members, which are granted by
    /// themselves.
    pub fn gives(&self, capability: &Capability, ids: &[&str], tool: &str) -> bool {
        let is_set = matches!(capability.definition.backend, Backend::Caplets(_));
        match is_set || self.has_capsules(capability) {
            true => !self.denies(ids, tool),
            false => self.has(ids, tool),
        }
    }

    /// True when some of a capability may be had. `ids` are its own and those of the sets around it.
    pub fn has_some_of(&self, ids: &[&str]) -> bool {
        self.about(ids).next().is_some() && !self.denies_all_of(ids)
    }

    /// True when a capability is had whole, with its resources and prompts, but for tools that are denied.
    pub fn has_all_of(&self, ids: &[&str]) -> bool {
        self.about(ids).any(|given| given.tools.is_empty())
    }

    /// True when this tool of a capability may be had.
    pub fn has(&self, ids: &[&str], tool: &str) -> bool {
        let gives = |given: &Given| {
            given.tools.is_empty() || given.tools.iter().any(|pattern| pattern.fits(ids, tool))
        };
        !self.denies(ids, tool) && self.about(ids).any(gives)
    }

    /// True when this tool may not be had, whoever else gives it.
    pub fn denies(&self, ids: &[&str], tool: &str) -> bool {
        self.denied.iter().any(|pattern| pattern.fits(ids, tool))
    }

    /// True when no tool of the capability can be had, whatever it is called.
    pub fn denies_all_of(&self, ids: &[&str]) -> bool {
        let is_whole = |pattern: &&ToolPattern| {
            let tool = pattern.tool.as_str();
            !tool.is_empty() && tool.chars().all(|one| one == '*')
        };
        self.denied.iter().filter(is_whole).any(|pattern| pattern.is_about(ids))
    }

    /// The ways in which a capability may be offered; `None`: all.
    pub fn modes_of(&self, ids: &[&str]) -> Option<Modes> {
        let mut all = Modes::default();
        let mut about = self.about(ids).peekable();
        about.peek()?;
        for given in about {
            all = all.with(given.modes?);
        }
        Some(all)
    }

    /// The grants that give something of a capability.
    fn about<'a>(&'a self, ids: &'a [&'a str]) -> impl Iterator<Item = &'a Given> {
        let names = |patterns: &'a [Glob]| {
            patterns.iter().any(|pattern| ids.iter().any(|id| pattern.matches(id)))
        };
        self.given.iter().filter(move |given| {
            names(&given.capabilities)
                && (given.tools.is_empty() || given.tools.iter().any(|tool| tool.is_about(ids)))
        })
    }
}

impl ToolPattern {
    /// `capability/tool`, or a capability alone for all of its tools. Ids have no slash, names of tools may.
    fn parse(text: &str) -> Self {
        let (capability, tool) = text.split_once('/').unwrap_or((text, "*"));
        Self { capability: Glob::new(capability), tool: Glob::new(tool) }
    }

    fn is_about(&self, ids: &[&str]) -> bool {
        ids.iter().any(|id| self.capability.matches(id))
    }

    fn fits(&self, ids: &[&str], tool: &str) -> bool {
        self.is_about(ids) && self.tool.matches(tool)
    }
}

impl PartialEq for Allowance {
    fn eq(&self, other: &Self) -> bool {
        self.hash == other.hash
            && self.capsules == other.capsules
            && self.given == other.given
            && self.denied == other.denied
    }
}

impl Eq for Allowance {}

impl Hash for Allowance {
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

    #[test]
    fn patterns_are_of_whole_names() {
        let allowed = Allowance::new(&[grant(&["git*", "team"], &[], &["git*/delete_*"])], false);
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
        let allowed = Allowance::new(&grants, false);
        assert!(allowed.has(&["a"], "list_all") && !allowed.has(&["a"], "drop"));
        assert!(!allowed.has(&["c"], "any") && !allowed.has_some_of(&["c"]));
        assert!(allowed.has(&["b"], "x/y") && !allowed.has_all_of(&["b"]));
        assert!(!allowed.has_all_of(&["a"]) && allowed.has_some_of(&["a"]));
        let all = Allowance::new(&[grant(&["*"], &["a"], &[])], false);
        assert!(all.has(&["a"], "any") && !all.has_some_of(&["b"]));
        assert!(!Allowance::new(&[grant(&[], &["a/x"], &[])], false).has(&["a"], "x"));
        assert!(!Allowance::new(&[], true).has_some_of(&["a"]));
    }

    #[test]
    fn what_one_grant_denies_no_other_gives() {
        let grants = [grant(&["*"], &[], &["a/x", "b/*", "c"]), grant(&["a", "b"], &["a/x"], &[])];
        let allowed = Allowance::new(&grants, false);
        assert!(!allowed.has(&["a"], "x") && allowed.has(&["a"], "y"));
        assert!(!allowed.has_some_of(&["b"]) && !allowed.has_some_of(&["c"]));
        assert!(!allowed.has_some_of(&["inner", "c"]));
        // No name is no tool.
        assert!(Allowance::new(&[grant(&["a"], &[], &["a/"])], false).has(&["a"], "x"));
    }

    #[test]
    fn modes_are_those_of_the_grants_about_a_capability() {
        let with = |capability: &str, modes: &[&str]| DeckGrant {
            modes: texts(modes),
            ..grant(&[capability], &[], &[])
        };
        let grants = [with("a", &["search"]), with("a*", &["direct"]), with("b", &[])];
        let allowed = Allowance::new(&grants, false);
        let named = |names: &[&str]| Some(Modes::named(&texts(names)));
        assert_eq!(allowed.modes_of(&["a"]), named(&["direct", "search"]));
        assert_eq!(allowed.modes_of(&["ab"]), named(&["direct"]));
        assert_eq!(allowed.modes_of(&["b"]), None);
        assert_eq!(allowed.modes_of(&["c"]), None);
    }

    #[test]
    fn equal_grants_are_one_key() {
        let one = || Allowance::new(&[grant(&["a"], &[], &[])], false);
        assert_eq!(one(), one());
        assert_ne!(one(), Allowance::new(&[grant(&["a"], &[], &[])], true));
        assert_ne!(one(), Allowance::new(&[grant(&["b"], &[], &[])], false));
    }
}
