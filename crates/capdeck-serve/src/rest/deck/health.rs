//! The health of the deck.

use capdeck_host::{Health, ItemStatus, list_items};
use schemars::JsonSchema;
use serde::Serialize;

use super::capabilities::Failure;
use crate::rest::{
    call::Call,
    input::{NoBody, NoQuery},
    operation::{Operation, get},
    problem::ApiError,
    reply::Reply,
};

pub(super) fn operations() -> Vec<Operation> {
    vec![
        get("/v1/deck/health", "getDeckHealth", "Get the health of the capabilities")
            .about("From the last known state; connects to nothing. `degraded` when a capability is quarantined or its last call failed.")
            .done_by(health),
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
    health: Health,
    /// The last failure, if no call has succeeded since.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_failure: Option<Failure>,
}

async fn health(call: Call, _: NoQuery, _: NoBody) -> Result<Reply<DeckHealth>, ApiError> {
    let host = &call.rest.host;
    let capabilities: Vec<CapabilityHealth> = list_items(host, &call.catalog())
        .into_iter()
        .map(|item| CapabilityHealth {
            last_failure: Failure::of(&item.health),
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
    Ok(Reply::new(DeckHealth { status, capabilities }))
}
