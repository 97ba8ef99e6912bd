//! Everything that is installed, fetched and read: plain data, no longer tied to where it came from.

use std::path::PathBuf;

use capdeck_definition::{
    capability_file::{
        CapabilityFile, CommandSpec, DeclaredValue, HookEvent, RuleConflicts, RuleVisibility,
        ServerEndpoint, ToolKind,
    },
    one_line,
};

use super::blocks::MarkerBlock;
use crate::source::FolderFile;

#[derive(Debug, Default)]
pub(crate) struct InstallContent {
    pub(crate) skills: Vec<SkillContent>,
    /// The blocks that the `agents` section declares; none when there is no such section.
    pub(crate) instructions: Vec<MarkerBlock>,
    pub(crate) rules: Vec<RuleContent>,
    pub(crate) rule_conflicts: RuleConflicts,
    pub(crate) hooks: Vec<HookContent>,
    pub(crate) subagents: Vec<SubagentContent>,
    pub(crate) servers: ServerInstructions,
    /// Servers of plugins, as definitions of the project's deck.
    pub(crate) server_definitions: Vec<ServerDefinition>,
    /// Plugins whose hooks or servers run files of their own.
    pub(crate) plugin_copies: Vec<PluginCopy>,
}

/// A server that a plugin brings.
#[derive(Debug, Clone)]
pub(crate) struct ServerDefinition {
    pub(crate) id: String,
    pub(crate) text: String,
    /// What it starts or connects to.
    pub(crate) does: String,
}

/// The files of a plugin, kept in the state folder.
#[derive(Debug, Clone)]
pub(crate) struct PluginCopy {
    pub(crate) id: String,
    pub(crate) dir: PathBuf,
    pub(crate) files: Vec<FolderFile>,
}

/// What is written about MCP servers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum ServerInstructions {
    /// There is nothing to serve.
    #[default]
    Nothing,
    /// Tools are called from the shell; no server is configured.
    ShellOnly,
    /// Agents connect to us.
    Connected,
}

#[derive(Debug, Clone)]
pub(crate) struct SkillContent {
    pub(crate) id: String,
    pub(crate) description: Option<String>,
    pub(crate) files: Vec<FolderFile>,
}

#[derive(Debug, Clone)]
pub(crate) struct RuleContent {
    pub(crate) id: String,
    pub(crate) text: String,
    pub(crate) applies_to: Vec<String>,
    pub(crate) description: Option<String>,
    pub(crate) always_apply: Option<bool>,
    pub(crate) visibility: Option<RuleVisibility>,
    pub(crate) providers: Option<Vec<String>>,
}

#[derive(Debug, Clone)]
pub(crate) struct HookContent {
    pub(crate) id: String,
    pub(crate) event: HookEvent,
    pub(crate) action: HookAction,
    pub(crate) matcher: Option<String>,
    pub(crate) timeout_seconds: Option<u64>,
    pub(crate) fail_closed: Option<bool>,
    pub(crate) providers: Option<Vec<String>>,
}

#[derive(Debug, Clone)]
pub(crate) enum HookAction {
    Command(String),
    /// A text for the agent.
    Prompt(String),
    /// A script that is kept in the state folder.
    Script(Vec<u8>),
}

/// A sub-agent with what its file says.
#[derive(Debug, Clone)]
pub(crate) struct SubagentContent {
    pub(crate) id: String,
    pub(crate) description: Option<String>,
    /// Ids and descriptions.
    pub(crate) skills: Vec<(String, Option<String>)>,
    /// Qualified names and descriptions.
    pub(crate) tools: Vec<(String, Option<String>)>,
    pub(crate) instructions: Option<String>,
    pub(crate) providers: Option<Vec<String>>,
    /// Whether it has a view of its own to connect to.
    pub(crate) has_view: bool,
}

/// Whether something is for a provider; no list means all.
pub(crate) fn is_for(providers: Option<&Vec<String>>, id: &str) -> bool {
    providers.is_none_or(|list| list.iter().any(|one| one.trim().eq_ignore_ascii_case(id)))
}

/// Endings of files that are run rather than read.
const SCRIPTS: [&str; 11] =
    ["sh", "bash", "zsh", "fish", "py", "js", "mjs", "cjs", "ts", "rb", "ps1"];

/// One line each, nothing shortened.
pub(super) fn surface(file: &CapabilityFile, content: &InstallContent) -> Vec<String> {
    let mut lines = declared(file);
    for hook in &content.hooks {
        let what = match &hook.action {
            HookAction::Command(command) => format!("runs {}", one_line(command)),
            HookAction::Prompt(_) => continue,
            HookAction::Script(content) => {
                format!("runs a script of {} lines", content.split(|byte| *byte == b'\n').count())
            }
        };
        lines.push(format!("hook `{}` {what}", hook.id));
    }
    for server in &content.server_definitions {
        lines.push(format!("server `{}` {}", server.id, one_line(&server.does)));
    }
    for skill in &content.skills {
        let is_script =
            |path: &str| path.rsplit_once('.').is_some_and(|(_, ending)| SCRIPTS.contains(&ending));
        for file in &skill.files {
            if file.is_program || is_script(&file.path) {
                lines.push(format!("skill `{}` brings {}", skill.id, file.path));
            }
        }
    }
    lines
}

/// What the file's own servers and tools run and reach.
fn declared(file: &CapabilityFile) -> Vec<String> {
    let mut lines = Vec::new();
    for server in &file.servers {
        let (what, values) = match &server.endpoint {
            ServerEndpoint::Stdio(program) => {
                let words: Vec<&str> =
                    [&program.cmd].into_iter().chain(&program.args).map(String::as_str).collect();
                (format!("starts {}", one_line(&words.join(" "))), &program.env)
            }
            ServerEndpoint::Remote(remote) => {
                (format!("connects to {}", remote.url), &remote.headers)
            }
        };
        lines.push(format!("server `{}` {what}", server.id));
        for value in values.values() {
            if let DeclaredValue::FromCommand(words) = value {
                let words = one_line(&words.join(" "));
                lines.push(format!("server `{}` takes a value from {words}", server.id));
            }
        }
    }
    for tool in &file.tools {
        let mut push = |what: &str, command: &str| {
            lines.push(format!("tool `{}` {what} {}", tool.id, one_line(command)));
        };
        match &tool.kind {
            ToolKind::Command(command) => {
                if let Some(CommandSpec { cmd, .. }) = &command.init {
                    push("first runs", cmd);
                }
                push("runs", &command.run.cmd);
            }
            ToolKind::Mcp(tool) => {
                if let Some(formatter) = &tool.formatter {
                    push("passes results through", &formatter.cmd);
                }
            }
        }
    }
    lines
}
