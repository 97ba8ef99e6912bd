//! Operations on a deck. Scripts, wrapper tools and the deck's own tools share them; each has its own names for them.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum DeckOperation {
    Inspect,
    Check,
    Tools,
    SearchTools,
    DescribeTool,
    /// Also behind `caplets.<id>.<tool>(args)`. Arguments: `name`, `args`, `fields`.
    CallTool,
    Resources,
    SearchResources,
    ResourceTemplates,
    ReadResource,
    Prompts,
    SearchPrompts,
    GetPrompt,
    Complete,
    /// `caplets.search(query, page?)`.
    Search,
    /// `caplets.types(id, tool?)`.
    Types,
    /// `caplets.artifacts.read(ref, range?)`.
    ReadArtifact,
    /// `caplets.debug.readLogs({ logRef, cursor?, limit? })`.
    ReadLogs,
    /// `caplets.debug.readRecovery({ recoveryRef, cursor?, limit? })`.
    ReadRecovery,
    /// The tool `call_read_only`; not available to scripts.
    CallReadOnly,
    /// The tool `setup_tools`; not available to scripts.
    SetUpTools,
    /// The tool `code_mode`; not available to scripts.
    RunCode,
}

impl DeckOperation {
    /// The operations on one capability, in documentation order.
    pub const ON_CAPABILITY: [Self; 14] = [
        Self::Inspect,
        Self::Check,
        Self::Tools,
        Self::SearchTools,
        Self::DescribeTool,
        Self::CallTool,
        Self::Resources,
        Self::SearchResources,
        Self::ResourceTemplates,
        Self::ReadResource,
        Self::Prompts,
        Self::SearchPrompts,
        Self::GetPrompt,
        Self::Complete,
    ];

    const ON_DECK: [Self; 5] =
        [Self::Search, Self::Types, Self::ReadArtifact, Self::ReadLogs, Self::ReadRecovery];

    pub const fn script_name(self) -> &'static str {
        self.facts().0
    }

    pub const fn wrapper_name(self) -> &'static str {
        self.facts().1
    }

    pub const fn fields(self) -> &'static [&'static str] {
        self.facts().2
    }

    pub(crate) fn from_script_name(name: &str) -> Option<Self> {
        let all = Self::ON_CAPABILITY.into_iter().chain(Self::ON_DECK);
        all.into_iter().find(|operation| operation.script_name() == name)
    }

    pub fn from_wrapper_name(name: &str) -> Option<Self> {
        Self::ON_CAPABILITY.into_iter().find(|operation| operation.wrapper_name() == name)
    }

    /// Returns whether only MCP servers support it.
    pub const fn needs_mcp_server(self) -> bool {
        matches!(
            self,
            Self::Resources
                | Self::SearchResources
                | Self::ResourceTemplates
                | Self::ReadResource
                | Self::Prompts
                | Self::SearchPrompts
                | Self::GetPrompt
                | Self::Complete
        )
    }

    /// Returns whether the answer is a list of what only MCP servers have.
    pub const fn lists_of_mcp_server(self) -> bool {
        self.needs_mcp_server()
            && !matches!(self, Self::ReadResource | Self::GetPrompt | Self::Complete)
    }

    /// The name in scripts, the name in wrapper tools, and the fields of its arguments.
    const fn facts(self) -> (&'static str, &'static str, &'static [&'static str]) {
        const PAGE: &[&str] = &["limit", "cursor"];
        const SEARCH: &[&str] = &["query", "limit", "cursor"];
        match self {
            Self::Inspect => ("inspect", "inspect", &[]),
            Self::Check => ("check", "check", &[]),
            Self::Tools => ("tools", "tools", PAGE),
            Self::SearchTools => ("searchTools", "search_tools", SEARCH),
            Self::DescribeTool => ("describeTool", "describe_tool", &["name"]),
            Self::CallTool => ("callTool", "call_tool", &["name", "args", "fields"]),
            Self::Resources => ("resources", "resources", PAGE),
            Self::SearchResources => ("searchResources", "search_resources", SEARCH),
            Self::ResourceTemplates => ("resourceTemplates", "resource_templates", PAGE),
            Self::ReadResource => ("readResource", "read_resource", &["uri"]),
            Self::Prompts => ("prompts", "prompts", PAGE),
            Self::SearchPrompts => ("searchPrompts", "search_prompts", SEARCH),
            Self::GetPrompt => ("getPrompt", "get_prompt", &["name", "args"]),
            Self::Complete => ("complete", "complete", &["ref", "argument", "context"]),
            Self::Search => ("search", "search", &[]),
            Self::Types => ("types", "types", &[]),
            Self::ReadArtifact => ("readArtifact", "read_artifact", &[]),
            Self::ReadLogs => ("readLogs", "read_logs", &[]),
            Self::ReadRecovery => ("readRecovery", "read_recovery", &[]),
            Self::CallReadOnly => ("callReadOnly", "call_read_only", &[]),
            Self::SetUpTools => ("setUpTools", "setup_tools", &[]),
            Self::RunCode => ("runCode", "code_mode", &[]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recorded_names_are_those_of_scripts() {
        let all = DeckOperation::ON_CAPABILITY.into_iter().chain(DeckOperation::ON_DECK);
        for operation in all {
            let name = serde_json::to_value(operation).unwrap();
            assert_eq!(name, operation.script_name());
            assert_eq!(DeckOperation::from_script_name(operation.script_name()), Some(operation));
        }
        for other in
            [DeckOperation::CallReadOnly, DeckOperation::SetUpTools, DeckOperation::RunCode]
        {
            assert_eq!(DeckOperation::from_script_name(other.script_name()), None);
        }
    }
}
