//! The MCP edge: translates requests and responses. It makes no decisions.

mod caller;
mod capsule_mcp_client;
mod capsule_mcp_session;
mod client_streams;
mod deck_session;
mod entry_changes;
mod event_reaction;
mod failure;
mod granted_session;
mod page;
mod params;
mod service;
mod transparent_session;

pub use capsule_mcp_client::CapsuleReference;
pub(crate) use capsule_mcp_client::{ShareAccess, reach};
pub(crate) use service::{CapsuleMcpService, McpService, sealer};
