//! The frontmatter of a Caplet file.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    BlockFields, DeclaredBlock, DeclaredMap, PresentationFields, ProjectBinding, SharedFields,
};
use crate::{
    BackendAuth, CapletSet, CliTools, GoogleDiscoveryApi, GraphQlEndpoint, HttpApi, McpServer,
    OpenApiEndpoint, RuntimeRequirements, definition::id_pattern,
};

/// Caplet file frontmatter: one capability, or several that share these fields.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase", deny_unknown_fields, title = "Caplet file frontmatter")]
#[expect(dead_code, reason = "only its schema is used: backends are read one by one")]
pub(crate) struct CapletFile {
    #[schemars(flatten)]
    fields: CapletFields,
    /// An MCP server.
    mcp_server: Option<CapletBlock<McpServer>>,
    /// Several MCP servers, by child id.
    #[schemars(extend("propertyNames" = id_pattern(), "minProperties" = 1))]
    mcp_servers: Option<CapletChildren<McpServer>>,
    /// An API described by OpenAPI.
    openapi_endpoint: Option<CapletBlock<OpenApiEndpoint>>,
    /// Several OpenAPI APIs, by child id.
    #[schemars(extend("propertyNames" = id_pattern(), "minProperties" = 1))]
    openapi_endpoints: Option<CapletChildren<OpenApiEndpoint>>,
    /// An API described by Google Discovery.
    google_discovery_api: Option<CapletBlock<GoogleDiscoveryApi>>,
    /// Several Google Discovery APIs, by child id.
    #[schemars(extend("propertyNames" = id_pattern(), "minProperties" = 1))]
    google_discovery_apis: Option<CapletChildren<GoogleDiscoveryApi>>,
    /// A GraphQL endpoint.
    graphql_endpoint: Option<CapletBlock<GraphQlEndpoint>>,
    /// Several GraphQL endpoints, by child id.
    #[schemars(extend("propertyNames" = id_pattern(), "minProperties" = 1))]
    graphql_endpoints: Option<CapletChildren<GraphQlEndpoint>>,
    /// Hand-written HTTP actions.
    http_api: Option<CapletBlock<HttpApi>>,
    /// Several HTTP APIs, by child id.
    #[schemars(extend("propertyNames" = id_pattern(), "minProperties" = 1))]
    http_apis: Option<CapletChildren<HttpApi>>,
    /// Command-line actions, or several groups of them by child id.
    cli_tools: Option<CliForm>,
    /// A nested collection of definitions.
    caplet_set: Option<CapletBlock<CapletSet>>,
    /// Several nested collections, by child id.
    #[schemars(extend("propertyNames" = id_pattern(), "minProperties" = 1))]
    caplet_sets: Option<CapletChildren<CapletSet>>,
}

/// The top of the file, without its backends.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CapletFields {
    /// A schema for editors; ignored.
    #[serde(rename = "$schema")]
    #[expect(dead_code, reason = "accepted for editors, used by nothing")]
    schema: Option<String>,
    /// Display name.
    #[schemars(length(min = 1, max = 80))]
    pub(crate) name: String,
    /// What the capability does, for agents choosing between many.
    #[schemars(length(min = 10, max = 1500))]
    pub(crate) description: String,
    #[serde(flatten)]
    pub(crate) presentation: PresentationFields,
    pub(crate) project_binding: Option<ProjectBinding>,
    pub(crate) runtime: Option<RuntimeRequirements>,
    /// Sign-in shared by the children of a plural file.
    pub(crate) auth: Option<BackendAuth>,
    pub(crate) catalog: Option<CatalogFields>,
}

type CapletBlock<B> = DeclaredBlock<BlockFields, B>;
type CapletChildren<B> = DeclaredMap<SharedFields, B>;

/// `catalog`: presentation only.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct CatalogFields {
    /// An HTTPS URL or a relative path of an image.
    #[schemars(length(min = 1))]
    pub(crate) icon: Option<String>,
}

/// `cliTools` is one block when it has `actions`, else a map of children.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "only its schema is used")]
enum CliForm {
    One(CapletBlock<CliTools>),
    #[schemars(extend(
        "propertyNames" = { "allOf": [id_pattern(), { "not": { "const": "actions" } }] },
        "minProperties" = 1,
    ))]
    Many(CapletChildren<CliTools>),
}
