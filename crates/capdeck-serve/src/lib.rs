//! Faces of the host: MCP over stdio and HTTP, health, readiness and metrics.
//!
//! Read [`serve_stdio`] and [`HttpServer`] first. What a request means is decided by `capdeck-host`; this
//! crate translates its answers (`mcp`) and moves bytes (`transport`).
//!
//! This crate never reads definition files and knows nothing of how a backend works.

mod mcp;
mod transport;

pub use transport::http::{BindError, HttpLimits, HttpServer, HttpSettings};
pub use transport::stdio::serve_stdio;
