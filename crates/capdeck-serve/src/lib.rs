//! Faces of the host: MCP over stdio and HTTP, the shell's own channel, health, readiness and metrics.
//!
//! Read [`serve_stdio`] and [`HttpServer`] first. What a request means is decided by `capdeck-host`; this
//! crate translates its answers (`mcp`, `shell`) and moves bytes (`transport`).
//!
//! This crate never reads definition files and knows nothing of how a backend works.

mod mcp;
mod shell;
mod transport;

pub use shell::{
    LocalShell, NoHost, RemoteShell, Shell, ShellCall, ShellSocket, SocketError, person_at_terminal,
};
pub use transport::http::{BindError, HttpLimits, HttpServer, HttpSettings};
pub use transport::stdio::serve_stdio;
