//! Our entries among an agent's MCP servers.

use std::path::Path;

use serde_json::{Value, json};

use super::{
    content::{ServerInstructions, SubagentContent, is_for},
    desired_files::{DesiredFiles, DocumentPart, format_of},
};
use crate::provider::{AgentProvider, EntryTarget, McpFile};

/// The key of the main entry.
const MAIN_KEY: &str = "capdeck";

/// Where agents find us.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentEndpoints {
    /// They start the program, in the project's folder.
    Program { command: String },
    /// They connect to a host that runs at this address.
    Host { base_url: String },
}

impl AgentEndpoints {
    fn main(&self) -> EntryTarget {
        match self {
            Self::Program { command } => {
                EntryTarget::Program { command: command.clone(), args: vec!["serve".to_owned()] }
            }
            Self::Host { base_url } => {
                EntryTarget::Address(format!("{}/mcp", base_url.trim_end_matches('/')))
            }
        }
    }

    /// What a sub-agent connects to.
    pub(crate) fn view(&self, id: &str) -> EntryTarget {
        match self {
            Self::Program { command } => {
                let args = ["serve", "--view", id].map(str::to_owned).to_vec();
                EntryTarget::Program { command: command.clone(), args }
            }
            Self::Host { base_url } => {
                let base = base_url.trim_end_matches('/');
                EntryTarget::Address(format!("{base}/views/{id}/mcp"))
            }
        }
    }
}

/// The key of a sub-agent's entry.
pub(crate) fn subagent_key(id: &str) -> String {
    format!("{MAIN_KEY}-{id}")
}

/// Adds the entries of all providers, or sees to it that there are none.
pub(crate) fn add_entries(
    desired: &mut DesiredFiles,
    project: &Path,
    subagents: &[SubagentContent],
    servers: ServerInstructions,
    endpoints: &AgentEndpoints,
    providers: &[&'static AgentProvider],
) {
    for provider in providers {
        let Some(file) = &provider.mcp else { continue };
        let mut put = |keys: Vec<String>, value: Value| {
            let part = match servers {
                ServerInstructions::Connected => DocumentPart::Entry { keys, value },
                ServerInstructions::Nothing | ServerInstructions::ShellOnly => {
                    DocumentPart::Absent { keys, value }
                }
            };
            let is_there = project.join(file.path).exists();
            if servers == ServerInstructions::Connected || is_there {
                desired.add_part(project, file.path, format_of(file.path), part);
            }
        };
        put(key(file, MAIN_KEY), file.entry(&endpoints.main()));
        if !file.has_subagent_entries {
            continue;
        }
        let mut has_some = false;
        for subagent in subagents {
            if subagent.has_view && is_for(subagent.providers.as_ref(), provider.id) {
                has_some = true;
                put(
                    key(file, &subagent_key(&subagent.id)),
                    file.entry(&endpoints.view(&subagent.id)),
                );
            }
        }
        // The main agent leaves the tools of sub-agents to them.
        if has_some && provider.id == "opencode" {
            let tools = format!("{MAIN_KEY}-*_*");
            put(vec!["permission".to_owned(), tools], json!("deny"));
        }
    }
}

fn key(file: &McpFile, name: &str) -> Vec<String> {
    vec![file.servers.to_owned(), name.to_owned()]
}
