//! The shapes of the files, exactly as written: what serde reads and what the published schemas describe.

pub(crate) mod caplet_file;
pub(crate) mod cmp_files;
pub(crate) mod config_file;
pub(crate) mod serve_fields;

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{
    Backend, BackendAuth, Exposure, PinMode, RuntimeRequirements, SetupCommands, ShadowingMode,
};

/// The plural maps of backends, as keys of a file.
pub(crate) const PLURAL_KEYS: [&str; 7] = [
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
    pub(crate) fields: F,
    #[serde(flatten)]
    pub(crate) backend: B,
}

/// A map of children or entries, by id.
pub(crate) type DeclaredMap<F, B> = IndexMap<String, DeclaredBlock<F, B>>;

/// What every backend block may carry.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct BlockFields {
    /// When true, the capability is left out of discovery.
    #[serde(default)]
    pub(crate) disabled: bool,
    #[serde(default)]
    pub(crate) project_binding: Option<ProjectBinding>,
    #[serde(default)]
    pub(crate) runtime: Option<RuntimeRequirements>,
}

/// What the child of a plural file may carry: everything, and all of it optional.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ChildFields {
    #[serde(default)]
    #[schemars(length(min = 1, max = 80))]
    pub(crate) name: Option<String>,
    #[serde(default)]
    #[schemars(length(min = 10, max = 1500))]
    pub(crate) description: Option<String>,
    #[serde(flatten)]
    pub(crate) presentation: PresentationFields,
    #[serde(flatten)]
    pub(crate) block: BlockFields,
}

/// What an entry of a config file carries.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EntryFields {
    #[schemars(length(min = 1, max = 80))]
    pub(crate) name: String,
    #[schemars(length(min = 10, max = 1500))]
    pub(crate) description: String,
    #[serde(flatten)]
    pub(crate) presentation: PresentationFields,
    #[serde(flatten)]
    pub(crate) block: BlockFields,
}

/// How a capability is presented and prepared, wherever it is declared.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Presentation")]
pub(crate) struct PresentationFields {
    /// Tags for grouping and searching.
    #[serde(default)]
    #[schemars(inner(length(min = 1, max = 80)))]
    pub(crate) tags: Vec<String>,
    /// How the capability is offered to agents.
    #[serde(default)]
    pub(crate) exposure: Option<Exposure>,
    /// Whether an attached local deck may replace this capability.
    #[serde(default)]
    pub(crate) shadowing: Option<ShadowingMode>,
    /// What happens when a server changes a tool's definition; the deck's own choice when left out.
    #[serde(default)]
    pub(crate) pins: Option<PinMode>,
    /// When agents should prefer this capability.
    #[serde(default)]
    pub(crate) use_when: Option<String>,
    /// When agents should avoid this capability.
    #[serde(default)]
    pub(crate) avoid_when: Option<String>,
    /// Commands that prepare and verify the machine, run only when a person asks.
    #[serde(default)]
    pub(crate) setup: Option<SetupCommands>,
}

/// Whether the capability only makes sense inside a project.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ProjectBinding {
    pub(crate) required: bool,
}

impl<F, B: Into<Backend>> DeclaredBlock<F, B> {
    /// Forgets which kind of backend this is at compile time.
    pub(crate) fn erase(self) -> DeclaredBlock<F, Backend> {
        DeclaredBlock { fields: self.fields, backend: self.backend.into() }
    }
}

impl Backend {
    /// Gives the backend the sign-in of the file it stands in, for the kinds that have one.
    pub(crate) fn set_auth(&mut self, inherited: &BackendAuth) {
        match self {
            Self::Mcp(server) => server.auth = Some(inherited.clone()),
            Self::OpenApi(api) => api.requests.auth = inherited.clone(),
            Self::GoogleDiscovery(api) => api.requests.auth = inherited.clone(),
            Self::GraphQl(api) => api.requests.auth = inherited.clone(),
            Self::Http(api) => api.requests.auth = inherited.clone(),
            Self::Cli(_) | Self::Cmp(_) | Self::Caplets(_) | Self::Capsules => {}
        }
    }
}
