//! The capabilities that a script can see, known without a call.

use serde_json::Value;

/// The capabilities of one client. Implemented by the host over its catalog; used before code runs.
pub trait CapabilityDirectory: Send + Sync {
    /// Returns the ids of all capabilities that scripts may use, in a fixed order.
    fn capabilities(&self) -> Vec<String>;

    /// Returns the names of a capability's tools; `None` while they are unknown.
    fn tools(&self, capability: &str) -> Option<Vec<String>>;

    /// Returns the schemas of a tool for the type check; `None` accepts any arguments.
    fn schemas(&self, _capability: &str, _tool: &str) -> Option<ToolSchemas> {
        None
    }

    /// Returns why literal arguments are invalid for a tool; empty when they may be valid.
    fn check_arguments(&self, capability: &str, tool: &str, arguments: &Value) -> Vec<String>;
}

/// The input and output of a tool, as JSON Schema.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSchemas {
    pub input: Value,
    pub output: Option<Value>,
}
