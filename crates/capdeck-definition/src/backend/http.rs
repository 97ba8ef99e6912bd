//! `httpApi`: hand-written HTTP actions, one tool each.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::openapi::request_timeout_ms;
use crate::Auth;

/// HTTP actions below one base URL.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HttpApi {
    pub base_url: String,
    pub auth: Auth,
    #[schemars(length(min = 1))]
    pub actions: IndexMap<String, HttpAction>,
    #[serde(default = "request_timeout_ms")]
    #[schemars(range(min = 1))]
    pub request_timeout_ms: u64,
    #[serde(default = "max_response_bytes")]
    #[schemars(range(min = 1))]
    pub max_response_bytes: u64,
}

/// One request, offered as one tool. `query`, `headers` and `jsonBody` may hold `$input` references.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HttpAction {
    pub method: HttpMethod,
    /// Starts with `/`; `{name}` takes the argument `name`.
    pub path: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub use_when: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub avoid_when: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_schema: Option<Map<String, Value>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Map<String, Value>>,
    /// Query parameters: strings, numbers or booleans.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub query: IndexMap<String, Value>,
    /// Request headers: strings, numbers or booleans.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub headers: IndexMap<String, Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub json_body: Option<Value>,
}

/// The methods an action may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum HttpMethod {
    Get,
    Post,
    Put,
    Patch,
    Delete,
}

fn max_response_bytes() -> u64 {
    200_000
}
