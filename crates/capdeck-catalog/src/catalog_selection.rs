//! A choice of tools, written down before it is known which tools there are.

use std::collections::{HashMap, HashSet};

use capdeck_definition::{Glob, capability_file::plain_tool_name};
use indexmap::IndexMap;

/// Capabilities and tools by name. What it chooses is decided against a catalog.
///
/// Names without a pattern are looked up: a capability file may choose thousands of tools.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CatalogSelection {
    named: HashMap<String, ToolSelection>,
    patterns: IndexMap<Glob, ToolSelection>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct ToolSelection {
    whole: bool,
    names: HashSet<String>,
    /// Names with `_` for what some clients cannot send.
    plain_names: HashSet<String>,
    patterns: Vec<Glob>,
}

impl CatalogSelection {
    pub fn whole(id: &str) -> Self {
        let mut selection = Self::default();
        selection.add_capability(&Glob::new(id));
        selection
    }

    /// Chooses whole capabilities, with their resources and prompts.
    pub fn add_capability(&mut self, capability: &Glob) {
        self.entry(capability).whole = true;
    }

    /// Chooses tools by a pattern of their own names.
    pub fn add_tools(&mut self, capability: &Glob, tool: Glob) {
        let tools = self.entry(capability);
        if tool.is_plain() {
            tools.names.insert(tool.as_str().to_owned());
        } else {
            tools.patterns.push(tool);
        }
    }

    /// Chooses one tool as capability files name it: `_` replaces characters that some clients cannot send.
    pub fn add_plain_name(&mut self, capability: &str, tool: &str) {
        self.entry(&Glob::new(capability)).plain_names.insert(plain_tool_name(tool));
    }

    pub fn is_empty(&self) -> bool {
        self.named.is_empty() && self.patterns.is_empty()
    }

    /// Chooses what the other one chooses, too.
    pub fn extend(&mut self, other: Self) {
        for (capability, tools) in other.named {
            self.named.entry(capability).or_default().extend(tools);
        }
        for (capability, tools) in other.patterns {
            self.patterns.entry(capability).or_default().extend(tools);
        }
    }

    /// True when all of a capability is chosen. `ids` are its own and those of the sets around it.
    pub fn has_all_of(&self, ids: &[&str]) -> bool {
        self.about(ids).any(|tools| tools.whole)
    }

    /// True when some of a capability may be chosen.
    pub fn has_some_of(&self, ids: &[&str]) -> bool {
        self.about(ids).next().is_some()
    }

    /// True when this tool of a capability is chosen.
    pub fn has(&self, ids: &[&str], tool: &str) -> bool {
        self.about(ids).any(|tools| tools.has(tool))
    }

    fn about<'a>(&'a self, ids: &'a [&'a str]) -> impl Iterator<Item = &'a ToolSelection> {
        let named = ids.iter().filter_map(|id| self.named.get(*id));
        let fits = |pattern: &Glob| ids.iter().any(|id| pattern.matches(id));
        let patterns = self.patterns.iter().filter(move |(pattern, _)| fits(pattern));
        named.chain(patterns.map(|(_, tools)| tools))
    }

    fn entry(&mut self, capability: &Glob) -> &mut ToolSelection {
        if capability.is_plain() {
            self.named.entry(capability.as_str().to_owned()).or_default()
        } else {
            self.patterns.entry(capability.clone()).or_default()
        }
    }
}

impl ToolSelection {
    fn extend(&mut self, other: Self) {
        self.whole |= other.whole;
        self.names.extend(other.names);
        self.plain_names.extend(other.plain_names);
        self.patterns.extend(other.patterns);
    }

    fn has(&self, tool: &str) -> bool {
        self.whole
            || self.names.contains(tool)
            || (!self.plain_names.is_empty() && self.plain_names.contains(&plain_tool_name(tool)))
            || self.patterns.iter().any(|pattern| pattern.matches(tool))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_is_of_whole_capabilities_or_of_tools() {
        let mut chosen = CatalogSelection::whole("notes");
        chosen.add_tools(&Glob::new("git*"), Glob::new("list_*"));
        chosen.add_tools(&Glob::new("a"), Glob::new("b.c"));
        for (ids, tool, expected) in [
            (&["github"][..], "list_issues", true),
            (&["github"], "create_issue", false),
            (&["notes"], "anything", true),
            (&["notes__inner", "notes"], "anything", true),
            (&["a"], "b.c", true),
            (&["a"], "b", false),
            (&["other"], "list_issues", false),
        ] {
            assert_eq!(chosen.has(ids, tool), expected, "{ids:?} {tool}");
        }
        assert!(chosen.has_all_of(&["notes"]) && !chosen.has_all_of(&["github"]));
        assert!(chosen.has_some_of(&["github"]) && !chosen.has_some_of(&["other"]));
        assert!(!CatalogSelection::default().has_some_of(&["notes"]));
        let mut plain = CatalogSelection::default();
        plain.add_plain_name("files", "get_info");
        assert!(plain.has(&["files"], "get/info") && !plain.has(&["files"], "get-info"));
        let mut pattern = CatalogSelection::default();
        pattern.add_tools(&Glob::new("files"), Glob::new("get_info"));
        assert!(!pattern.has(&["files"], "get/info"));
    }
}
