//! The capability file of a project, `capabilities.yaml` or `capabilities.json`: what an agent is given there, as
//! plain data.
//!
//! Read [`CapabilityFile`] first. Servers and command tools become definitions like any other; the rest is for those
//! who install it into agents or who decide what an agent sees.

pub mod command_line;
mod define;
mod entry;
mod hook;
mod ids;
mod index;
mod names;
mod options;
mod plugin;
mod read;
mod references;
mod repo;
mod server;
mod skill;
mod text_source;
mod tool;

use std::path::{Path, PathBuf};

use schemars::JsonSchema;

pub use hook::{AgentEvent, HookBody, HookDeclaration, HookEvent};
pub use ids::CapabilityIds;
pub use names::{is_safe_id, plain_tool_name, without_at};
pub use options::{
    BlockedPhrases, CapabilityFileOptions, InstallErrorMode, PhraseFile, RequiredCommand,
    RuleConflicts, RuleOptions, SecurityOptions, ToolExposure,
};
pub use plugin::{PluginDeclaration, PluginServer};
pub use repo::{GitHost, RepoReference, RepoReferenceError, RepoTarget, is_safe_path};
pub use server::{
    DeclaredValue, LocalServer, RemoteServer, ServerDeclaration, ServerEndpoint, ServerToolFilter,
};
pub use skill::{SkillDeclaration, SkillKind, SubagentDeclaration};
pub use text_source::{
    AgentInstructions, ContentSource, InstructionSnippet, RuleDeclaration, RuleVisibility,
};
pub use tool::{
    ArgumentKind, CommandArgument, CommandSpec, CommandTool, McpTool, ResultFormatter,
    ToolDeclaration, ToolKind,
};

use self::{
    hook::HookShape,
    index::FileIndex,
    plugin::PluginShape,
    server::ServerShape,
    skill::SkillShape,
    text_source::{AgentsShape, RuleShape},
    tool::ToolShape,
};
use crate::{
    Diagnostic,
    diagnostic::FileFindings,
    parsed_file::{FileOrigin, ParsedFile},
};

/// The names a capability file may have. Both in one folder are an error.
pub const CAPABILITY_FILE_NAMES: [&str; 2] = ["capabilities.yaml", "capabilities.json"];

/// Everything a capability file declares. What could not be used is left out and reported by diagnostics.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CapabilityFile {
    /// Where the file is. Relative paths inside start at its folder, the project.
    pub path: PathBuf,
    /// The agents to install for, as written; `None` when the file leaves that open.
    pub providers: Option<Vec<String>>,
    /// The options, with their defaults where they have one.
    pub options: CapabilityFileOptions,
    pub servers: Vec<ServerDeclaration>,
    /// Tools: chosen tools of servers, and commands.
    pub tools: Vec<ToolDeclaration>,
    /// Skills and the tools they need.
    pub skills: Vec<SkillDeclaration>,
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

/// What a project gives its agents: servers, tools, skills, rules, hooks, sub-agents and instructions.
#[derive(JsonSchema)]
#[schemars(title = "Capability file", rename_all = "camelCase")]
#[expect(dead_code, reason = "only its schema is used: entries are read one by one")]
pub(crate) struct CapabilityShape {
    /// A schema for editors; ignored.
    #[schemars(rename = "$schema")]
    schema: Option<String>,
    /// The agents to install for.
    providers: Option<Vec<String>>,
    options: Option<CapabilityFileOptions>,
    servers: Option<Vec<ServerShape>>,
    tools: Option<Vec<ToolShape>>,
    skills: Option<Vec<SkillShape>>,
    rules: Option<Vec<RuleShape>>,
    hooks: Option<Vec<HookShape>>,
    subagents: Option<Vec<SubagentDeclaration>>,
    agents: Option<AgentsShape>,
    plugins: Option<Vec<PluginShape>>,
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

/// Adds what a capability file yields for a deck. `None` when nothing of it can be used.
pub(crate) fn define(
    text: &str,
    origin: &FileOrigin<'_>,
    findings: &mut FileFindings,
    parsed: &mut ParsedFile,
) -> Option<()> {
    let reading = read::read(text, &origin.source.path, findings)?;
    parsed.definitions = define::define(&reading, origin);
    let broken = reading.broken_servers.iter();
    parsed.quarantined = broken.map(|(id, reason)| origin.quarantine(id, reason)).collect();
    parsed.capability_file = Some(reading.file);
    Some(())
}
