//! A choice of tools, written down before anybody knows which tools there are.

use capdeck_definition::{Glob, capa::same_tool_name};

/// Capabilities and tools by name. What it chooses is told against a catalog.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection(Vec<Pick>);

/// One line of a choice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pick {
    pub capability: Glob,
    /// `None` chooses the whole capability, with its resources and prompts.
    pub tool: Option<PickedTool>,
}

/// How a tool is named by a choice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PickedTool {
    /// By a pattern of its own name.
    Pattern(Glob),
    /// As capability files do: `_` stands for what some clients cannot send.
    Spoken(String),
}

impl Selection {
    /// The whole of one capability.
    pub fn whole(id: &str) -> Self {
        Self(vec![Pick { capability: Glob::new(id), tool: None }])
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Chooses what the other one chooses, too.
    pub fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// True when all of a capability is chosen. `ids` are its own and those of the sets around it.
    pub fn has_all_of(&self, ids: &[&str]) -> bool {
        self.about(ids).any(|pick| pick.tool.is_none())
    }

    /// True when some of a capability may be chosen.
    pub fn has_some_of(&self, ids: &[&str]) -> bool {
        self.about(ids).next().is_some()
    }

    /// True when this tool of a capability is chosen.
    pub fn has(&self, ids: &[&str], tool: &str) -> bool {
        self.about(ids).any(|pick| pick.tool.as_ref().is_none_or(|name| name.is(tool)))
    }

    fn about<'a>(&'a self, ids: &'a [&'a str]) -> impl Iterator<Item = &'a Pick> {
        self.0.iter().filter(|pick| ids.iter().any(|id| pick.capability.matches(id)))
    }
}

impl FromIterator<Pick> for Selection {
    fn from_iter<I: IntoIterator<Item = Pick>>(picks: I) -> Self {
        Self(picks.into_iter().collect())
    }
}

impl Pick {
    /// `capability.tool`, or a capability alone. Both sides may be patterns.
    pub fn parse(text: &str) -> Self {
        match text.split_once('.') {
            Some((capability, tool)) => Self::tool(capability, tool),
            None => Self { capability: Glob::new(text), tool: None },
        }
    }

    /// One tool of a capability.
    pub fn tool(capability: &str, tool: &str) -> Self {
        let tool = PickedTool::Pattern(Glob::new(tool));
        Self { capability: Glob::new(capability), tool: Some(tool) }
    }

    /// One tool of a capability, as a capability file refers to it.
    pub fn spoken(capability: &str, tool: &str) -> Self {
        let tool = PickedTool::Spoken(tool.to_owned());
        Self { capability: Glob::new(capability), tool: Some(tool) }
    }
}

impl PickedTool {
    fn is(&self, tool: &str) -> bool {
        match self {
            Self::Pattern(pattern) => pattern.matches(tool),
            Self::Spoken(name) => same_tool_name(name, tool),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_is_of_whole_capabilities_or_of_tools() {
        let chosen: Selection =
            ["git*.list_*", "notes", "a.b.c"].map(Pick::parse).into_iter().collect();
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
        assert!(!Selection::default().has_some_of(&["notes"]));
        let spoken: Selection = [Pick::spoken("files", "get_info")].into_iter().collect();
        assert!(spoken.has(&["files"], "get/info") && !spoken.has(&["files"], "get-info"));
        let pattern: Selection = [Pick::tool("files", "get_info")].into_iter().collect();
        assert!(!pattern.has(&["files"], "get/info"));
    }
}
