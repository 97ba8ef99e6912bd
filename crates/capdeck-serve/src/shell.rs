//! The deck for the command line, in this process or in a running host.
//!
//! [`LocalShell`] uses a session; [`RemoteShell`] sends the same requests over a socket to a running host, where a
//! [`LocalShell`] handles them, so the two cannot differ.

mod connection;
mod socket;
mod tool_shells;

use async_trait::async_trait;
use capdeck_host::{CallContext, CallError, ClientProfile, ShellTarget, ShellTool};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

pub use self::{
    socket::{ShellSocket, SocketError},
    tool_shells::{LocalShell, RemoteShell},
};

pub type ShellResult<T> = Result<T, CallError>;

/// Every usable tool as a command.
#[async_trait]
pub trait ToolShell: Send + Sync {
    async fn find(&self, words: &[String], context: &CallContext) -> ShellResult<ShellTarget>;

    /// Resolves the words of `capdeck call`.
    async fn find_call_target(
        &self,
        words: &[String],
        context: &CallContext,
    ) -> ShellResult<ShellTool>;

    /// Returns whether a call requires approval, after all checks that need no call.
    async fn preview(&self, call: &ShellCall, context: &CallContext) -> ShellResult<bool>;

    /// Calls a tool. The result is an MCP `CallToolResult`.
    async fn call(&self, call: &ShellCall, context: &CallContext) -> ShellResult<Box<RawValue>>;
}

/// One call with resolved arguments.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ShellCall {
    pub capability: String,
    /// The tool's original name.
    pub tool: String,
    /// The arguments object, unchanged.
    pub arguments: Box<RawValue>,
    /// Dotted paths of the structured result to return; empty returns everything.
    #[serde(default)]
    pub fields: Vec<String>,
    /// True when the person has approved this call.
    #[serde(default)]
    pub consent: bool,
    /// Idle timeout.
    #[serde(default)]
    pub timeout_ms: Option<u64>,
    /// True to return the server's result unchanged.
    #[serde(default)]
    pub unformatted: bool,
}

/// The client profile of a person at a terminal, who can answer elicitations.
pub fn person_at_terminal() -> ClientProfile {
    let mut client = ClientProfile::default();
    if let Ok(modes) = RawValue::from_string(r#"{"form":{},"url":{}}"#.to_owned()) {
        client.capabilities.insert("elicitation".to_owned(), modes);
    }
    client
}
