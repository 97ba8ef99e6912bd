//! The MCP edge: translates requests and responses. It makes no decisions.

mod caller;
mod capsule_client;
mod capsule_failure;
mod capsule_service;
mod capsule_session;
mod client_listener;
mod client_streams;
mod deck_entries;
mod deck_session;
mod entry_changes;
mod failure;
mod follow;
mod granted_session;
mod listen;
mod log_level;
mod page;
mod params;
mod sealer;
mod seen_lists;
mod service;
mod transparent_session;

pub use capsule_client::CapsulePlace;
pub(crate) use capsule_client::{ViaShare, reach};
pub(crate) use capsule_service::CapsuleMcpService;
pub(crate) use sealer::sealer;
pub(crate) use service::McpService;
