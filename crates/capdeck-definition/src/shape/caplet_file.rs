//! The frontmatter of a Caplet file.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{BlockFields, ChildFields, Declared, Many, Presentation, ProjectBinding};
use crate::{
    Auth, Backend, CapletSet, CliTools, GoogleDiscoveryApi, GraphQlEndpoint, HttpApi, McpServer,
    OpenApiEndpoint, Runtime, definition::id_pattern,
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
    pub(crate) presentation: Presentation,
    #[serde(default)]
    pub(crate) project_binding: Option<ProjectBinding>,
    #[serde(default)]
    pub(crate) runtime: Option<Runtime>,
    /// Sign-in shared by the children of a plural file.
    #[serde(default)]
    pub(crate) auth: Option<Auth>,
    #[serde(default)]
    pub(crate) catalog: Option<CatalogFields>,
    /// An MCP server.
    #[serde(default)]
    mcp_server: Option<Block<McpServer>>,
    /// Several MCP servers, by child id.
    #[serde(default)]
    #[schemars(extend("propertyNames" = id_pattern(), "minProperties" = 1))]
    mcp_servers: Children<McpServer>,
    /// An API described by OpenAPI.
    #[serde(default)]
    openapi_endpoint: Option<Block<OpenApiEndpoint>>,
    /// Several OpenAPI APIs, by child id.
    #[serde(default)]
    #[schemars(extend("propertyNames" = id_pattern(), "minProperties" = 1))]
    openapi_endpoints: Children<OpenApiEndpoint>,
    /// An API described by Google Discovery.
    #[serde(default)]
    google_discovery_api: Option<Block<GoogleDiscoveryApi>>,
    /// Several Google Discovery APIs, by child id.
    #[serde(default)]
    #[schemars(extend("propertyNames" = id_pattern(), "minProperties" = 1))]
    google_discovery_apis: Children<GoogleDiscoveryApi>,
    /// A GraphQL endpoint.
    #[serde(default)]
    graphql_endpoint: Option<Block<GraphQlEndpoint>>,
    /// Several GraphQL endpoints, by child id.
    #[serde(default)]
    #[schemars(extend("propertyNames" = id_pattern(), "minProperties" = 1))]
    graphql_endpoints: Children<GraphQlEndpoint>,
    /// Hand-written HTTP actions.
    #[serde(default)]
    http_api: Option<Block<HttpApi>>,
    /// Several HTTP APIs, by child id.
    #[serde(default)]
    #[schemars(extend("propertyNames" = id_pattern(), "minProperties" = 1))]
    http_apis: Children<HttpApi>,
    /// Command-line actions, or several groups of them by child id.
    #[serde(default)]
    cli_tools: Option<CliForm>,
    /// A nested collection of definitions.
    #[serde(default)]
    caplet_set: Option<Block<CapletSet>>,
    /// Several nested collections, by child id.
    #[serde(default)]
    #[schemars(extend("propertyNames" = id_pattern(), "minProperties" = 1))]
    caplet_sets: Children<CapletSet>,
}

type Block<B> = Declared<BlockFields, B>;
type Children<B> = Many<ChildFields, B>;

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
    One(Box<Block<CliTools>>),
    #[schemars(extend(
        "propertyNames" = { "allOf": [id_pattern(), { "not": { "const": "actions" } }] },
        "minProperties" = 1,
    ))]
    Many(Children<CliTools>),
}

/// A child of a plural file, before inheritance.
#[derive(Debug)]
pub(crate) struct ChildDraft {
    /// The plural key it stands under.
    pub(crate) key: &'static str,
    pub(crate) id: String,
    pub(crate) declared: Declared<ChildFields, Backend>,
}

/// The backends of a file, whichever form declares them.
#[derive(Debug, Default)]
pub(crate) struct Backends {
    pub(crate) singular: Vec<(&'static str, Declared<BlockFields, Backend>)>,
    pub(crate) children: Vec<ChildDraft>,
}

impl CapletFile {
    /// Takes every backend out of the file, in one list per form.
    pub(crate) fn take_backends(&mut self) -> Backends {
        let mut backends = Backends::default();
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

impl Backends {
    fn one<B: Into<Backend>>(&mut self, key: &'static str, block: Option<Block<B>>) {
        self.singular.extend(block.map(|block| (key, block.erase())));
    }

    fn many<B: Into<Backend>>(&mut self, key: &'static str, children: Children<B>) {
        self.children.extend(children.into_iter().map(|(id, child)| ChildDraft {
            key,
            id,
            declared: child.erase(),
        }));
    }
}
