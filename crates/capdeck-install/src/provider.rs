//! The agents that can be installed for, and where each of them looks for what.
//!
//! Providers are data. What a field means is decided by those who write the files; a new agent is a new row.

mod mcp_file;
mod rows;

pub use mcp_file::{EntryTarget, McpFile};

use rows::{FOLDED, OWN_RULES, PLAIN};

/// One agent and its places in a project. Paths are relative, with `/` between their parts.
#[derive(Debug, PartialEq, Eq)]
pub struct Provider {
    /// The name in files and on the command line.
    pub id: &'static str,
    /// The folder that holds one folder per skill.
    pub skills: &'static str,
    /// The file with instructions that people write and blocks are added to.
    pub instructions: Option<&'static str>,
    /// How rules are written, if each has a file of its own.
    pub rules: Option<RuleFiles>,
    /// How sub-agents are declared.
    pub subagents: Option<SubagentFiles>,
    /// Where hooks are configured.
    pub hooks: Option<HookFile>,
    /// Where MCP servers are configured.
    pub mcp: Option<McpFile>,
}

/// A folder with one file per rule.
#[derive(Debug, PartialEq, Eq)]
pub struct RuleFiles {
    pub folder: &'static str,
    /// The end of a file's name, with its dot.
    pub ending: &'static str,
    pub header: RuleHeader,
}

/// What the frontmatter of a rule file says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleHeader {
    /// The file has none.
    Nothing,
    /// `paths`.
    Paths,
    /// `applyTo`, with the globs in one text.
    ApplyTo,
    /// `description`, `globs` and `alwaysApply`.
    Globs,
    /// `description`, `globs` and `trigger`.
    Trigger,
}

/// A folder with one file per sub-agent.
#[derive(Debug, PartialEq, Eq)]
pub struct SubagentFiles {
    pub folder: &'static str,
    pub form: SubagentForm,
}

/// How a sub-agent's file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SubagentForm {
    /// Markdown; these lines follow name and description in its frontmatter.
    Markdown { more: &'static [&'static str] },
    /// Markdown whose frontmatter also allows the sub-agent the tools of its own server.
    OpenCode,
    /// A TOML file that also configures the sub-agent's own server.
    Codex,
}

/// A configuration file that holds hooks under the key `hooks`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HookFile {
    pub path: &'static str,
    pub agent: HookAgent,
}

/// The agents that have hooks, each with its own names for events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookAgent {
    ClaudeCode,
    Codex,
    Cursor,
    GeminiCli,
}

impl Provider {
    /// All of them, by id.
    pub fn all() -> Vec<&'static Self> {
        let mut all: Vec<&Self> = OWN_RULES.iter().chain(FOLDED).chain(PLAIN).collect();
        all.sort_unstable_by_key(|provider| provider.id);
        all
    }

    /// The provider with this id, in any case.
    pub fn find(id: &str) -> Option<&'static Self> {
        Self::all().into_iter().find(|provider| provider.id.eq_ignore_ascii_case(id.trim()))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_row_has_an_id_of_its_own_and_paths_inside_the_project() {
        let all = Provider::all();
        assert_eq!(all.len(), 39);
        assert_eq!(all.iter().map(|one| one.id).collect::<BTreeSet<_>>().len(), all.len());
        for provider in all {
            let paths = [
                Some(provider.skills),
                provider.instructions,
                provider.rules.as_ref().map(|rules| rules.folder),
                provider.subagents.as_ref().map(|subagents| subagents.folder),
                provider.hooks.map(|hooks| hooks.path),
                provider.mcp.as_ref().map(|mcp| mcp.path),
            ];
            for path in paths.into_iter().flatten() {
                let is_plain = |part: &str| !matches!(part, "" | "." | "..");
                assert!(path.split('/').all(is_plain), "{}: {path}", provider.id);
            }
        }
        assert_eq!(Provider::find(" Claude-Code ").unwrap().id, "claude-code");
        assert_eq!(Provider::find("clause-code"), None);
    }
}
