//! `config.json` and `config.yaml`.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{DeclaredMap, EntryFields};
use crate::{
    ArtifactConfig, CallAuditMode, CapletSet, CliTools, Exposure, FlowMode, Glob,
    GoogleDiscoveryApi, GraphQlEndpoint, HttpApi, McpServer, NamespaceAliases, NetworkAccess,
    OpenApiEndpoint, PinMode, RunConfig, ViewConfig,
    definition::id_pattern,
    pattern,
    policy::{PolicyEffect, PolicyRule, RuleCondition},
    serve_config::ServeFields,
};

/// Deck configuration: host options and capabilities by id.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase", deny_unknown_fields, title = "Deck configuration")]
#[expect(dead_code, reason = "only its schema is used: entries are read one by one")]
pub(crate) struct ConfigFile {
    #[schemars(flatten)]
    options: ConfigOptions,
    /// MCP servers by id.
    #[schemars(extend("propertyNames" = id_pattern()))]
    mcp_servers: Option<DeclaredMap<EntryFields, McpServer>>,
    /// OpenAPI APIs by id.
    #[schemars(extend("propertyNames" = id_pattern()))]
    openapi_endpoints: Option<DeclaredMap<EntryFields, OpenApiEndpoint>>,
    /// Google Discovery APIs by id.
    #[schemars(extend("propertyNames" = id_pattern()))]
    google_discovery_apis: Option<DeclaredMap<EntryFields, GoogleDiscoveryApi>>,
    /// GraphQL endpoints by id.
    #[schemars(extend("propertyNames" = id_pattern()))]
    graphql_endpoints: Option<DeclaredMap<EntryFields, GraphQlEndpoint>>,
    /// HTTP APIs by id.
    #[schemars(extend("propertyNames" = id_pattern()))]
    http_apis: Option<DeclaredMap<EntryFields, HttpApi>>,
    /// Groups of command-line actions by id.
    #[schemars(extend("propertyNames" = id_pattern()))]
    cli_tools: Option<DeclaredMap<EntryFields, CliTools>>,
    /// Nested collections by id.
    #[schemars(extend("propertyNames" = id_pattern()))]
    caplet_sets: Option<DeclaredMap<EntryFields, CapletSet>>,
}

// A config file without its capabilities.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ConfigOptions {
    /// A schema for editors; ignored.
    #[serde(default, rename = "$schema")]
    #[expect(dead_code, reason = "accepted for editors, used by nothing")]
    schema: Option<String>,
    /// Version of this format.
    #[schemars(extend("const" = 1))]
    #[expect(dead_code, reason = "there is one version, and the schema checks it")]
    version: Option<u64>,
    /// Search results returned when no limit is asked for.
    #[schemars(range(min = 1))]
    pub(crate) default_search_limit: Option<u32>,
    /// The largest number of search results that may be asked for.
    #[schemars(range(min = 1, max = 50))]
    pub(crate) max_search_limit: Option<u32>,
    /// Accepted for existing files. There is no telemetry to switch.
    #[expect(dead_code, reason = "accepted for existing files, used by nothing")]
    telemetry: Option<bool>,
    /// Accepted for existing files. State is kept in plain files.
    #[expect(dead_code, reason = "accepted for existing files, used by nothing")]
    storage: Option<StorageFields>,
    /// Defaults of the HTTP host. Read from the user's own config only.
    pub(crate) serve: Option<ServeFields>,
    /// Accepted for existing files.
    #[expect(dead_code, reason = "accepted for existing files, used by nothing")]
    completion: Option<CompletionFields>,
    /// How capabilities are offered.
    pub(crate) options: Option<HostOptions>,
    /// Which calls run, which a person is asked about and which do not exist for a client. The first rule that fits decides.
    pub(crate) policy: Option<Vec<RuleFields>>,
    /// The rules of `policy`, once they are checked.
    #[serde(skip)]
    pub(crate) rules: Vec<PolicyRule>,
    /// True when one of the rules could not be read.
    #[serde(skip)]
    pub(crate) policy_is_incomplete: bool,
    /// What happens when a server changes a tool's definition after it was first seen.
    pub(crate) pins: Option<PinMode>,
    /// What happens when a script carries data from one capability into a changing call of another.
    pub(crate) flow: Option<FlowMode>,
    /// Whether calls run while the audit trail cannot be written: `lenient` or `strict`.
    pub(crate) audit: Option<CallAuditMode>,
    /// Which runs of code mode are recorded, and how long.
    pub(crate) runs: Option<RunConfig>,
    /// How long large results are kept. Read from the user's own config only.
    pub(crate) artifacts: Option<ArtifactConfig>,
    /// False to learn nothing from results about what tools answer.
    pub(crate) observed_shapes: Option<bool>,
    /// Labels for decks that share an id.
    pub(crate) namespace_aliases: Option<NamespaceAliases>,
    /// Parts of the deck by name, each served on its own at `/views/<name>/mcp`.
    #[serde(default)]
    #[schemars(extend("propertyNames" = id_pattern()))]
    pub(crate) views: IndexMap<String, ViewConfig>,
}

/// `options`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct HostOptions {
    /// How capabilities are offered when they do not say.
    pub(crate) exposure: Option<Exposure>,
    /// How long a listing waits for tools that are not known yet.
    #[schemars(range(min = 1))]
    pub(crate) exposure_discovery_timeout_ms: Option<u64>,
    /// How long a search waits for tools that are not known yet. Later ones are in the next search.
    #[schemars(range(min = 1))]
    pub(crate) search_discovery_timeout_ms: Option<u64>,
    /// How long the start of a server may take that has no `startupTimeoutMs` of its own.
    #[schemars(range(min = 1))]
    pub(crate) startup_timeout_ms: Option<u64>,
    /// How many capabilities are asked for their tools at once.
    #[schemars(range(min = 1, max = 32))]
    pub(crate) exposure_discovery_concurrency: Option<u32>,
    /// The most tokens the standing tool list may cost an agent.
    #[schemars(range(min = 1))]
    pub(crate) surface_tokens: Option<u32>,
    /// The most bytes of a result that an agent is sent; the rest is kept and can be read on.
    #[schemars(range(min = 1024))]
    pub(crate) result_bytes: Option<u64>,
    /// Environment variables that the programs of this deck get, if they are set; `*` and `?` are wildcards.
    #[serde(default)]
    pub(crate) pass_env: Vec<Glob>,
    /// Which networks the requests of this deck may go to, where a capability does not say.
    pub(crate) network: Option<NetworkAccess>,
}

/// One rule of `policy`: exactly one of its keys.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct RuleFields {
    /// These calls run.
    pub(crate) allow: Option<RuleCondition>,
    /// A person is asked before these calls run.
    pub(crate) ask: Option<RuleCondition>,
    /// These tools do not exist for the client.
    pub(crate) deny: Option<RuleCondition>,
}

impl RuleFields {
    /// The rule that was written; `None` when it says nothing or several things.
    pub(crate) fn rule(&self) -> Option<PolicyRule> {
        let rule =
            |effect, about: &RuleCondition| Some(PolicyRule { effect, about: about.clone() });
        match (&self.allow, &self.ask, &self.deny) {
            (Some(about), None, None) => rule(PolicyEffect::Allow, about),
            (None, Some(about), None) => rule(PolicyEffect::Ask, about),
            (None, None, Some(about)) => rule(PolicyEffect::Deny, about),
            _ => None,
        }
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(dead_code, reason = "accepted for existing files, used by nothing")]
#[schemars(rename = "Completion")]
struct CompletionFields {
    #[schemars(range(min = 1))]
    discovery_timeout_ms: Option<u64>,
    #[schemars(range(min = 1))]
    overall_timeout_ms: Option<u64>,
    cache_ttl_ms: Option<u64>,
    negative_cache_ttl_ms: Option<u64>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(
    tag = "type",
    rename_all = "lowercase",
    rename_all_fields = "camelCase",
    deny_unknown_fields
)]
#[expect(dead_code, reason = "accepted for existing files, used by nothing")]
#[schemars(rename = "Storage")]
enum StorageFields {
    Sqlite {
        #[schemars(length(min = 1))]
        path: Option<String>,
        assets: Option<AssetFields>,
        bundle_limits: Option<BundleLimits>,
    },
    Postgres {
        #[schemars(length(min = 1))]
        connection_string: String,
        #[schemars(regex(pattern = pattern::DATABASE_SCHEMA))]
        schema: Option<String>,
        assets: Option<AssetFields>,
        bundle_limits: Option<BundleLimits>,
    },
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(
    tag = "type",
    rename_all = "lowercase",
    rename_all_fields = "camelCase",
    deny_unknown_fields
)]
#[expect(dead_code, reason = "accepted for existing files, used by nothing")]
#[schemars(rename = "Assets")]
enum AssetFields {
    Sql {},
    S3 {
        endpoint: Option<String>,
        #[schemars(length(min = 1))]
        region: String,
        #[schemars(length(min = 1))]
        bucket: String,
        prefix: Option<String>,
        force_path_style: Option<bool>,
        #[schemars(length(min = 1))]
        access_key_id: Option<String>,
        #[schemars(length(min = 1))]
        secret_access_key: Option<String>,
    },
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(dead_code, reason = "accepted for existing files, used by nothing")]
struct BundleLimits {
    #[schemars(range(min = 1, max = 100_000))]
    max_files: Option<u64>,
    #[schemars(range(min = 1))]
    max_file_bytes: Option<u64>,
    #[schemars(range(min = 1))]
    max_total_bytes: Option<u64>,
}
