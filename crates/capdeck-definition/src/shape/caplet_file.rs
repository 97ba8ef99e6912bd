//! The frontmatter of a Caplet file.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    BlockFields, ChildFields, DeclaredBlock, DeclaredMap, PresentationFields, ProjectBinding,
};
use crate::{
    Backend, BackendAuth, CapletSet, CliTools, GoogleDiscoveryApi, GraphQlEndpoint, HttpApi,
    McpServer, OpenApiEndpoint, RuntimeRequirements, definition::id_pattern,
};

/// Caplet file frontmatter: one capability, or several that share these fields.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields, title = "Caplet file frontmatter")]
pub(crate) struct CapletFile {
    /// A schema for editors; ignored.
    #[serde(default, rename = "$schema")]
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
    #[serde(default)]
    pub(crate) project_binding: Option<ProjectBinding>,
    #[serde(default)]
    pub(crate) runtime: Option<RuntimeRequirements>,
    /// Sign-in shared by the children of a plural file.
    #[serde(default)]
    pub(crate) auth: Option<BackendAuth>,
    #[serde(default)]
    pub(crate) catalog: Option<CatalogFields>,
    /// An MCP server.
    #[serde(default)]
    mcp_server: Option<CapletBlock<McpServer>>,
    /// Several MCP servers, by child id.
    #[serde(default)]
    #[schemars(extend("propertyNames" = id_pattern(), "minProperties" = 1))]
    mcp_servers: CapletChildren<McpServer>,
    /// An API described by OpenAPI.
    #[serde(default)]
    openapi_endpoint: Option<CapletBlock<OpenApiEndpoint>>,
    /// Several OpenAPI APIs, by child id.
    #[serde(default)]
    #[schemars(extend("propertyNames" = id_pattern(), "minProperties" = 1))]
    openapi_endpoints: CapletChildren<OpenApiEndpoint>,
    /// An API described by Google Discovery.
    #[serde(default)]
    google_discovery_api: Option<CapletBlock<GoogleDiscoveryApi>>,
    /// Several Google Discovery APIs, by child id.
    #[serde(default)]
    #[schemars(extend("propertyNames" = id_pattern(), "minProperties" = 1))]
    google_discovery_apis: CapletChildren<GoogleDiscoveryApi>,
    /// A GraphQL endpoint.
    #[serde(default)]
    graphql_endpoint: Option<CapletBlock<GraphQlEndpoint>>,
    /// Several GraphQL endpoints, by child id.
    #[serde(default)]
    #[schemars(extend("propertyNames" = id_pattern(), "minProperties" = 1))]
    graphql_endpoints: CapletChildren<GraphQlEndpoint>,
    /// Hand-written HTTP actions.
    #[serde(default)]
    http_api: Option<CapletBlock<HttpApi>>,
    /// Several HTTP APIs, by child id.
    #[serde(default)]
    #[schemars(extend("propertyNames" = id_pattern(), "minProperties" = 1))]
    http_apis: CapletChildren<HttpApi>,
    /// Command-line actions, or several groups of them by child id.
    #[serde(default)]
    cli_tools: Option<CliForm>,
    /// A nested collection of definitions.
    #[serde(default)]
    caplet_set: Option<CapletBlock<CapletSet>>,
    /// Several nested collections, by child id.
    #[serde(default)]
    #[schemars(extend("propertyNames" = id_pattern(), "minProperties" = 1))]
    caplet_sets: CapletChildren<CapletSet>,
}

type CapletBlock<B> = DeclaredBlock<BlockFields, B>;
type CapletChildren<B> = DeclaredMap<ChildFields, B>;

/// `catalog`: presentation only.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct CatalogFields {
    /// An HTTPS URL or a relative path of an image.
    #[serde(default)]
    #[schemars(length(min = 1))]
    pub(crate) icon: Option<String>,
}

/// `cliTools` is one block when it has `actions`, else a map of children.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
enum CliForm {
    One(Box<CapletBlock<CliTools>>),
    #[schemars(extend(
        "propertyNames" = { "allOf": [id_pattern(), { "not": { "const": "actions" } }] },
        "minProperties" = 1,
    ))]
    Many(CapletChildren<CliTools>),
}

/// A child of a plural file, before inheritance.
#[derive(Debug)]
pub(crate) struct ChildDraft {
    /// The plural key it stands under.
    pub(crate) key: &'static str,
    pub(crate) id: String,
    pub(crate) declared: DeclaredBlock<ChildFields, Backend>,
}

/// The backends of a file, whichever form declares them.
#[derive(Debug, Default)]
pub(crate) struct CapletBackends {
    pub(crate) singular: Vec<(&'static str, DeclaredBlock<BlockFields, Backend>)>,
    pub(crate) children: Vec<ChildDraft>,
}

impl CapletFile {
    /// Takes every backend out of the file, in one list per form.
    pub(crate) fn take_backends(&mut self) -> CapletBackends {
        let mut backends = CapletBackends::default();
        backends.one("mcpServer", self.mcp_server.take());
        backends.one("openapiEndpoint", self.openapi_endpoint.take());
        backends.one("googleDiscoveryApi", self.google_discovery_api.take());
        backends.one("graphqlEndpoint", self.graphql_endpoint.take());
        backends.one("httpApi", self.http_api.take());
        backends.one("capletSet", self.caplet_set.take());
        backends.many("mcpServers", std::mem::take(&mut self.mcp_servers));
        backends.many("openapiEndpoints", std::mem::take(&mut self.openapi_endpoints));
        backends.many("googleDiscoveryApis", std::mem::take(&mut self.google_discovery_apis));
        backends.many("graphqlEndpoints", std::mem::take(&mut self.graphql_endpoints));
        backends.many("httpApis", std::mem::take(&mut self.http_apis));
        backends.many("capletSets", std::mem::take(&mut self.caplet_sets));
        match self.cli_tools.take() {
            Some(CliForm::One(block)) => backends.one("cliTools", Some(*block)),
            Some(CliForm::Many(children)) => backends.many("cliTools", children),
            None => {}
        }
        backends
    }
}

impl CapletBackends {
    fn one<B: Into<Backend>>(&mut self, key: &'static str, block: Option<CapletBlock<B>>) {
        self.singular.extend(block.map(|block| (key, block.erase())));
    }

    fn many<B: Into<Backend>>(&mut self, key: &'static str, children: CapletChildren<B>) {
        self.children.extend(children.into_iter().map(|(id, child)| ChildDraft {
            key,
            id,
            declared: child.erase(),
        }));
    }
}
