//! `httpApi`: hand-written HTTP actions, one tool each.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::{
    action::{ActionSchemas, ActionText},
    number,
    request_settings::RequestSettings,
};
use crate::{definition::id_pattern, pattern};

/// HTTP actions below one base URL.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
pub struct HttpApi {
    #[schemars(length(min = 1))]
    pub base_url: String,
    #[schemars(extend("propertyNames" = id_pattern(), "minProperties" = 1))]
    pub actions: IndexMap<String, HttpAction>,
    #[serde(flatten)]
    pub requests: RequestSettings,
    #[serde(default = "number::<200_000>")]
    #[schemars(range(min = 1))]
    pub max_response_bytes: u64,
}

/// One request, offered as one tool. `query`, `headers` and `jsonBody` may hold `$input` references.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
pub struct HttpAction {
    pub method: HttpMethod,
    /// Starts with `/`; `{name}` takes the argument `name`.
    #[schemars(length(min = 1), regex(pattern = pattern::PATH))]
    pub path: String,
    #[serde(flatten)]
    pub text: ActionText,
    #[serde(flatten)]
    pub schemas: ActionSchemas,
    /// Query parameters: strings, numbers or booleans.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    #[schemars(extend("additionalProperties" = { "type": ["string", "number", "boolean"] }))]
    pub query: IndexMap<String, Value>,
    /// Request headers: strings, numbers or booleans.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    #[schemars(extend("additionalProperties" = { "type": ["string", "number", "boolean"] }))]
    pub headers: IndexMap<String, Value>,
    /// The body to send. A written `null` is a body too, so it is kept apart from no body at all.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
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

fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}
