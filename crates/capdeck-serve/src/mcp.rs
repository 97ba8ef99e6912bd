//! The MCP face: handshakes and requests in, the host's answers out. Decides nothing.

mod caller;
mod client_listener;
mod deck_session;
mod failure;
mod params;
mod seen_lists;
mod service;
mod transparent_session;

pub(crate) use service::McpService;
