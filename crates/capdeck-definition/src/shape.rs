//! The shapes of the files, exactly as written: what serde reads and what the published schemas describe.

pub(crate) mod cmp_files;
pub(crate) mod config_file;

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, de::DeserializeOwned};

use crate::{
    Backend, BackendAuth, CapletSet, CliTools, Exposure, GoogleDiscoveryApi, GraphQlEndpoint,
    HttpApi, McpServer, OpenApiEndpoint, PinMode, RuntimeRequirements, SetupCommands,
    ShadowingMode, definition::id_pattern, document::ValueNode,
};

/// The keys of single backends, in a Caplet file.
pub const SINGULAR_KEYS: [&str; 7] = [
    "mcpServer",
    "openapiEndpoint",
    "googleDiscoveryApi",
    "graphqlEndpoint",
    "httpApi",
    "cliTools",
    "capletSet",
];

/// The plural maps of backends, as keys of a file.
pub const PLURAL_KEYS: [&str; 7] = [
    "mcpServers",
    "openapiEndpoints",
    "googleDiscoveryApis",
    "graphqlEndpoints",
    "httpApis",
    "cliTools",
    "capletSets",
];

/// A backend block with the fields that surround it.
///
/// `serde` cannot refuse unknown keys through `flatten`; the schema does, before serde sees the value.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields, rename = "{B}With{F}")]
pub(crate) struct DeclaredBlock<F, B> {
    #[serde(flatten)]
    fields: F,
    #[serde(flatten)]
    backend: B,
}

/// A map of children or entries, by id.
pub(crate) type DeclaredMap<F, B> = IndexMap<String, DeclaredBlock<F, B>>;

/// What every backend block may carry.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct BlockFields {
    /// When true, the capability is left out of discovery.
    #[serde(default)]
    pub(crate) disabled: bool,
    pub(crate) project_binding: Option<ProjectBinding>,
    pub(crate) runtime: Option<RuntimeRequirements>,
}

/// What a capability of any backend has; for the child of a plural file, all of it is optional.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ChildFields")]
pub(crate) struct SharedFields {
    #[schemars(length(min = 1, max = 80))]
    pub(crate) name: Option<String>,
    #[schemars(length(min = 10, max = 1500))]
    pub(crate) description: Option<String>,
    #[serde(flatten)]
    pub(crate) presentation: PresentationFields,
    #[serde(flatten)]
    pub(crate) block: BlockFields,
}

/// The same for an entry of a config file, which needs a name and a description.
#[derive(Debug, JsonSchema)]
#[schemars(rename_all = "camelCase")]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct EntryFields {
    #[schemars(length(min = 1, max = 80))]
    name: String,
    #[schemars(length(min = 10, max = 1500))]
    description: String,
    #[schemars(flatten)]
    presentation: PresentationFields,
    #[schemars(flatten)]
    block: BlockFields,
}

/// How a capability is presented and prepared, in every kind of file.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Presentation")]
pub(crate) struct PresentationFields {
    /// Tags for grouping and searching.
    #[serde(default)]
    #[schemars(inner(length(min = 1, max = 80)))]
    pub(crate) tags: Vec<String>,
    /// How the capability is offered to agents.
    pub(crate) exposure: Option<Exposure>,
    /// Whether an attached local deck may replace this capability.
    pub(crate) shadowing: Option<ShadowingMode>,
    /// What happens when a server changes a tool's definition; the deck's own choice when left out.
    pub(crate) pins: Option<PinMode>,
    /// When agents should prefer this capability.
    pub(crate) use_when: Option<String>,
    /// When agents should avoid this capability.
    pub(crate) avoid_when: Option<String>,
    /// Commands that prepare and verify the machine, run only when a person asks.
    pub(crate) setup: Option<SetupCommands>,
}

/// Whether the capability only makes sense inside a project.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ProjectBinding {
    pub(crate) required: bool,
}

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

/// Reads the block of a backend under a key of its kind, singular or plural.
pub(crate) fn read_block<F: DeserializeOwned>(key: &str, node: &ValueNode) -> Option<(F, Backend)> {
    match key {
        "mcpServer" | "mcpServers" => read(node, Backend::Mcp),
        "openapiEndpoint" | "openapiEndpoints" => read(node, Backend::OpenApi),
        "googleDiscoveryApi" | "googleDiscoveryApis" => read(node, Backend::GoogleDiscovery),
        "graphqlEndpoint" | "graphqlEndpoints" => read(node, Backend::GraphQl),
        "httpApi" | "httpApis" => read(node, Backend::Http),
        "cliTools" => read(node, Backend::Cli),
        "capletSet" | "capletSets" => read(node, Backend::Caplets),
        _ => None,
    }
}

fn read<F: DeserializeOwned, B: DeserializeOwned>(
    node: &ValueNode,
    backend: fn(B) -> Backend,
) -> Option<(F, Backend)> {
    let block: DeclaredBlock<F, B> = serde_json::from_value(node.to_json()).ok()?;
    Some((block.fields, backend(block.backend)))
}

impl Backend {
    /// Gives the backend the sign-in of its file, for the kinds that have one.
    pub(crate) fn set_auth(&mut self, inherited: &BackendAuth) {
        match self {
            Self::Mcp(server) => server.auth = Some(inherited.clone()),
            Self::OpenApi(api) => api.import.requests.auth = inherited.clone(),
            Self::GoogleDiscovery(api) => api.import.requests.auth = inherited.clone(),
            Self::GraphQl(api) => api.requests.auth = inherited.clone(),
            Self::Http(api) => api.requests.auth = inherited.clone(),
            Self::Cli(_) | Self::Cmp(_) | Self::Caplets(_) | Self::Capsules => {}
        }
    }
}
