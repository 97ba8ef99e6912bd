//! A choice of tools, written down before anybody knows which tools there are.

use std::collections::{HashMap, HashSet};

use capdeck_definition::{Glob, capability_file::plain_tool_name};

/// Capabilities and tools by name. What it chooses is told against a catalog.
///
/// Names without a pattern are looked up: a capability file may choose thousands of tools.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CatalogSelection {
    named: HashMap<String, ToolSelection>,
    patterns: Vec<(Glob, ToolSelection)>,
}

/// What is chosen of one capability.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct ToolSelection {
    whole: bool,
    names: HashSet<String>,
    /// Names with `_` for what some clients cannot send.
    plain_names: HashSet<String>,
    patterns: Vec<Glob>,
}

/// One line of a choice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SelectionItem {
    pub capability: Glob,
    /// `None` chooses the whole capability, with its resources and prompts.
    pub tool: Option<ToolSelector>,
}

/// How a tool is named by a choice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolSelector {
    /// By a pattern of its own name.
    Pattern(Glob),
    /// As capability files do: `_` stands for what some clients cannot send.
    CapabilityFileName(String),
}

impl CatalogSelection {
    /// The whole of one capability.
    pub fn whole(id: &str) -> Self {
        std::iter::once(SelectionItem { capability: Glob::new(id), tool: None }).collect()
    }

    pub fn is_empty(&self) -> bool {
        self.named.is_empty() && self.patterns.is_empty()
    }

    /// Chooses what the other one chooses, too.
    pub fn extend(&mut self, other: Self) {
        for (capability, tools) in other.named {
            self.named.entry(capability).or_default().extend(tools);
        }
        self.patterns.extend(other.patterns);
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

    fn add(&mut self, pick: SelectionItem) {
        let tools = ToolSelection::of(pick.tool);
        if pick.capability.is_plain() {
            let id = pick.capability.as_str().to_owned();
            self.named.entry(id).or_default().extend(tools);
        } else {
            self.patterns.push((pick.capability, tools));
        }
    }
}

impl ToolSelection {
    fn of(tool: Option<ToolSelector>) -> Self {
        let mut tools = Self::default();
        match tool {
            None => tools.whole = true,
            Some(ToolSelector::CapabilityFileName(name)) => {
                tools.plain_names.insert(plain_tool_name(&name));
            }
            Some(ToolSelector::Pattern(pattern)) if pattern.is_plain() => {
                tools.names.insert(pattern.as_str().to_owned());
            }
            Some(ToolSelector::Pattern(pattern)) => tools.patterns.push(pattern),
        }
        tools
    }

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

impl FromIterator<SelectionItem> for CatalogSelection {
    fn from_iter<I: IntoIterator<Item = SelectionItem>>(picks: I) -> Self {
        let mut selection = Self::default();
        picks.into_iter().for_each(|pick| selection.add(pick));
        selection
    }
}

impl SelectionItem {
    /// `capability.tool`, or a capability alone. Both sides may be patterns.
    pub fn parse(text: &str) -> Self {
        match text.split_once('.') {
            Some((capability, tool)) => Self::tool(capability, tool),
            None => Self { capability: Glob::new(text), tool: None },
        }
    }

    /// One tool of a capability.
    pub fn tool(capability: &str, tool: &str) -> Self {
        let tool = ToolSelector::Pattern(Glob::new(tool));
        Self { capability: Glob::new(capability), tool: Some(tool) }
    }

    /// One tool of a capability, as a capability file refers to it.
    pub fn spoken(capability: &str, tool: &str) -> Self {
        let tool = ToolSelector::CapabilityFileName(tool.to_owned());
        Self { capability: Glob::new(capability), tool: Some(tool) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_is_of_whole_capabilities_or_of_tools() {
        let chosen: CatalogSelection =
            ["git*.list_*", "notes", "a.b.c"].map(SelectionItem::parse).into_iter().collect();
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
        let spoken: CatalogSelection =
            [SelectionItem::spoken("files", "get_info")].into_iter().collect();
        assert!(spoken.has(&["files"], "get/info") && !spoken.has(&["files"], "get-info"));
        let pattern: CatalogSelection =
            [SelectionItem::tool("files", "get_info")].into_iter().collect();
        assert!(!pattern.has(&["files"], "get/info"));
    }
}
