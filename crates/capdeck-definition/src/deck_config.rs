//! The host options of a deck, merged from its config files.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    CallPolicy, Exposure, Glob, ServeConfig, SourceLayer, pattern,
    shape::config_file::ConfigOptions,
};

/// The options of a deck. A later config file overrides single options of an earlier one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeckConfig {
    /// Search results returned when no limit is asked for.
    pub default_search_limit: u32,
    /// The largest number of search results that may be asked for.
    pub max_search_limit: u32,
    /// How capabilities are offered when they do not say. `None` means the host's default.
    pub exposure: Option<Exposure>,
    /// How long a listing waits for tools that are not known yet.
    pub exposure_discovery_timeout_ms: u64,
    /// How long a search waits for tools that are not known yet.
    pub search_discovery_timeout_ms: u64,
    /// How many capabilities are asked for their tools at once.
    pub exposure_discovery_concurrency: u32,
    /// How long a start may take, for servers that do not say. `None` means as long as their command needs.
    pub startup_timeout_ms: Option<u64>,
    /// The most tokens the standing tool list may cost. `None` means the host's default.
    pub surface_tokens: Option<u32>,
    /// The most bytes of a result that a client of the deck is sent. `None` means the host's default.
    pub result_bytes: Option<u64>,
    /// How long large results are kept, from the user's own config only.
    pub artifacts: ArtifactConfig,
    /// What is kept of runs of code mode.
    pub runs: RunConfig,
    /// What happens when a script carries data from one capability into a changing call of another.
    pub flow: FlowMode,
    /// The minimum of `flow` that a project demands; nothing lowers it.
    pub least_flow: FlowMode,
    /// True when results teach what tools answer.
    pub observed_shapes: bool,
    /// Which calls run, which are asked about and which do not exist for a client.
    pub policy: CallPolicy,
    /// How closely definitions are watched where a capability does not say.
    pub pins: PinMode,
    /// The minimum that a project demands; nothing lowers it.
    pub least_pins: PinMode,
    /// Whether calls run that cannot be audited.
    pub audit: CallAuditMode,
    /// The minimum that a project demands; nothing lowers it.
    pub least_audit: CallAuditMode,
    /// Parts of the deck by name.
    pub views: BTreeMap<String, ViewConfig>,
    /// Labels for decks that share an id.
    pub namespace_aliases: NamespaceAliases,
    /// Where the HTTP host listens, from the user's own config only.
    pub serve: ServeConfig,
}

/// `artifacts`: how long large results are limits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "ArtifactFields")]
pub struct ArtifactConfig {
    /// Older ones are removed.
    #[schemars(range(min = 1, max = 3650))]
    pub max_age_days: Option<u32>,
    /// The oldest are removed until the rest fits.
    #[schemars(range(min = 1, max = 1_048_576))]
    pub max_megabytes: Option<u32>,
}

/// `runs`: what is kept of runs of code mode. `None` means the host's default.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "RunFields", description = "`runs`: what is kept of runs of code mode.")]
pub struct RunConfig {
    /// False to record no run. Runs then cannot be paused, resumed or replayed.
    pub record: Option<bool>,
    /// Older ones are removed. Read from the user's own config only.
    #[schemars(range(min = 1, max = 3650))]
    pub max_age_days: Option<u32>,
    /// The oldest are removed until no more than this are left. Read from the user's own config only.
    #[schemars(range(min = 1, max = 100_000))]
    pub max_runs: Option<u32>,
    /// The oldest are removed until the rest fits. Read from the user's own config only.
    #[schemars(range(min = 1, max = 1_048_576))]
    pub max_megabytes: Option<u32>,
}

/// How closely data is followed from call to call. The later, the stricter.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FlowMode {
    /// Nothing is followed.
    #[default]
    Off,
    /// Such a call runs and is reported.
    Warn,
    /// Such a call requires approval.
    Ask,
}

/// How closely definitions are watched. The later, the stricter.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PinMode {
    /// Nothing is recorded or compared.
    Off,
    /// Changes are shown; calls go on.
    #[default]
    Warn,
    /// A changed, new or deceptive tool is held until a person approves it.
    Block,
}

/// Whether calls run while the audit trail cannot be written. The later, the stricter.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CallAuditMode {
    /// They run, and their lines are written when the trail can be written again.
    #[default]
    Lenient,
    /// They are refused.
    Strict,
}

/// What a view has. It has nothing that is not named here.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ViewConfig {
    /// What it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whole capabilities, with their resources and prompts; `*` and `?` are wildcards.
    #[serde(default)]
    pub capabilities: Vec<Glob>,
    /// Single tools as `capability.tool`; `*` and `?` are wildcards.
    #[serde(default)]
    pub tools: Vec<Glob>,
}

/// Labels that tell apart capabilities of the same id when several decks are attached.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NamespaceAliases {
    /// The label of this deck.
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

impl Default for DeckConfig {
    fn default() -> Self {
        Self {
            default_search_limit: 20,
            max_search_limit: 50,
            exposure: None,
            exposure_discovery_timeout_ms: 15_000,
            search_discovery_timeout_ms: 2_000,
            exposure_discovery_concurrency: 4,
            startup_timeout_ms: None,
            surface_tokens: None,
            result_bytes: None,
            artifacts: ArtifactConfig::default(),
            runs: RunConfig::default(),
            flow: FlowMode::Off,
            least_flow: FlowMode::Off,
            observed_shapes: true,
            policy: CallPolicy::default(),
            pins: PinMode::default(),
            least_pins: PinMode::Off,
            audit: CallAuditMode::default(),
            least_audit: CallAuditMode::default(),
            views: BTreeMap::new(),
            namespace_aliases: NamespaceAliases::default(),
            serve: ServeConfig::default(),
        }
    }
}

impl DeckConfig {
    /// How closely data is followed from call to call.
    pub fn flow_mode(&self) -> FlowMode {
        self.flow.max(self.least_flow)
    }

    /// Whether calls run that cannot be audited.
    pub fn audit_mode(&self) -> CallAuditMode {
        self.audit.max(self.least_audit)
    }

    /// Lays one config file over what is known so far.
    pub(crate) fn apply(&mut self, file: &ConfigOptions, layer: SourceLayer) {
        self.max_search_limit = file.max_search_limit.unwrap_or(self.max_search_limit);
        self.default_search_limit = file.default_search_limit.unwrap_or(self.default_search_limit);
        // Two files may each be right and disagree together; the ceiling then holds.
        self.default_search_limit = self.default_search_limit.min(self.max_search_limit);
        if let Some(options) = &file.options {
            self.exposure = options.exposure.or(self.exposure);
            self.surface_tokens = options.surface_tokens.or(self.surface_tokens);
            self.result_bytes = options.result_bytes.or(self.result_bytes);
            let timeout = options.exposure_discovery_timeout_ms;
            self.exposure_discovery_timeout_ms =
                timeout.unwrap_or(self.exposure_discovery_timeout_ms);
            let timeout = options.search_discovery_timeout_ms;
            self.search_discovery_timeout_ms = timeout.unwrap_or(self.search_discovery_timeout_ms);
            self.startup_timeout_ms = options.startup_timeout_ms.or(self.startup_timeout_ms);
            let concurrency = options.exposure_discovery_concurrency;
            self.exposure_discovery_concurrency =
                concurrency.unwrap_or(self.exposure_discovery_concurrency);
        }
        // Any file may switch this off: the project and the user each protect their own answers.
        self.observed_shapes &= file.observed_shapes.unwrap_or(true);
        self.policy.is_incomplete |= file.policy_is_incomplete;
        // A project may ask for more care, never for less.
        if layer.needs_trust() {
            self.policy.add_project(&file.rules);
            self.least_pins = self.least_pins.max(file.pins.unwrap_or(PinMode::Off));
            self.least_flow = self.least_flow.max(file.flow.unwrap_or(FlowMode::Off));
            self.least_audit = self.least_audit.max(file.audit.unwrap_or_default());
        } else {
            self.policy.add_user(&file.rules);
            self.pins = file.pins.unwrap_or(self.pins);
            self.flow = file.flow.unwrap_or(self.flow);
            self.audit = file.audit.unwrap_or(self.audit);
        }
        for (name, view) in &file.views {
            // A project must not widen a view of the person's.
            let is_taken = layer.needs_trust() && self.views.contains_key(name);
            if !is_taken {
                self.views.insert(name.clone(), view.clone());
            }
        }
        if let Some(aliases) = &file.namespace_aliases {
            let merged = &mut self.namespace_aliases;
            merged.local = aliases.local.clone().or(merged.local.take());
            merged.upstreams.extend(aliases.upstreams.clone());
        }
        if let Some(runs) = &file.runs {
            // Any file may switch recording off.
            let is_off = [self.runs.record, runs.record].contains(&Some(false));
            self.runs.record = is_off.then_some(false);
            if !layer.needs_trust() {
                self.runs.max_age_days = runs.max_age_days.or(self.runs.max_age_days);
                self.runs.max_runs = runs.max_runs.or(self.runs.max_runs);
                self.runs.max_megabytes = runs.max_megabytes.or(self.runs.max_megabytes);
            }
        }
        // A project must not decide what of other projects stays.
        if let (Some(artifacts), false) = (&file.artifacts, layer.needs_trust()) {
            let limits = &mut self.artifacts;
            limits.max_age_days = artifacts.max_age_days.or(limits.max_age_days);
            limits.max_megabytes = artifacts.max_megabytes.or(limits.max_megabytes);
        }
        // A project must not decide where this machine listens.
        if let (Some(serve), false) = (&file.serve, layer.needs_trust()) {
            self.serve.apply(&serve.config);
        }
    }
}
