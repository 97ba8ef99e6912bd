//! Commands an author declares to prepare and verify a machine. Never run by parsing or by connecting.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Commands that prepare the machine, then commands that verify it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "Setup")]
pub struct SetupCommands {
    /// Commands to run before the capability is used.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<SetupStep>,
    /// Commands that check the set-up.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub verify: Vec<SetupStep>,
}

/// One set-up command, run without a shell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SetupStep {
    /// What the step does, for the person who approves it.
    #[schemars(length(min = 1))]
    pub label: String,
    #[schemars(length(min = 1))]
    pub command: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub env: IndexMap<String, String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub cwd: Option<String>,
    #[serde(default = "timeout_ms")]
    #[schemars(range(min = 1))]
    pub timeout_ms: u64,
    #[serde(default = "max_output_bytes")]
    #[schemars(range(min = 1))]
    pub max_output_bytes: u64,
}

fn timeout_ms() -> u64 {
    120_000
}

fn max_output_bytes() -> u64 {
    200_000
}
