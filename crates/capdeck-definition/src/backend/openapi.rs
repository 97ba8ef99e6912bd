//! `openapiEndpoint` and `googleDiscoveryApi`: HTTP APIs described by a document.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::{number, request_settings::RequestSettings};

/// How long a list of operations stays fresh.
pub(super) const OPERATION_CACHE_TTL_MS: u64 = 30_000;

/// An API described by a document at `specPath` or `specUrl`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
pub struct OpenApiEndpoint {
    #[schemars(length(min = 1))]
    pub spec_path: Option<String>,
    #[schemars(length(min = 1))]
    pub spec_url: Option<String>,
    #[serde(flatten)]
    pub import: ApiImport,
}

/// An API described by a document at `discoveryPath` or `discoveryUrl`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
pub struct GoogleDiscoveryApi {
    #[schemars(length(min = 1))]
    pub discovery_path: Option<String>,
    #[schemars(length(min = 1))]
    pub discovery_url: Option<String>,
    #[serde(flatten)]
    pub import: ApiImport,
}

/// What an API whose tools come from a document has, wherever the document is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApiImport {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub base_url: Option<String>,
    #[serde(flatten)]
    pub requests: RequestSettings,
    #[serde(default = "number::<OPERATION_CACHE_TTL_MS>")]
    pub operation_cache_ttl_ms: u64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(inner(length(min = 1, max = 160)))]
    pub include_operations: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(inner(length(min = 1, max = 160)))]
    pub exclude_operations: Vec<String>,
}
