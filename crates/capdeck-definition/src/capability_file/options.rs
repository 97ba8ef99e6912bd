//! `options`: how tools are exposed, and what an install demands.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::{
    diagnostic::{Diagnostic, FileFindings},
    document::ValueNode,
};

/// The options of a capability file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CapabilityFileOptions {
    /// `None` when the file does not say; then its tools are all exposed.
    pub tool_exposure: Option<ToolExposure>,
    /// Whether an agent's activity is to be followed.
    pub agent_activity: bool,
    /// Programs that must be there before anything is installed.
    pub requires_commands: Vec<RequiredCommand>,
    pub security: SecurityOptions,
    /// What happens when rules contradict each other.
    pub rule_conflicts: RuleConflicts,
    pub on_install_error: Option<InstallErrorMode>,
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
    #[serde(default)]
    pub description: Option<String>,
}

/// What installed texts may not hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SecurityOptions {
    pub blocked_phrases: Option<BlockedPhrases>,
    /// Characters besides the usual ones, as the inside of a character class.
    pub allowed_characters: Option<String>,
    /// True when a part of it could not be read. Nobody knows what that would have forbidden.
    pub is_incomplete: bool,
}

/// Phrases that installed texts may not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BlockedPhrases {
    List(Vec<String>),
    /// A file with one phrase per line; a relative path starts at the project.
    File(String),
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

impl Default for CapabilityFileOptions {
    fn default() -> Self {
        Self {
            tool_exposure: None,
            agent_activity: true,
            requires_commands: Vec::new(),
            security: SecurityOptions::default(),
            rule_conflicts: RuleConflicts::default(),
            on_install_error: None,
        }
    }
}

/// The `options` mapping.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Options", deny_unknown_fields)]
pub(super) struct OptionsShape {
    #[serde(default)]
    tool_exposure: Option<ToolExposure>,
    #[serde(default)]
    agent_activity: Option<bool>,
    #[serde(default)]
    requires_commands: Vec<RequiredCommand>,
    #[serde(default)]
    security: Option<SecurityShape>,
    #[serde(default)]
    rules: Option<RuleOptions>,
    #[serde(default)]
    on_install_error: Option<InstallErrorMode>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Security", deny_unknown_fields)]
struct SecurityShape {
    #[serde(default)]
    blocked_phrases: Option<PhrasesShape>,
    #[serde(default)]
    allowed_characters: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "BlockedPhrases")]
enum PhrasesShape {
    List(Vec<String>),
    File(PhraseFile),
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct PhraseFile {
    #[schemars(length(min = 1))]
    file: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct RuleOptions {
    #[serde(default)]
    conflicts: Option<RuleConflicts>,
}

impl OptionsShape {
    pub(super) fn read(
        self,
        node: &ValueNode,
        findings: &mut FileFindings,
    ) -> CapabilityFileOptions {
        let list = node.child("requiresCommands");
        let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '+' | '-');
        let mut requires_commands = Vec::new();
        for (index, command) in self.requires_commands.into_iter().enumerate() {
            if command.cli.chars().all(legal) {
                requires_commands.push(command);
                continue;
            }
            findings.add(
                Diagnostic::error(
                    "bad-format",
                    format!("`requiresCommands[{index}].cli` is not the name of a program"),
                )
                .with_fix("use letters, digits, `_`, `.`, `+` and `-`, without a path")
                .at(list.item(index).child("cli").place),
            );
        }
        let security = self.security.map(|security| SecurityOptions {
            blocked_phrases: security.blocked_phrases.map(|phrases| match phrases {
                PhrasesShape::List(phrases) => BlockedPhrases::List(phrases),
                PhrasesShape::File(file) => BlockedPhrases::File(file.file),
            }),
            allowed_characters: security.allowed_characters,
            is_incomplete: false,
        });
        CapabilityFileOptions {
            tool_exposure: self.tool_exposure,
            agent_activity: self.agent_activity.unwrap_or(true),
            requires_commands,
            security: security.unwrap_or_default(),
            rule_conflicts: self.rules.and_then(|rules| rules.conflicts).unwrap_or_default(),
            on_install_error: self.on_install_error,
        }
    }
}
