//! What a script may see, as far as it can be known without calling anything.

use serde_json::Value;

/// The capabilities of one client. Implemented by the host over its catalog; asked before code runs.
pub trait Directory: Send + Sync {
    /// The ids of all capabilities that scripts may use, in a fixed order.
    fn capabilities(&self) -> Vec<String>;

    /// The names of a capability's tools; `None` while they are not known.
    fn tools(&self, capability: &str) -> Option<Vec<String>>;

    /// The schemas of a tool, for the type check; `None` leaves the tool open to any arguments.
    fn schemas(&self, _capability: &str, _tool: &str) -> Option<ToolSchemas> {
        None
    }

    /// Why these arguments cannot be right for a tool; empty when they may be.
    fn check_arguments(&self, capability: &str, tool: &str, arguments: &Value) -> Vec<String>;
}

/// What a tool takes and gives, as JSON Schema.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSchemas {
    pub input: Value,
    pub output: Option<Value>,
}
