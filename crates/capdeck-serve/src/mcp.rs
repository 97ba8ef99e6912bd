//! The MCP face: handshakes and requests in, the host's answers out. Decides nothing.

mod caller;
mod client_listener;
mod client_streams;
mod deck_session;
mod failure;
mod follow;
mod listen;
mod log_level;
mod page;
mod params;
mod sealer;
mod seen_lists;
mod service;
mod transparent_session;

pub(crate) use sealer::sealer;
pub(crate) use service::McpService;
