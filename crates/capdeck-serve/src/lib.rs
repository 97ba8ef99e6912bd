//! The edges of the host: MCP over stdio and HTTP, the REST API, the dashboard, the shell socket, health and metrics.
//!
//! The main types are [`HttpServer`], [`ToolShell`] (calls from a terminal) and [`SharedCapsuleService`] (capsules that
//! several processes use). Start with [`serve_stdio`], the shortest path, then [`HttpServer`]. `capdeck-host` decides what
//! a request means; this crate translates its responses (`mcp`, `shell`) and moves bytes (`transport`).
//!
//! This crate never reads definition files and knows nothing of how a backend works.

mod capsule_follower;
mod cookies;
mod dashboard;
mod http_state;
mod local_socket;
mod mcp;
mod oauth;
mod oidc;
mod operators;
mod otlp;
mod registry_grants;
mod registry_trail;
mod request_actor;
mod rest;
mod shared_capsules;
mod shell;
mod transport;

pub use capdeck_host::ServeAuthMode;

pub use http_state::RegistryUnavailable;
pub use local_socket::HostUnreachable;
pub use mcp::CapsuleReference;
pub use oidc::OidcSettings;
pub use otlp::{OtlpExporter, OtlpSettings};
pub use registry_trail::RegistryTrail;
pub use shared_capsules::{ProcessLifetime, SharedCapsuleService, SharedCapsulesSettings};
pub use shell::{
    LocalShell, RemoteShell, ShellCall, ShellResult, ShellSocket, SocketError, ToolShell,
    person_at_terminal,
};
pub use transport::http::{
    BindError, BucketRate, HttpLimits, HttpServer, HttpSettings, RateLimits,
};
pub use transport::stdio::{serve_capsule_stdio, serve_stdio};
