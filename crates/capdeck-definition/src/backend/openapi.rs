//! `openapiEndpoint` and `googleDiscoveryApi`: HTTP APIs described by a document.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::request_settings::RequestSettings;

/// An API described by a document at `specPath` or `specUrl`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
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
    #[serde(flatten)]
    pub requests: RequestSettings,
    #[serde(default = "operation_cache_ttl_ms")]
    pub operation_cache_ttl_ms: u64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(inner(length(min = 1, max = 160)))]
    pub include_operations: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(inner(length(min = 1, max = 160)))]
    pub exclude_operations: Vec<String>,
}

/// An API described by a document at `discoveryPath` or `discoveryUrl`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
pub struct GoogleDiscoveryApi {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub discovery_path: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub discovery_url: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub base_url: Option<String>,
    #[serde(flatten)]
    pub requests: RequestSettings,
    #[serde(default = "operation_cache_ttl_ms")]
    pub operation_cache_ttl_ms: u64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(inner(length(min = 1, max = 160)))]
    pub include_operations: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(inner(length(min = 1, max = 160)))]
    pub exclude_operations: Vec<String>,
}

pub(crate) fn operation_cache_ttl_ms() -> u64 {
    30_000
}
