//! The MCP wire: raw JSON framing, request ids, protocol revisions, and the client and server halves.
//!
//! Read [`RpcMessage`] first, then [`client::McpClient`] and [`server::SessionFactory`]. Messages are parsed only to their
//! envelope; tools, results and schemas pass through as the exact text that was sent.
//!
//! This crate never knows the meaning of a tool, the catalog, or file locations.

mod encode;
mod header_params;
mod line;
mod log_severity;
mod message;
mod message_budget;
mod raw;
mod request_head;
mod request_meta;
mod revision;
mod rpc_error;
mod seal;
mod sse;

pub mod client;
pub mod server;

pub use header_params::{HeaderParams, HeaderParamsError, ParamHeader};
pub use line::{FramedLine, LineReader};
pub use log_severity::LogSeverity;
pub use message::{MalformedMessage, RequestId, RpcFrame, RpcMessage};
pub use raw::RawObject;
pub use revision::{Era, ProtocolRevision};
pub use rpc_error::RpcError;
pub use seal::{SealError, TextSealer};
pub use sse::{SseEvent, SseParser, SseSizeError};

/// The default limit of a single message in both halves.
pub const MAX_MESSAGE_BYTES: usize = 16 * 1024 * 1024;
