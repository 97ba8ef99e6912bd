//! How each capability does, as far as this machine knows: one model for every listing, page and message.
//!
//! It is made from what the catalog says (hidden, disabled), from what is being connected now (starting) and from the
//! outcomes of calls and listings, which are kept across processes ([`HealthStore`]).

mod store;

use capdeck_backend::{CallError, ErrorKind};
use capdeck_catalog::{Capability, HiddenReason, Status};
use capdeck_definition::Definition;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) use store::{HealthRecords, HealthStore};

use crate::Host;

/// How a capability does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "state", rename_all = "lowercase", rename_all_fields = "camelCase")]
pub enum Health {
    /// Nothing was asked of it since its definition last changed.
    Unchecked,
    /// It answered.
    Ok {
        /// When it last answered.
        at: Timestamp,
    },
    /// It failed, and nothing succeeded since.
    Failing {
        /// When it began to fail.
        since: Timestamp,
        /// When it last failed.
        last_at: Timestamp,
        /// How often it failed in a row.
        times: u32,
        /// Why it last failed.
        reason: String,
    },
    /// It is being asked for the first time.
    Starting,
    /// It cannot be used as things are.
    Hidden { reason: String },
    /// Its file says so.
    Disabled,
}

/// What went wrong last, and when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastFailure {
    pub at: Timestamp,
    pub message: String,
}

impl Health {
    /// The state in one word.
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

    /// The failure in one sentence, if it fails: `failing since 2026-01-02 03:04:05 UTC (3 times): no such file`.
    pub fn failure(&self) -> Option<String> {
        let Self::Failing { since, times, reason, .. } = self else { return None };
        let times = if *times == 1 { "once".to_owned() } else { format!("{times} times") };
        Some(format!("failing since {} ({times}): {reason}", moment(*since)))
    }
}

/// A time as people read it.
fn moment(at: Timestamp) -> impl std::fmt::Display {
    at.strftime("%Y-%m-%d %H:%M:%S UTC")
}

impl Host {
    /// How a capability does.
    pub fn health(&self, capability: &Capability) -> Health {
        self.health_among(&self.0.health.records(), capability)
    }

    /// The same, from records that were read for a whole list.
    pub(crate) fn health_among(&self, records: &HealthRecords, capability: &Capability) -> Health {
        let definition = &capability.definition;
        let hidden = |reason: &str| Health::Hidden { reason: reason.to_owned() };
        match &capability.status {
            Status::Disabled => return Health::Disabled,
            Status::Hidden { reason: HiddenReason::SetupRequired } => {
                return hidden("its set-up has not been run");
            }
            Status::Hidden { reason: HiddenReason::ProjectMissing } => {
                return hidden("it works only inside a project, and there is none here");
            }
            Status::Untrusted { reason } => return hidden(reason),
            Status::Ready | Status::Stale { .. } => {}
        }
        match records.health(definition) {
            Health::Unchecked
                if capability.discovery.is_none()
                    && self.0.discoveries.is_being_asked(&definition.id) =>
            {
                Health::Starting
            }
            known => known,
        }
    }

    /// Why the last call or start of this capability failed, if nothing succeeded since.
    pub fn last_failure(&self, id: &str) -> Option<LastFailure> {
        let catalog = self.catalog();
        let capability = catalog.get(id)?;
        match self.0.health.records().health(&capability.definition) {
            Health::Failing { last_at, reason, .. } => {
                Some(LastFailure { at: last_at, message: reason })
            }
            _ => None,
        }
    }

    /// Remembers how a call or a listing ended.
    pub(crate) fn note_outcome(&self, definition: &Definition, error: Option<&CallError>) {
        match error {
            None => self.0.health.note(definition, None),
            // What the caller did wrong, gave up, or what the host itself ended says nothing about the capability.
            Some(error)
                if error.host_stopped
                    || matches!(error.kind(), ErrorKind::BadInput | ErrorKind::Cancelled) => {}
            Some(error) => self.0.health.note(definition, Some(error.to_string())),
        }
    }
}
