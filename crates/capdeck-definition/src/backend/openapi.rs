//! `openapiEndpoint`: an HTTP API described by an OpenAPI document.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::outgoing::{Network, RateLimit};
use crate::Auth;

/// An API described by a document at `specPath` or `specUrl`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OpenApiEndpoint {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub spec_path: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub spec_url: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub base_url: Option<String>,
    #[serde(default)]
    pub auth: Auth,
    #[serde(default = "request_timeout_ms")]
    #[schemars(range(min = 1))]
    pub request_timeout_ms: u64,
    /// Which networks requests may go to. `private` also opens private networks and this machine.
    #[serde(default, skip_serializing_if = "Network::is_public")]
    pub network: Network,
    /// How often a request that may be repeated is sent again after a passing failure. 2 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 5))]
    pub retries: Option<u8>,
    /// How many requests run at once; others wait for their turn. 16 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000))]
    pub max_concurrency: Option<u16>,
    /// How many requests are sent in any second or minute; others wait for their turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_limit: Option<RateLimit>,
    #[serde(default = "operation_cache_ttl_ms")]
    pub operation_cache_ttl_ms: u64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(inner(length(min = 1, max = 160)))]
    pub include_operations: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(inner(length(min = 1, max = 160)))]
    pub exclude_operations: Vec<String>,
}

pub(crate) fn request_timeout_ms() -> u64 {
    60_000
}

pub(crate) fn operation_cache_ttl_ms() -> u64 {
    30_000
}
