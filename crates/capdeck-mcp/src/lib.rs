//! The MCP wire: raw JSON framing, request ids, protocol revisions, and the client and server halves.
//!
//! Read [`Message`] first, then [`client::Client`] and [`server::Service`]. Messages are parsed only as deep as
//! their envelope; what a tool, a result or a schema says travels through as the exact text that was sent.
//!
//! This crate never knows what a tool means, what is in a catalog, or where a file is.

mod canonical;
mod encode;
mod header_params;
mod line;
mod message;
mod nesting;
mod raw;
mod request_id;
mod request_meta;
mod revision;
mod rpc_error;
mod seal;
mod sse;

pub mod client;
pub mod server;

pub use header_params::{HeaderParams, InvalidHeaderParams, ParamHeader};
pub use line::{Line, LineReader};
pub use message::{Incoming, Malformed, Message};
pub use raw::RawObject;
pub use request_id::RequestId;
pub use revision::{Era, Revision};
pub use rpc_error::RpcError;
pub use seal::{SealError, Sealer};
pub use sse::{SseEvent, SseParser, SseTooLarge};

/// The largest single message either half accepts unless told otherwise.
pub const MAX_MESSAGE_BYTES: usize = 16 * 1024 * 1024;
