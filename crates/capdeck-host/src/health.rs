//! The health of each capability, from the catalog, from connections in progress and from the
//! outcomes of calls and listings, which [`HealthStore`] stores across processes.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::mpsc::Receiver,
};

use capdeck_backend::{CallError, ErrorCode, ErrorKind};
use capdeck_catalog::Capability;
use capdeck_definition::{CapabilityId, Definition};
use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Host, ItemStatus, durable, queue_worker::QueueWorker, report::state_of};

/// A success is written only if it is this much later than the one on disk.
const WRITE_INTERVAL: SignedDuration = SignedDuration::from_secs(60);

/// Outcomes that may wait for the disk; further ones are not written.
const MAX_PENDING_OUTCOMES: usize = 4096;

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
    /// The health of a capability.
    pub fn of(host: &Host, capability: &Capability) -> Self {
        health_among(host, &host.0.health.records(), capability)
    }

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

impl LastFailure {
    /// The last failure of a capability, unless a request succeeded since.
    pub fn of(host: &Host, id: &str) -> Option<Self> {
        let catalog = host.catalog();
        let capability = catalog.get(id)?;
        match host.0.health.records().health(&capability.definition) {
            HealthStatus::Failing { last_at, reason, .. } => {
                Some(Self { at: last_at, message: reason })
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
    match state_of(capability) {
        (ItemStatus::Disabled, ..) => return HealthStatus::Disabled,
        (ItemStatus::Hidden | ItemStatus::Untrusted, Some(reason), _) => {
            return HealthStatus::Hidden { reason };
        }
        _ => {}
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

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct HealthRecord {
    /// A record applies to this definition only.
    fingerprint: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ok_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    failing: Option<FailureRecord>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct FailureRecord {
    since: Timestamp,
    last_at: Timestamp,
    times: u32,
    reason: String,
}

#[derive(Debug, Clone)]
struct HealthOutcome {
    fingerprint: String,
    at: Timestamp,
    failure: Option<String>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct HealthRecords(BTreeMap<CapabilityId, HealthRecord>);

/// The outcomes of calls and listings: in memory for the hot path, on disk for other processes.
pub(crate) struct HealthStore {
    path: PathBuf,
    own: Mutex<LocalHealthRecords>,
    writer: QueueWorker<(CapabilityId, HealthOutcome)>,
}

struct LocalHealthRecords {
    records: HealthRecords,
    written: BTreeMap<CapabilityId, Timestamp>,
}

impl HealthRecord {
    fn add(&mut self, outcome: &HealthOutcome) {
        if self.fingerprint != outcome.fingerprint {
            *self = Self { fingerprint: outcome.fingerprint.clone(), ..Self::default() };
        }
        let Some(reason) = &outcome.failure else {
            self.ok_at = Some(outcome.at);
            self.failing = None;
            return;
        };
        let before = self.failing.take();
        self.failing = Some(FailureRecord {
            since: before.as_ref().map_or(outcome.at, |before| before.since),
            last_at: outcome.at,
            times: before.map_or(0, |before| before.times).saturating_add(1),
            reason: reason.clone(),
        });
    }

    fn last_at(&self) -> Option<Timestamp> {
        self.failing.as_ref().map(|failing| failing.last_at).max(self.ok_at)
    }

    fn health(&self) -> HealthStatus {
        match (&self.failing, self.ok_at) {
            (Some(FailureRecord { since, last_at, times, reason }), _) => HealthStatus::Failing {
                since: *since,
                last_at: *last_at,
                times: *times,
                reason: reason.clone(),
            },
            (None, Some(at)) => HealthStatus::Ok { at },
            (None, None) => HealthStatus::Unchecked,
        }
    }
}

impl HealthRecords {
    fn load(path: &Path) -> Self {
        durable::load_json(path).unwrap_or_else(|error| {
            tracing::debug!(%error, "the recorded health of capabilities could not be read");
            Self::default()
        })
    }

    fn add(&mut self, id: CapabilityId, outcome: &HealthOutcome) {
        self.0.entry(id).or_default().add(outcome);
    }

    pub(crate) fn health(&self, definition: &Definition) -> HealthStatus {
        let record = self.0.get(&definition.id);
        let record = record.filter(|record| record.fingerprint == definition.fingerprint);
        record.map_or(HealthStatus::Unchecked, HealthRecord::health)
    }
}

impl HealthStore {
    pub(crate) fn open(state_dir: &Path) -> Self {
        let path = state_dir.join("health.json");
        let own =
            LocalHealthRecords { records: HealthRecords::load(&path), written: BTreeMap::new() };
        let writer = {
            let path = path.clone();
            QueueWorker::new(MAX_PENDING_OUTCOMES, move |all| write_outcomes(&path, &all))
        };
        Self { path, own: Mutex::new(own), writer }
    }

    pub(crate) fn records(&self) -> HealthRecords {
        let mut all = HealthRecords::load(&self.path);
        for (id, own) in &self.own.lock().records.0 {
            let is_later = all.0.get(id).is_none_or(|other| other.last_at() < own.last_at());
            if is_later {
                all.0.insert(id.clone(), own.clone());
            }
        }
        all
    }

    pub(crate) fn is_failing(&self, definition: &Definition) -> bool {
        self.own.lock().records.health(definition).failure().is_some()
    }

    /// Errors of the caller, cancellations, a start that goes on and shutdown say nothing about the capability.
    pub(crate) fn note_outcome(&self, definition: &Definition, error: Option<&CallError>) {
        let is_other = |error: &&CallError| {
            error.host_stopped
                || error.code == ErrorCode::ServerStarting
                || matches!(error.kind(), ErrorKind::BadInput | ErrorKind::Cancelled)
        };
        if error.filter(is_other).is_none() {
            self.note(definition, error.map(ToString::to_string));
        }
    }

    /// Adds an outcome. A success that changes nothing is written only once in a while.
    fn note(&self, definition: &Definition, failure: Option<String>) {
        let at = Timestamp::now();
        let outcome = HealthOutcome { fingerprint: definition.fingerprint.clone(), at, failure };
        let id = definition.id.clone();
        let mut own = self.own.lock();
        let record = own.records.0.entry(id.clone()).or_default();
        let was_ok = record.failing.is_none()
            && record.ok_at.is_some()
            && record.fingerprint == outcome.fingerprint;
        record.add(&outcome);
        if outcome.failure.is_none() {
            let written = own.written.get(&id).copied();
            if was_ok && written.is_some_and(|written| at.duration_since(written) < WRITE_INTERVAL)
            {
                return;
            }
            own.written.insert(id.clone(), at);
        }
        drop(own);
        if !self.writer.send((id, outcome)) {
            tracing::debug!("the disk is too slow for the health of capabilities");
        }
    }

    pub(crate) fn finish(&self) {
        self.writer.finish();
    }
}

/// Writes all outcomes that wait together, since every write rewrites the file and thousands of
/// servers may fail at once.
fn write_outcomes(path: &Path, outcomes: &Receiver<(CapabilityId, HealthOutcome)>) {
    while let Ok(first) = outcomes.recv() {
        let waiting = std::iter::once(first).chain(outcomes.try_iter());
        let change = |records: &mut HealthRecords| {
            waiting.for_each(|(id, outcome)| records.add(id, &outcome));
        };
        if let Err(error) = durable::update_json(path, change) {
            tracing::debug!(%error, "the health of capabilities could not be saved");
        }
    }
}

#[cfg(test)]
mod tests {
    use capdeck_definition::{Deck, DeckRoot, RootOwner};

    use super::*;

    fn outcome(second: i64, failure: Option<&str>) -> HealthOutcome {
        let at = Timestamp::from_second(second).unwrap();
        HealthOutcome { fingerprint: "one".to_owned(), at, failure: failure.map(str::to_owned) }
    }

    #[test]
    fn failures_count_until_something_succeeds() {
        let mut record = HealthRecord::default();
        assert_eq!(record.health(), HealthStatus::Unchecked);
        record.add(&outcome(1, Some("first")));
        record.add(&outcome(5, Some("second")));
        let at = |second| Timestamp::from_second(second).unwrap();
        let failing = HealthStatus::Failing {
            since: at(1),
            last_at: at(5),
            times: 2,
            reason: "second".to_owned(),
        };
        assert_eq!(record.health(), failing);
        assert_eq!(
            failing.failure().unwrap(),
            "failing since 1970-01-01 00:00:01 UTC (2 times): second"
        );
        record.add(&outcome(6, None));
        assert_eq!(record.health(), HealthStatus::Ok { at: at(6) });
        record.add(&outcome(7, Some("third")));
        assert!(
            matches!(record.health(), HealthStatus::Failing { times: 1, since, .. } if since == at(7))
        );
    }

    #[test]
    fn outcomes_of_many_capabilities_reach_the_disk_together() {
        let folder = tempfile::tempdir().unwrap();
        let servers: Vec<String> =
            (0..500).map(|number| format!("\"s{number}\": {{\"command\": \"x\"}}")).collect();
        let config = format!("{{\"mcpServers\": {{{}}}}}", servers.join(","));
        std::fs::write(folder.path().join("config.json"), config).unwrap();
        let root = DeckRoot { dir: folder.path().to_owned(), owner: RootOwner::User };
        let definitions = Deck::read(&[root]).definitions;
        assert_eq!(definitions.len(), 500);
        let store = HealthStore::open(folder.path());
        for definition in &definitions {
            store.note(definition, Some("no such file".to_owned()));
            store.note(definition, Some("no such file".to_owned()));
        }
        store.finish();
        let saved = HealthRecords::load(&store.path);
        for definition in &definitions {
            assert!(matches!(saved.health(definition), HealthStatus::Failing { times: 2, .. }));
        }
    }

    #[test]
    fn another_definition_starts_over() {
        let mut record = HealthRecord::default();
        record.add(&outcome(1, Some("first")));
        let other = HealthOutcome { fingerprint: "two".to_owned(), ..outcome(2, Some("other")) };
        record.add(&other);
        assert!(matches!(record.health(), HealthStatus::Failing { times: 1, .. }));
    }
}
