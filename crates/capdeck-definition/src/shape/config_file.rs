//! `config.json` and `config.yaml`.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{DeclaredBlock, DeclaredMap, EntryFields, serve_fields::ServeFields};
use crate::{
    Backend, CapletSet, CliTools, Exposure, FlowMode, GoogleDiscoveryApi, GraphQlEndpoint, HttpApi,
    McpServer, OpenApiEndpoint, PinMode, ViewConfig,
    definition::id_pattern,
    pattern,
    policy::{PolicyEffect, PolicyRule, RuleCondition},
};

/// Deck configuration: host options and capabilities by id.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(title = "Deck configuration")]
pub(crate) struct ConfigFile {
    /// A schema for editors; ignored.
    #[serde(default, rename = "$schema")]
    #[expect(dead_code, reason = "accepted for editors, used by nothing")]
    schema: Option<String>,
    /// Version of this format.
    #[serde(default)]
    #[schemars(extend("const" = 1))]
    #[expect(dead_code, reason = "there is one version, and the schema checks it")]
    version: Option<u64>,
    /// Search results returned when no limit is asked for.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub(crate) default_search_limit: Option<u32>,
    /// The largest number of search results that may be asked for.
    #[serde(default)]
    #[schemars(range(min = 1, max = 50))]
    pub(crate) max_search_limit: Option<u32>,
    /// Accepted for existing files. There is no telemetry to switch.
    #[serde(default)]
    #[expect(dead_code, reason = "accepted for existing files, used by nothing")]
    telemetry: Option<bool>,
    /// Accepted for existing files. State is kept in plain files.
    #[serde(default)]
    #[expect(dead_code, reason = "accepted for existing files, used by nothing")]
    storage: Option<StorageFields>,
    /// Defaults of the HTTP host. Read from the user's own config only.
    #[serde(default)]
    pub(crate) serve: Option<ServeFields>,
    /// Accepted for existing files.
    #[serde(default)]
    #[expect(dead_code, reason = "accepted for existing files, used by nothing")]
    completion: Option<CompletionFields>,
    /// How capabilities are offered.
    #[serde(default)]
    pub(crate) options: Option<HostOptions>,
    /// Which calls run, which a person is asked about and which do not exist for a client. The first rule that fits decides.
    #[serde(default)]
    pub(crate) policy: Option<Vec<RuleFields>>,
    /// The rules of `policy`, once they are checked.
    #[serde(skip)]
    pub(crate) rules: Vec<PolicyRule>,
    /// True when one of the rules could not be read.
    #[serde(skip)]
    pub(crate) policy_is_incomplete: bool,
    /// What happens when a server changes a tool's definition after it was first seen.
    #[serde(default)]
    pub(crate) pins: Option<PinMode>,
    /// What happens when a script carries data from one capability into a changing call of another.
    #[serde(default)]
    pub(crate) flow: Option<FlowMode>,
    /// Which runs of code mode are recorded, and how long.
    #[serde(default)]
    pub(crate) runs: Option<RunFields>,
    /// How long large results are kept. Read from the user's own config only.
    #[serde(default)]
    pub(crate) artifacts: Option<ArtifactFields>,
    /// False to learn nothing from results about what tools answer.
    #[serde(default)]
    pub(crate) observed_shapes: Option<bool>,
    /// Labels for decks that share an id.
    #[serde(default)]
    pub(crate) namespace_aliases: Option<NamespaceAliases>,
    /// Parts of the deck by name, each served on its own at `/views/<name>/mcp`.
    #[serde(default)]
    #[schemars(extend("propertyNames" = id_pattern()))]
    pub(crate) views: IndexMap<String, ViewConfig>,
    /// MCP servers by id.
    #[serde(default)]
    #[schemars(extend("propertyNames" = id_pattern()))]
    mcp_servers: DeclaredMap<EntryFields, McpServer>,
    /// OpenAPI APIs by id.
    #[serde(default)]
    #[schemars(extend("propertyNames" = id_pattern()))]
    openapi_endpoints: DeclaredMap<EntryFields, OpenApiEndpoint>,
    /// Google Discovery APIs by id.
    #[serde(default)]
    #[schemars(extend("propertyNames" = id_pattern()))]
    google_discovery_apis: DeclaredMap<EntryFields, GoogleDiscoveryApi>,
    /// GraphQL endpoints by id.
    #[serde(default)]
    #[schemars(extend("propertyNames" = id_pattern()))]
    graphql_endpoints: DeclaredMap<EntryFields, GraphQlEndpoint>,
    /// HTTP APIs by id.
    #[serde(default)]
    #[schemars(extend("propertyNames" = id_pattern()))]
    http_apis: DeclaredMap<EntryFields, HttpApi>,
    /// Groups of command-line actions by id.
    #[serde(default)]
    #[schemars(extend("propertyNames" = id_pattern()))]
    cli_tools: DeclaredMap<EntryFields, CliTools>,
    /// Nested collections by id.
    #[serde(default)]
    #[schemars(extend("propertyNames" = id_pattern()))]
    caplet_sets: DeclaredMap<EntryFields, CapletSet>,
}

/// `options`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct HostOptions {
    /// How capabilities are offered when they do not say.
    #[serde(default)]
    pub(crate) exposure: Option<Exposure>,
    /// How long a listing waits for tools that are not known yet.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub(crate) exposure_discovery_timeout_ms: Option<u64>,
    /// How many capabilities are asked for their tools at once.
    #[serde(default)]
    #[schemars(range(min = 1, max = 32))]
    pub(crate) exposure_discovery_concurrency: Option<u32>,
    /// The most tokens the standing tool list may cost an agent.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub(crate) surface_tokens: Option<u32>,
    /// The most bytes of a result that an agent is sent; the rest is kept and can be read on.
    #[serde(default)]
    #[schemars(range(min = 1024))]
    pub(crate) result_bytes: Option<u64>,
}

/// `artifacts`: how long large results are kept.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ArtifactFields {
    /// Older ones are removed.
    #[serde(default)]
    #[schemars(range(min = 1, max = 3650))]
    pub(crate) max_age_days: Option<u32>,
    /// The oldest are removed until the rest fits.
    #[serde(default)]
    #[schemars(range(min = 1, max = 1_048_576))]
    pub(crate) max_megabytes: Option<u32>,
}

/// `runs`: what is kept of runs of code mode.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct RunFields {
    /// False to record no run. Runs then cannot be paused, resumed or replayed.
    #[serde(default)]
    pub(crate) record: Option<bool>,
    /// Older ones are removed. Read from the user's own config only.
    #[serde(default)]
    #[schemars(range(min = 1, max = 3650))]
    pub(crate) max_age_days: Option<u32>,
    /// The oldest are removed until no more than this are left. Read from the user's own config only.
    #[serde(default)]
    #[schemars(range(min = 1, max = 100_000))]
    pub(crate) max_runs: Option<u32>,
    /// The oldest are removed until the rest fits. Read from the user's own config only.
    #[serde(default)]
    #[schemars(range(min = 1, max = 1_048_576))]
    pub(crate) max_megabytes: Option<u32>,
}

/// One rule of `policy`: exactly one of its keys.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct RuleFields {
    /// These calls run.
    #[serde(default)]
    pub(crate) allow: Option<RuleCondition>,
    /// A person is asked before these calls run.
    #[serde(default)]
    pub(crate) ask: Option<RuleCondition>,
    /// These tools do not exist for the client.
    #[serde(default)]
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

/// Labels that tell apart capabilities of the same id when several decks are attached.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NamespaceAliases {
    /// The label of this deck.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = pattern::LABEL))]
    pub local: Option<String>,
    /// Labels of other hosts, by origin.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    #[schemars(extend(
        "propertyNames" = { "minLength": 1 },
        "additionalProperties" = { "type": "string", "pattern": pattern::LABEL },
    ))]
    pub upstreams: IndexMap<String, String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(dead_code, reason = "accepted for existing files, used by nothing")]
#[schemars(rename = "Completion")]
struct CompletionFields {
    #[serde(default)]
    #[schemars(range(min = 1))]
    discovery_timeout_ms: Option<u64>,
    #[serde(default)]
    #[schemars(range(min = 1))]
    overall_timeout_ms: Option<u64>,
    #[serde(default)]
    cache_ttl_ms: Option<u64>,
    #[serde(default)]
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
        #[serde(default)]
        #[schemars(length(min = 1))]
        path: Option<String>,
        #[serde(default)]
        assets: Option<AssetFields>,
        #[serde(default)]
        bundle_limits: Option<BundleLimits>,
    },
    Postgres {
        #[schemars(length(min = 1))]
        connection_string: String,
        #[serde(default)]
        #[schemars(regex(pattern = pattern::DATABASE_SCHEMA))]
        schema: Option<String>,
        #[serde(default)]
        assets: Option<AssetFields>,
        #[serde(default)]
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
        #[serde(default)]
        endpoint: Option<String>,
        #[schemars(length(min = 1))]
        region: String,
        #[schemars(length(min = 1))]
        bucket: String,
        #[serde(default)]
        prefix: Option<String>,
        #[serde(default)]
        force_path_style: Option<bool>,
        #[serde(default)]
        #[schemars(length(min = 1))]
        access_key_id: Option<String>,
        #[serde(default)]
        #[schemars(length(min = 1))]
        secret_access_key: Option<String>,
    },
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(dead_code, reason = "accepted for existing files, used by nothing")]
struct BundleLimits {
    #[serde(default)]
    #[schemars(range(min = 1, max = 100_000))]
    max_files: Option<u64>,
    #[serde(default)]
    #[schemars(range(min = 1))]
    max_file_bytes: Option<u64>,
    #[serde(default)]
    #[schemars(range(min = 1))]
    max_total_bytes: Option<u64>,
}

/// An entry of one of the maps.
#[derive(Debug)]
pub(crate) struct EntryDraft {
    /// The map it stands in.
    pub(crate) key: &'static str,
    pub(crate) id: String,
    pub(crate) declared: DeclaredBlock<EntryFields, Backend>,
}

impl ConfigFile {
    /// Takes every entry of every map, in file order within each map.
    pub(crate) fn take_entries(&mut self) -> Vec<EntryDraft> {
        let mut entries = Vec::new();
        collect(&mut entries, "mcpServers", std::mem::take(&mut self.mcp_servers));
        collect(&mut entries, "openapiEndpoints", std::mem::take(&mut self.openapi_endpoints));
        collect(
            &mut entries,
            "googleDiscoveryApis",
            std::mem::take(&mut self.google_discovery_apis),
        );
        collect(&mut entries, "graphqlEndpoints", std::mem::take(&mut self.graphql_endpoints));
        collect(&mut entries, "httpApis", std::mem::take(&mut self.http_apis));
        collect(&mut entries, "cliTools", std::mem::take(&mut self.cli_tools));
        collect(&mut entries, "capletSets", std::mem::take(&mut self.caplet_sets));
        entries
    }
}

fn collect<B: Into<Backend>>(
    entries: &mut Vec<EntryDraft>,
    key: &'static str,
    map: DeclaredMap<EntryFields, B>,
) {
    entries.extend(map.into_iter().map(|(id, entry)| EntryDraft {
        key,
        id,
        declared: entry.erase(),
    }));
}
