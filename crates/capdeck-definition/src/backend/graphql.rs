//! `graphqlEndpoint`: a GraphQL API.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::{
    action::ActionText, number, openapi::OPERATION_CACHE_TTL_MS, request_settings::RequestSettings,
    small_number,
};
use crate::definition::id_pattern;

/// A GraphQL endpoint whose schema comes from a file, a URL or introspection.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
pub struct GraphQlEndpoint {
    #[schemars(length(min = 1))]
    pub endpoint_url: String,
    #[schemars(length(min = 1))]
    pub schema_path: Option<String>,
    #[schemars(length(min = 1))]
    pub schema_url: Option<String>,
    #[schemars(extend("const" = true))]
    pub introspection: Option<bool>,
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    #[schemars(extend("propertyNames" = id_pattern()))]
    pub operations: IndexMap<String, GraphQlOperation>,
    #[serde(flatten)]
    pub requests: RequestSettings,
    #[serde(default = "number::<OPERATION_CACHE_TTL_MS>")]
    pub operation_cache_ttl_ms: u64,
    #[serde(default = "small_number::<u8, 2>")]
    #[schemars(range(min = 1, max = 5))]
    pub selection_depth: u8,
    /// Select deprecated fields, too, where operations are made from the schema.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub include_deprecated: bool,
    /// Offer a tool that takes any document.
    pub query_tool: Option<GraphQlQueryTool>,
}

/// Whether there is a tool that takes any document, and what that may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum GraphQlQueryTool {
    /// `true` offers it for queries only.
    Offered(bool),
    Allowing(GraphQlQueryRights),
}

/// What a free document may hold besides queries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GraphQlQueryRights {
    /// Take mutations, too. The tool then counts as destructive with any arguments.
    #[serde(default)]
    pub mutations: bool,
}

impl GraphQlEndpoint {
    /// What a free document may do; `None` when there is no tool for one.
    pub fn query_rights(&self) -> Option<GraphQlQueryRights> {
        match self.query_tool? {
            GraphQlQueryTool::Offered(false) => None,
            GraphQlQueryTool::Offered(true) => Some(GraphQlQueryRights { mutations: false }),
            GraphQlQueryTool::Allowing(rights) => Some(rights),
        }
    }
}

/// One configured operation, offered as one tool.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
pub struct GraphQlOperation {
    #[schemars(length(min = 1))]
    pub document: Option<String>,
    #[schemars(length(min = 1))]
    pub document_path: Option<String>,
    #[schemars(length(min = 1))]
    pub operation_name: Option<String>,
    #[serde(flatten)]
    pub text: ActionText,
}
