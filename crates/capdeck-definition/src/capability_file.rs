//! The capability file of a project, `capabilities.yaml` or `capabilities.json`: what an agent is given there, as
//! plain data.
//!
//! Read [`CapabilityFile`] first. Servers and command tools become definitions like any other; the rest is for those
//! who install it into agents or who decide what an agent sees.

mod agents;
pub mod command_line;
mod define;
mod event;
mod hook;
mod ids;
mod index;
mod options;
mod plugin;
mod plugin_servers;
mod prune;
mod read;
mod references;
mod repo;
mod rule;
mod safe_id;
mod secret;
mod server;
mod shape;
mod skill;
mod subagent;
mod text_source;
mod tool;
mod tool_name;

use std::path::{Path, PathBuf};

pub use agents::{AgentInstructions, InstructionSnippet};
pub use event::AgentEvent;
pub use hook::{HookBody, HookDeclaration, HookEvent};
pub use ids::CapabilityIds;
pub use options::{
    BlockedPhrases, CapabilityFileOptions, InstallErrorMode, RequiredCommand, RuleConflicts,
    SecurityOptions, ToolExposure,
};
pub use plugin::{PluginDeclaration, PluginServer};
pub use repo::{GitHost, RepoReference, RepoReferenceError, RepoTarget, is_safe_path};
pub use rule::{RuleDeclaration, RuleVisibility};
pub use safe_id::is_safe_id;
pub use secret::DeclaredValue;
pub use server::{LocalServer, RemoteServer, ServerDeclaration, ServerEndpoint, ServerToolFilter};
pub(crate) use shape::CapabilityShape;
pub use skill::{SkillDeclaration, SkillKind};
pub use subagent::SubagentDeclaration;
pub use text_source::ContentSource;
pub use tool::{
    ArgumentKind, CommandArgument, CommandSpec, CommandTool, McpTool, ResultFormatter,
    ToolDeclaration, ToolKind,
};
pub use tool_name::{plain_tool_name, without_at};

use self::index::FileIndex;
use crate::{
    Diagnostic, definition_draft::FileOrigin, diagnostic::FileFindings, parsed_file::ParsedFile,
};

/// The names a capability file may have. Both in one folder are an error.
pub const CAPABILITY_FILE_NAMES: [&str; 2] = ["capabilities.yaml", "capabilities.json"];

/// Everything a capability file declares. What could not be used is left out and told by diagnostics.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CapabilityFile {
    /// Where the file is. Relative paths inside start at its folder, the project.
    pub path: PathBuf,
    /// The agents to install for, as written; `None` when the file leaves that open.
    pub providers: Option<Vec<String>>,
    /// The options, with their defaults where they have one.
    pub options: CapabilityFileOptions,
    /// MCP servers.
    pub servers: Vec<ServerDeclaration>,
    /// Tools: chosen tools of servers, and commands.
    pub tools: Vec<ToolDeclaration>,
    /// Skills and the tools they need.
    pub skills: Vec<SkillDeclaration>,
    /// Rules for agents.
    pub rules: Vec<RuleDeclaration>,
    /// Hooks into an agent's events.
    pub hooks: Vec<HookDeclaration>,
    /// Sub-agents, each with its own tools.
    pub subagents: Vec<SubagentDeclaration>,
    /// What the instruction files of agents hold.
    pub agents: Option<AgentInstructions>,
    /// Plugins to take apart and install.
    pub plugins: Vec<PluginDeclaration>,
    /// The capabilities that servers and commands became.
    pub ids: CapabilityIds,
    index: FileIndex,
}

impl CapabilityFile {
    /// The project: the folder the file is in.
    pub fn project_dir(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new(""))
    }
}

/// Parses the text of a capability file. `None` only when nothing of it can be used.
pub fn parse_capability_file(text: &str, path: &Path) -> (Option<CapabilityFile>, Vec<Diagnostic>) {
    let mut findings = FileFindings::new(path);
    let reading = read::read(text, path, &mut findings);
    (reading.map(|reading| reading.file), findings.into_diagnostics())
}

/// What a capability file yields for a deck.
pub(crate) fn parse_capabilities(
    text: &str,
    file_name: &str,
    origin: &FileOrigin<'_>,
    findings: &mut FileFindings,
) -> ParsedFile {
    let Some(reading) = read::read(text, &origin.source.path, findings) else {
        let reason = findings.first_error_since(0).unwrap_or("the file cannot be used");
        let quarantined = vec![origin.quarantine(file_name, reason)];
        return ParsedFile { quarantined, ..ParsedFile::default() };
    };
    let definitions = define::define(&reading, origin);
    let quarantined =
        reading.broken_servers.iter().map(|(id, reason)| origin.quarantine(id, reason)).collect();
    ParsedFile {
        definitions,
        quarantined,
        capability_file: Some(reading.file),
        ..ParsedFile::default()
    }
}
