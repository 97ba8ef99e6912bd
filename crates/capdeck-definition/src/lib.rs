//! The file formats: text in, [`Definition`]s and [`Diagnostic`]s out.
//!
//! Read [`Definition`] first, then [`load`] (files on disk) and [`parse`] (text to definitions).
//!
//! This crate never runs anything, never opens a socket, never looks at the environment and knows
//! nothing of what is connected. A broken file is a value, not an error.

mod auth;
mod backend;
mod definition;
mod diagnostic;
mod exposure;
mod setup;
mod source;

pub use auth::{Auth, OAuth};
pub use backend::cli::{CliAction, CliAnnotations, CliOutput, CliOutputType, CliTools};
pub use backend::google_discovery::GoogleDiscoveryApi;
pub use backend::graphql::{GraphQlEndpoint, GraphQlOperation};
pub use backend::http::{HttpAction, HttpApi, HttpMethod};
pub use backend::mcp::{McpServer, McpTransport};
pub use backend::openapi::OpenApiEndpoint;
pub use backend::set::CapletSet;
pub use backend::{Backend, BackendKind};
pub use definition::{
    CapabilityId, Definition, Hints, InvalidId, ResourceClass, Runtime, RuntimeFeature,
    RuntimeResources, Shadowing,
};
pub use diagnostic::{Diagnostic, Severity};
pub use exposure::Exposure;
pub use setup::{Setup, SetupStep};
pub use source::{Layer, Source};
