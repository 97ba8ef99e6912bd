//! How a capability is offered to agents.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a capability is offered. The first five are the Caplets names, the rest are Capdeck's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Exposure {
    /// Every tool as `<id>__<tool>`, with resources, templates, prompts and completions.
    Direct,
    /// One wrapper tool named after the capability, with an `operation` argument.
    Progressive,
    /// Reached from sandboxed TypeScript.
    CodeMode,
    /// Both `direct` and `code_mode`.
    DirectAndCodeMode,
    /// Both `progressive` and `code_mode`.
    ProgressiveAndCodeMode,
    /// Both `code_mode` and `search`.
    CodeModeAndSearch,
    /// Reached through `search`, `describe` and `call_tool`.
    Search,
    /// Reached through `setup_tools` and `call_tool`: signatures when a skill or a capability is set up, schemas when a
    /// call was wrong.
    OnDemand,
    /// Not offered over MCP at all.
    None,
}
