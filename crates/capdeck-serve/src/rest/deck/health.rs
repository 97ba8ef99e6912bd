//! The token cost and the health of the deck.

use capdeck_host::{
    BudgetItem, HealthStatus, ItemStatus, View, budget_items, estimate_tokens, list_items,
};
use schemars::JsonSchema;
use serde::Serialize;

use super::capabilities::DiscoveryFailure;
use crate::rest::{ApiResult, RequiredAccess, RestCall, RestOperation, get};

pub(super) fn operations() -> Vec<RestOperation> {
    vec![
        get("/v1/deck/budget", "getBudget", "Get the token cost of each capability")
            .about("Upper bounds, calibrated against o200k; `capdeck budget` counts exactly. Uses cached tool lists; connects to nothing.")
            .who(RequiredAccess::Deck)
            .handled_by(budget),
        get("/v1/deck/health", "getDeckHealth", "Get the health of the capabilities")
            .about("From the last known state; connects to nothing. `degraded` when a capability is quarantined or its last call failed.")
            .handled_by(health),
    ]
}

/// The token cost of the deck.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Budget")]
struct DeckBudget {
    items: Vec<BudgetItem>,
    /// The cost of the tool list in the current exposures.
    total: usize,
    /// The limit in the configuration.
    limit: Option<u32>,
    /// How tokens are counted: `bound` is an upper bound.
    counting: &'static str,
}

async fn budget(call: RestCall) -> ApiResult<DeckBudget> {
    let catalog = call.catalog();
    let items = budget_items(&catalog, &count_tokens);
    let total = count_tokens(&call.session().view());
    let limit = catalog.config().surface_tokens;
    Ok(DeckBudget { items, total, limit, counting: "bound" })
}

pub(in crate::rest) fn count_tokens(view: &View) -> usize {
    match view.tools().get() {
        "[]" => 0,
        listed => estimate_tokens(listed),
    }
}

/// The health of the deck.
#[derive(Debug, Serialize, JsonSchema)]
struct DeckHealth {
    /// `ok` or `degraded`.
    status: &'static str,
    capabilities: Vec<CapabilityHealth>,
}

/// The health of one capability.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct CapabilityHealth {
    id: String,
    status: ItemStatus,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// The last known health.
    health: HealthStatus,
    /// The last failure, if no call has succeeded since.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_failure: Option<DiscoveryFailure>,
}

async fn health(call: RestCall) -> ApiResult<DeckHealth> {
    let host = &call.rest.host;
    let capabilities: Vec<CapabilityHealth> = list_items(host, &call.catalog())
        .into_iter()
        .map(|item| CapabilityHealth {
            last_failure: DiscoveryFailure::of(&item.health),
            id: item.id,
            status: item.status,
            reason: item.reason,
            health: item.health,
        })
        .collect();
    let is_bad = |one: &CapabilityHealth| {
        matches!(one.status, ItemStatus::Quarantined | ItemStatus::Stale)
            || one.last_failure.is_some()
    };
    let status = if capabilities.iter().any(is_bad) { "degraded" } else { "ok" };
    Ok(DeckHealth { status, capabilities })
}
