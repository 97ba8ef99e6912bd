//! Live backends: one [`Connection`] per remote, whatever its kind.
//!
//! Read [`Connection`] first, then [`connect`]. Every wait here has a deadline and can be cancelled;
//! every child process is in its own group and dies with the host.
//!
//! This crate never knows who is calling or how a result is shown.

mod call_error;
mod connection;

pub use call_error::{CallError, ErrorCode, ErrorKind, RpcFailure};
pub use connection::{CallContext, Caller, Connection, NoCaller, ToolCall};
