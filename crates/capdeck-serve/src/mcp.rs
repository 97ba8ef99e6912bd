//! The MCP edge: translates requests and responses. It makes no decisions.

mod caller;
mod capsule_failure;
mod capsule_mcp_client;
mod capsule_mcp_service;
mod capsule_mcp_session;
mod client_listener;
mod client_streams;
mod deck_entry_lists;
mod deck_session;
mod entry_changes;
mod event_reaction;
mod failure;
mod granted_session;
mod listen;
mod log_level;
mod page;
mod params;
mod sealer;
mod seen_lists;
mod service;
mod transparent_session;

pub use capsule_mcp_client::CapsuleReference;
pub(crate) use capsule_mcp_client::{ShareAccess, reach};
pub(crate) use capsule_mcp_service::CapsuleMcpService;
pub(crate) use sealer::sealer;
pub(crate) use service::McpService;
