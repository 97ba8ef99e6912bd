//! The health of the deck.

use capdeck_host::{HealthStatus, ItemStatus, list_items};
use schemars::JsonSchema;
use serde::Serialize;

use super::capabilities::DiscoveryFailure;
use crate::rest::{
    call::RestCall,
    input::{NoBody, NoQuery},
    operation::{RestOperation, get},
    problem::ApiError,
    response::RestResponse,
};

pub(super) fn operations() -> Vec<RestOperation> {
    vec![
        get("/v1/deck/health", "getDeckHealth", "Get the health of the capabilities")
            .about("From the last known state; connects to nothing. `degraded` when a capability is quarantined or its last call failed.")
            .handled_by(health),
    ]
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

async fn health(
    call: RestCall,
    _: NoQuery,
    _: NoBody,
) -> Result<RestResponse<DeckHealth>, ApiError> {
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
    Ok(RestResponse::new(DeckHealth { status, capabilities }))
}
