//! A part of the deck by name, for a client that needs no more.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Glob;

/// What a view has. It has nothing that is not named here.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ViewConfig {
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whole capabilities, with their resources and prompts; `*` and `?` are wildcards.
    #[serde(default)]
    pub capabilities: Vec<Glob>,
    /// Single tools as `capability.tool`; `*` and `?` are wildcards.
    #[serde(default)]
    pub tools: Vec<Glob>,
}
