//! The agents that can be installed for, and where each of them looks for what.
//!
//! Providers are data. What a field means is decided by those who write the files; a new agent is a new entry of
//! `provider/providers.json`.

use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::Value;

use crate::client::{AgentClient, LaunchTarget};

/// One agent and its places in a project. Paths are relative, with `/` between their parts.
#[derive(Debug, PartialEq, Eq, Deserialize)]
pub struct AgentProvider {
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
#[derive(Debug, PartialEq, Eq, Deserialize)]
pub struct RuleFiles {
    pub folder: &'static str,
    /// The end of a file's name, with its dot.
    pub ending: &'static str,
    pub header: RuleHeader,
}

/// What the frontmatter of a rule file says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
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
#[derive(Debug, PartialEq, Eq, Deserialize)]
pub struct SubagentFiles {
    pub folder: &'static str,
    pub form: SubagentForm,
}

/// How a sub-agent's file is written.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SubagentForm {
    /// Markdown; these lines follow name and description in its frontmatter.
    Markdown { more: Vec<String> },
    /// Markdown whose frontmatter also allows the sub-agent the tools of its own server.
    OpenCode,
    /// A TOML file that also configures the sub-agent's own server.
    Codex,
}

/// A configuration file that holds hooks under the key `hooks`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct HookFile {
    pub path: &'static str,
    pub agent: HookAgent,
}

/// The agents that have hooks, each with its own names for events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HookAgent {
    ClaudeCode,
    Codex,
    Cursor,
    GeminiCli,
}

impl AgentProvider {
    /// All of them, by id.
    pub fn all() -> &'static [Self] {
        // A test reads every entry.
        static PROVIDERS: LazyLock<Vec<AgentProvider>> = LazyLock::new(|| {
            serde_json::from_str(include_str!("provider/providers.json")).unwrap_or_default()
        });
        &PROVIDERS
    }

    /// The provider with this id, in any case.
    pub fn find(id: &str) -> Option<&'static Self> {
        Self::all().iter().find(|provider| provider.id.eq_ignore_ascii_case(id.trim()))
    }
}

/// A configuration file with MCP servers. How it is written is known from the agent that is connected with it.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct McpFile {
    /// The id of an agent that has such a file.
    client: &'static str,
    /// Whether a sub-agent can have a server that the main agent does not use.
    pub has_subagent_entries: bool,
}

impl McpFile {
    fn client(&self) -> &'static AgentClient {
        AgentClient::find(self.client).unwrap_or(AgentClient::COMMON)
    }

    pub fn path(&self) -> &'static str {
        let names = self.client().project.map(|place| place.names).unwrap_or_default();
        names.first().copied().unwrap_or_default()
    }

    /// The key that holds the servers.
    pub fn servers(&self) -> &'static str {
        self.client().container.first().copied().unwrap_or_default()
    }

    /// What the agent replaces with the folder that is open in it.
    pub fn project_word(&self) -> Option<&'static str> {
        self.client().project_word()
    }

    /// The entry as this agent reads it.
    pub fn entry(&self, launch: &LaunchTarget) -> Value {
        self.client().entry("capdeck", launch)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::json;

    use super::*;

    #[test]
    fn every_row_has_an_id_of_its_own_and_paths_inside_the_project() {
        let all = AgentProvider::all();
        assert_eq!(all.len(), 39);
        assert!(all.is_sorted_by_key(|one| one.id));
        assert_eq!(all.iter().map(|one| one.id).collect::<BTreeSet<_>>().len(), all.len());
        for provider in all {
            let paths = [
                Some(provider.skills),
                provider.instructions,
                provider.rules.as_ref().map(|rules| rules.folder),
                provider.subagents.as_ref().map(|subagents| subagents.folder),
                provider.hooks.map(|hooks| hooks.path),
                provider.mcp.as_ref().map(McpFile::path),
            ];
            let client = provider.mcp.as_ref().map(|mcp| mcp.client);
            assert!(client.is_none_or(|id| AgentClient::find(id).is_some()), "{}", provider.id);
            for path in paths.into_iter().flatten() {
                let is_plain = |part: &str| !matches!(part, "" | "." | "..");
                assert!(path.split('/').all(is_plain), "{}: {path}", provider.id);
            }
        }
        assert_eq!(AgentProvider::find(" Claude-Code ").unwrap().id, "claude-code");
        assert_eq!(AgentProvider::find("clause-code"), None);
    }

    #[test]
    fn each_agent_gets_the_shape_it_reads() {
        let program =
            LaunchTarget::Program { command: "capdeck".to_owned(), args: vec!["serve".to_owned()] };
        let url = "http://127.0.0.1:7717/mcp";
        let address = LaunchTarget::Url { url: url.to_owned(), command: "capdeck".to_owned() };
        let table = [
            (
                "claude-code",
                json!({"type": "http", "url": url, "alwaysLoad": true}),
                json!({"type": "stdio", "command": "capdeck", "args": ["serve"], "alwaysLoad": true}),
            ),
            ("cursor", json!({"url": url}), json!({"command": "capdeck", "args": ["serve"]})),
            (
                "gemini-cli",
                json!({"httpUrl": url}),
                json!({"command": "capdeck", "args": ["serve"]}),
            ),
            (
                "roo",
                json!({"type": "streamable-http", "url": url}),
                json!({"command": "capdeck", "args": ["serve"]}),
            ),
            (
                "opencode",
                json!({"type": "remote", "url": url, "enabled": true}),
                json!({"type": "local", "command": ["capdeck", "serve"], "enabled": true}),
            ),
        ];
        for (id, by_address, by_program) in table {
            let file = AgentProvider::find(id).unwrap().mcp.as_ref().unwrap();
            assert_eq!(file.entry(&address), by_address, "{id}");
            assert_eq!(file.entry(&program), by_program, "{id}");
        }
    }
}
