//! The health of each capability, from the catalog, from connections in progress and from the
//! outcomes of calls and listings, which [`HealthStore`] stores across processes.

mod store;

use capdeck_catalog::{Capability, CapabilityStatus, HiddenReason};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) use store::{HealthRecords, HealthStore};

use crate::Host;

/// The health of a capability.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "state", rename_all = "lowercase", rename_all_fields = "camelCase")]
#[schemars(rename = "Health")]
pub enum HealthStatus {
    /// Not used since its definition last changed.
    Unchecked,
    /// The last request succeeded.
    Ok { at: Timestamp },
    /// The last request failed.
    Failing {
        /// Time of the first failure in a row.
        since: Timestamp,
        /// Time of the last failure.
        last_at: Timestamp,
        /// Number of failures in a row.
        times: u32,
        /// The last error.
        reason: String,
    },
    /// The first connection is in progress.
    Starting,
    /// It cannot be used.
    Hidden { reason: String },
    /// Its file disables it.
    Disabled,
}

/// The last failure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastFailure {
    pub at: Timestamp,
    pub message: String,
}

impl HealthStatus {
    /// The name of the state.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Unchecked => "unchecked",
            Self::Ok { .. } => "ok",
            Self::Failing { .. } => "failing",
            Self::Starting => "starting",
            Self::Hidden { .. } => "hidden",
            Self::Disabled => "disabled",
        }
    }

    /// The failure in one sentence: `failing since 2026-01-02 03:04:05 UTC (3 times): no such
    /// file`.
    pub fn failure(&self) -> Option<String> {
        let Self::Failing { since, times, reason, .. } = self else { return None };
        let times = if *times == 1 { "once".to_owned() } else { format!("{times} times") };
        Some(format!("failing since {} ({times}): {reason}", moment(*since)))
    }
}

fn moment(at: Timestamp) -> impl std::fmt::Display {
    at.strftime("%Y-%m-%d %H:%M:%S UTC")
}

impl Host {
    /// Returns the health of a capability.
    pub fn health(&self, capability: &Capability) -> HealthStatus {
        health_among(self, &self.0.health.records(), capability)
    }

    /// Returns the last failure of this capability, unless a request succeeded since.
    pub fn last_failure(&self, id: &str) -> Option<LastFailure> {
        let catalog = self.catalog();
        let capability = catalog.get(id)?;
        match self.0.health.records().health(&capability.definition) {
            HealthStatus::Failing { last_at, reason, .. } => {
                Some(LastFailure { at: last_at, message: reason })
            }
            _ => None,
        }
    }
}

pub(crate) fn health_among(
    host: &Host,
    records: &HealthRecords,
    capability: &Capability,
) -> HealthStatus {
    let definition = &capability.definition;
    let hidden = |reason: &str| HealthStatus::Hidden { reason: reason.to_owned() };
    match &capability.status {
        CapabilityStatus::Disabled => return HealthStatus::Disabled,
        CapabilityStatus::Hidden { reason: HiddenReason::SetupRequired } => {
            return hidden("its set-up has not been run");
        }
        CapabilityStatus::Hidden { reason: HiddenReason::ProjectMissing } => {
            return hidden("it works only inside a project, and there is none here");
        }
        CapabilityStatus::Untrusted { reason } => return hidden(reason),
        CapabilityStatus::Ready | CapabilityStatus::Stale { .. } => {}
    }
    match records.health(definition) {
        HealthStatus::Unchecked
            if capability.discovery.is_none()
                && host.0.discoveries.is_being_asked(&definition.id) =>
        {
            HealthStatus::Starting
        }
        known => known,
    }
}
