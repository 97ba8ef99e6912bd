//! One line of a listing per capability, usable or not.

use capdeck_catalog::{Capability, CapabilityStatus, Catalog, HiddenReason, import_problems};
use capdeck_definition::{
    Backend, BackendKind, ChaosConfig, DefinitionSource, Exposure, QuarantinedItem,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{HealthStatus, Host, direct_tokens, health::health_among};

/// One line of a listing. The names and their order are a public shape.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListItem {
    pub id: String,
    pub name: String,
    pub description: String,
    pub tags: Vec<String>,
    /// `None` when the file has no readable backend.
    pub backend: Option<BackendKind>,
    pub exposure: Option<Exposure>,
    pub status: ItemStatus,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Its last known health.
    pub health: HealthStatus,
    /// What to do about it; for people only.
    #[serde(skip)]
    pub next_step: Option<String>,
    pub source: DefinitionSource,
    /// The definitions that it overrides.
    pub shadows: Vec<DefinitionSource>,
    /// Max cost of listing every tool; `None` while the tools are not known.
    pub tokens: Option<usize>,
    /// The number of tools; for people only.
    #[serde(skip)]
    pub tools: Option<usize>,
    /// The number of parts of its description that could not be imported.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub import_problems: usize,
    /// The faults that are injected on purpose.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chaos: Option<String>,
}

/// Whether a capability can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ItemStatus {
    Ready,
    Stale,
    Hidden,
    Quarantined,
    Untrusted,
    Disabled,
}

/// Every capability and every broken entry, by id.
pub fn list_items(host: &Host, catalog: &Catalog) -> Vec<ListItem> {
    let records = host.0.health.records();
    let known = catalog.capabilities().chain(catalog.untrusted());
    let mut items: Vec<ListItem> = known
        .map(|capability| ListItem {
            import_problems: import_problems(catalog, capability).len(),
            ..ListItem::from_capability(capability, health_among(host, &records, capability))
        })
        .collect();
    // A stale entry replaces the broken file it came from.
    let is_stale = |entry: &QuarantinedItem| {
        catalog.get(&entry.id).is_some_and(|capability| {
            matches!(capability.status, CapabilityStatus::Stale { .. })
                && capability.definition.source.path == entry.source.path
        })
    };
    items.extend(
        catalog.quarantined().iter().filter(|entry| !is_stale(entry)).map(ListItem::broken),
    );
    items.sort_by(|one, other| one.id.cmp(&other.id));
    items
}

impl ListItem {
    pub fn from_capability(capability: &Capability, health: HealthStatus) -> Self {
        let definition = &capability.definition;
        let (status, reason, next_step) = state_of(capability);
        Self {
            id: definition.id.to_string(),
            name: definition.name.clone(),
            description: definition.description.trim().to_owned(),
            tags: definition.tags.clone(),
            backend: Some(definition.backend.kind()),
            exposure: Some(capability.exposure),
            status,
            reason,
            health,
            next_step,
            source: definition.source.clone(),
            shadows: capability.shadows.clone(),
            tokens: capability.discovery.as_ref().map(|_| direct_tokens(capability)),
            tools: capability.discovery.as_ref().map(|known| known.tools.len()),
            import_problems: capability.discovery.as_ref().map_or(0, |known| known.problems.len()),
            chaos: chaos_of(&definition.backend),
        }
    }

    fn broken(entry: &QuarantinedItem) -> Self {
        Self {
            id: entry.id.clone(),
            name: entry.id.clone(),
            description: String::new(),
            tags: Vec::new(),
            backend: None,
            exposure: None,
            status: ItemStatus::Quarantined,
            reason: Some(entry.reason.clone()),
            health: HealthStatus::Hidden { reason: entry.reason.clone() },
            next_step: Some(format!("capdeck validate {}", entry.source.path.display())),
            source: entry.source.clone(),
            shadows: Vec::new(),
            tokens: None,
            tools: None,
            import_problems: 0,
            chaos: None,
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

impl ListItem {
    /// The health of a usable capability, else its status, in one word.
    pub fn word(&self) -> &'static str {
        match self.status {
            ItemStatus::Ready => self.health.as_str(),
            status => status.as_str(),
        }
    }

    /// Why it cannot be used or does not work, and what to do, in one sentence.
    pub fn explanation(&self) -> Option<String> {
        let Some(reason) = self.reason.as_deref() else {
            let failure = self.health.failure()?;
            return Some(format!("{failure}; capdeck check {}", self.id));
        };
        Some(match &self.next_step {
            Some(next_step) => format!("{reason}; {next_step}"),
            None => reason.to_owned(),
        })
    }
}

impl ItemStatus {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::Stale => "stale",
            Self::Hidden => "hidden",
            Self::Quarantined => "quarantined",
            Self::Untrusted => "untrusted",
            Self::Disabled => "disabled",
        }
    }

    /// True for what a plain `list` shows; the rest needs `--all`.
    pub fn is_listed(self) -> bool {
        matches!(self, Self::Ready | Self::Stale | Self::Hidden)
    }
}

fn chaos_of(backend: &Backend) -> Option<String> {
    let Backend::Mcp(server) = backend else { return None };
    server.chaos.as_ref().map(ChaosConfig::summary)
}

pub(crate) fn state_of(capability: &Capability) -> (ItemStatus, Option<String>, Option<String>) {
    let definition = &capability.definition;
    let state = |status: ItemStatus, reason: &str, next_step: &str| {
        (status, Some(reason.to_owned()), Some(next_step.to_owned()))
    };
    match &capability.status {
        CapabilityStatus::Ready => (ItemStatus::Ready, None, None),
        CapabilityStatus::Stale { reason } => state(
            ItemStatus::Stale,
            &format!("the file no longer loads, and its last good form is in use: {reason}"),
            &format!("capdeck validate {}", definition.source.path.display()),
        ),
        CapabilityStatus::Hidden { reason: HiddenReason::SetupRequired } => state(
            ItemStatus::Hidden,
            "its set-up has not been run",
            &format!("capdeck setup {}", definition.id),
        ),
        CapabilityStatus::Hidden { reason: HiddenReason::ProjectMissing } => state(
            ItemStatus::Hidden,
            "it works only inside a project, and there is none here",
            "start capdeck in a project, or with --project DIR",
        ),
        CapabilityStatus::Untrusted { reason } => {
            state(ItemStatus::Untrusted, reason, "capdeck trust")
        }
        CapabilityStatus::Disabled => {
            (ItemStatus::Disabled, Some("its file says `disabled`".to_owned()), None)
        }
    }
}
