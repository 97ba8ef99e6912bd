//! The deck for the person's own command line, whether the host is in this process or in a running one.
//!
//! [`Shell`] is the one way to it. [`LocalShell`] asks a session; [`RemoteShell`] sends the same requests over a socket
//! to a running host, where a [`LocalShell`] answers them, so the two cannot differ.

mod connection;
mod local;
mod people;
mod protocol;
mod remote;
mod socket;
mod wire_caller;

use async_trait::async_trait;
use capdeck_host::{CallContext, CallError, ClientProfile, ShellPlace};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

pub use self::{
    local::LocalShell,
    remote::RemoteShell,
    socket::{ShellSocket, SocketError},
};

/// Everything usable, as commands.
#[async_trait]
pub trait Shell: Send + Sync {
    /// What the first words of a command line name.
    async fn find(&self, words: &[String], context: &CallContext) -> Result<ShellPlace, CallError>;

    /// Whether a call would need the person's word, after every check that can be made without calling.
    async fn preview(&self, call: &ShellCall, context: &CallContext) -> Result<bool, CallError>;

    /// Calls a tool. The answer is an MCP `CallToolResult`.
    async fn call(
        &self,
        call: &ShellCall,
        context: &CallContext,
    ) -> Result<Box<RawValue>, CallError>;
}

/// One call, with its arguments resolved.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ShellCall {
    pub capability: String,
    /// The tool's own name.
    pub tool: String,
    /// The arguments object, to the letter.
    pub arguments: Box<RawValue>,
    /// Dotted paths of the structured result to keep; empty keeps everything.
    #[serde(default)]
    pub fields: Vec<String>,
    /// True when the person wants this very call.
    #[serde(default)]
    pub consent: bool,
    /// Longest silence of the tool.
    #[serde(default)]
    pub timeout_ms: Option<u64>,
    /// True to leave the result as the server gave it.
    #[serde(default)]
    pub unformatted: bool,
}

/// What servers are told of a person at a terminal: that they can be asked.
pub fn person_at_terminal() -> ClientProfile {
    let mut client = ClientProfile::default();
    if let Ok(modes) = RawValue::from_string(r#"{"form":{},"url":{}}"#.to_owned()) {
        client.capabilities.insert("elicitation".to_owned(), modes);
    }
    client
}
