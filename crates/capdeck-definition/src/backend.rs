//! The backend kinds, one module each. After a kind is added here, crate by crate fails to compile until it has an arm;
//! `read_block` in `shape.rs` and the rules in `schema/` are not checked by the compiler.

pub(crate) mod action;
pub(crate) mod chaos;
pub(crate) mod cli;
pub(crate) mod cmp;
pub(crate) mod graphql;
pub(crate) mod http;
pub(crate) mod launcher;
pub(crate) mod mcp;
pub(crate) mod openapi;
pub(crate) mod request_settings;
pub(crate) mod set;
pub(crate) mod start_limit;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

use crate::{
    CapletSet, CliTools, CmpTool, GoogleDiscoveryApi, GraphQlEndpoint, HttpApi, McpServer,
    OpenApiEndpoint,
};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
#[expect(clippy::large_enum_variant, reason = "definitions are few, and each is behind an `Arc`")]
pub enum Backend {
    Mcp(McpServer),
    #[serde(rename = "openapi")]
    OpenApi(OpenApiEndpoint),
    GoogleDiscovery(GoogleDiscoveryApi),
    #[serde(rename = "graphql")]
    GraphQl(GraphQlEndpoint),
    Http(HttpApi),
    Cli(CliTools),
    Cmp(CmpTool),
    Caplets(CapletSet),
    /// The capsules of this machine. No file declares them; the host does while there are any.
    #[serde(skip_deserializing)]
    Capsules,
}

/// The name of a backend kind, as shown in listings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[derive(IntoStaticStr)]
#[strum(serialize_all = "camelCase")]
pub enum BackendKind {
    Mcp,
    #[serde(rename = "openapi")]
    #[strum(serialize = "openapi")]
    OpenApi,
    GoogleDiscovery,
    #[serde(rename = "graphql")]
    #[strum(serialize = "graphql")]
    GraphQl,
    Http,
    Cli,
    Cmp,
    Caplets,
    Capsules,
}

impl Backend {
    pub fn kind(&self) -> BackendKind {
        match self {
            Self::Mcp(_) => BackendKind::Mcp,
            Self::OpenApi(_) => BackendKind::OpenApi,
            Self::GoogleDiscovery(_) => BackendKind::GoogleDiscovery,
            Self::GraphQl(_) => BackendKind::GraphQl,
            Self::Http(_) => BackendKind::Http,
            Self::Cli(_) => BackendKind::Cli,
            Self::Cmp(_) => BackendKind::Cmp,
            Self::Caplets(_) => BackendKind::Caplets,
            Self::Capsules => BackendKind::Capsules,
        }
    }
}

impl BackendKind {
    /// The name as listings show it.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// Whether a field has the value that it has when a file leaves it out.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// The number for one that a file leaves out.
pub(crate) fn number<const N: u64>() -> u64 {
    N
}

/// The same for a number of another type.
pub(crate) fn small_number<T: From<u8>, const N: u8>() -> T {
    N.into()
}
