//! `options`: how tools are exposed, and what an install demands.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::{Glob, diagnostic::FileFindings, document::ValueNode};

/// The `options` mapping.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Options", deny_unknown_fields)]
pub struct CapabilityFileOptions {
    // `None` when the file does not say; then its tools are all exposed.
    pub tool_exposure: Option<ToolExposure>,
    // Whether an agent's activity is to be followed; yes when the file does not say.
    pub agent_activity: Option<bool>,
    // Programs that must be there before anything is installed.
    #[serde(default)]
    pub requires_commands: Vec<RequiredCommand>,
    #[serde(default)]
    pub security: SecurityOptions,
    #[serde(default)]
    pub rules: RuleOptions,
    pub on_install_error: Option<InstallErrorMode>,
    /// Environment variables that the programs of this file get, if they are set; `*` and `?` are wildcards.
    #[serde(default)]
    pub pass_env: Vec<Glob>,
}

/// How tools are offered to agents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ToolExposure {
    /// Every tool with its schema.
    ExposeAll,
    /// `setup_tools` and `call_tool`.
    OnDemand,
    /// `search` and `call_tool`.
    Search,
    /// Nothing over MCP: tools are called from the shell.
    None,
}

/// A program that must be on the search path.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
pub struct RequiredCommand {
    #[schemars(length(min = 1))]
    pub cli: String,
    pub description: Option<String>,
}

// What installed texts may not hold.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Security", deny_unknown_fields)]
pub struct SecurityOptions {
    pub blocked_phrases: Option<BlockedPhrases>,
    // Characters besides the usual ones, as the inside of a character class.
    pub allowed_characters: Option<String>,
    // True when a part of it could not be read. What that would have forbidden is unknown.
    #[serde(skip)]
    pub is_incomplete: bool,
}

// Phrases that installed texts may not hold.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum BlockedPhrases {
    List(Vec<String>),
    File(PhraseFile),
}

// A file with one phrase per line; a relative path starts at the project.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct PhraseFile {
    #[schemars(length(min = 1))]
    pub file: String,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct RuleOptions {
    #[serde(default)]
    pub conflicts: RuleConflicts,
}

/// What happens when rules contradict each other.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RuleConflicts {
    #[default]
    Warn,
    Error,
}

/// What an install does after a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "OnInstallError")]
pub enum InstallErrorMode {
    Stop,
    Continue,
}

impl CapabilityFileOptions {
    /// Leaves out required commands that are no names of programs.
    pub(super) fn check(&mut self, node: &ValueNode, findings: &mut FileFindings) {
        let list = node.child("requiresCommands");
        let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '+' | '-');
        let mut index = 0..;
        self.requires_commands.retain(|command| {
            let index = index.next().unwrap_or_default();
            let is_name = command.cli.chars().all(legal);
            if !is_name {
                findings.at(list.item(index).child("cli").place).error(
                    "bad-format",
                    format!("`requiresCommands[{index}].cli` is not the name of a program"),
                    "use letters, digits, `_`, `.`, `+` and `-`, without a path",
                );
            }
            is_name
        });
    }
}
