//! Faces of the host: MCP over stdio and HTTP, the dashboard, the shell's own channel, health, readiness and metrics.
//!
//! Read [`serve_stdio`] and [`HttpServer`] first. What a request means is decided by `capdeck-host`; this
//! crate translates its answers (`mcp`, `shell`) and moves bytes (`transport`).
//!
//! This crate never reads definition files and knows nothing of how a backend works.

mod actor;
mod admission;
mod browser_cookie;
mod capsule_follower;
mod dashboard;
mod local_socket;
mod mcp;
mod oauth;
mod oidc;
mod operators;
mod otlp;
mod reception;
mod refusals;
mod registry_desk;
mod registry_trail;
mod rest;
mod share_makers;
mod shared_capsules;
mod shell;
mod transport;

pub use local_socket::NoHost;
pub use mcp::CapsulePlace;
pub use oidc::OidcSettings;
pub use otlp::{OtlpExporter, OtlpSettings};
pub use reception::NoRegistry;
pub use registry_trail::RegistryTrail;
pub use shared_capsules::{SharedCapsules, SharedCapsulesSettings, Standing};
pub use shell::{
    LocalShell, RemoteShell, Shell, ShellCall, ShellSocket, SocketError, person_at_terminal,
};
pub use transport::http::{
    AuthMode, BindError, HttpLimits, HttpServer, HttpSettings, Rate, RateLimits,
};
pub use transport::stdio::{serve_capsule_stdio, serve_stdio};
