//! The whole file as the published schema describes it. Entries are read one by one, so that one cannot spoil another.

use schemars::JsonSchema;

use super::{
    agents::AgentsShape, hook::HookShape, options::OptionsShape, plugin::PluginShape,
    rule::RuleShape, server::ServerShape, skill::SkillShape, subagent::SubagentShape,
    tool::ToolShape,
};

/// What a project gives its agents: servers, tools, skills, rules, hooks, sub-agents and instructions.
#[derive(JsonSchema)]
#[schemars(title = "Capability file", rename_all = "camelCase")]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct CapabilityShape {
    /// A schema for editors; ignored.
    #[schemars(rename = "$schema")]
    schema: Option<String>,
    /// The agents to install for.
    providers: Option<Vec<String>>,
    options: Option<OptionsShape>,
    servers: Option<Vec<ServerShape>>,
    tools: Option<Vec<ToolShape>>,
    skills: Option<Vec<SkillShape>>,
    rules: Option<Vec<RuleShape>>,
    hooks: Option<Vec<HookShape>>,
    subagents: Option<Vec<SubagentShape>>,
    agents: Option<AgentsShape>,
    plugins: Option<Vec<PluginShape>>,
}

/// The top-level keys, as written.
pub(super) const KEYS: [&str; 10] = [
    "providers",
    "options",
    "servers",
    "tools",
    "skills",
    "rules",
    "hooks",
    "subagents",
    "agents",
    "plugins",
];
