//! The outcomes of calls and listings: in memory for the hot path, on disk for other processes.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use capdeck_backend::{CallError, ErrorKind};
use capdeck_definition::{CapabilityId, Definition};
use futures_util::future::join_all;
use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tokio::task::JoinHandle;

use super::HealthStatus;
use crate::durable;

/// A success is written only if it is this much later than the one on disk.
const WRITE_INTERVAL: SignedDuration = SignedDuration::from_secs(60);

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

type HealthRecordTable = BTreeMap<CapabilityId, HealthRecord>;

#[derive(Debug)]
pub(crate) struct HealthRecords(HealthRecordTable);

pub(crate) struct HealthStore {
    path: Arc<PathBuf>,
    own: Mutex<LocalHealthRecords>,
    queue: Arc<Mutex<WriteQueue>>,
}

/// Outcomes that are not on disk yet. One task writes all of them together, since every write
/// rewrites the file and thousands of servers may fail at once.
#[derive(Default)]
struct WriteQueue {
    pending: Vec<(CapabilityId, HealthOutcome)>,
    is_writing: bool,
    writer: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct LocalHealthRecords {
    table: HealthRecordTable,
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
    pub(crate) fn health(&self, definition: &Definition) -> HealthStatus {
        let record = self.0.get(&definition.id);
        let record = record.filter(|record| record.fingerprint == definition.fingerprint);
        record.map_or(HealthStatus::Unchecked, HealthRecord::health)
    }
}

impl HealthStore {
    pub(crate) fn open(state_dir: &Path) -> Self {
        let path = state_dir.join("health.json");
        let own = LocalHealthRecords { table: load(&path), written: BTreeMap::new() };
        Self { path: Arc::new(path), own: Mutex::new(own), queue: Arc::default() }
    }

    pub(crate) fn records(&self) -> HealthRecords {
        let mut all = load(&self.path);
        for (id, own) in &self.own.lock().table {
            let is_later = all.get(id).is_none_or(|other| other.last_at() < own.last_at());
            if is_later {
                all.insert(id.clone(), own.clone());
            }
        }
        HealthRecords(all)
    }

    /// Errors of the caller, cancellations and shutdown say nothing about the capability.
    pub(crate) fn note_outcome(&self, definition: &Definition, error: Option<&CallError>) {
        let is_other = |error: &&CallError| {
            error.host_stopped || matches!(error.kind(), ErrorKind::BadInput | ErrorKind::Cancelled)
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
        let record = own.table.entry(id.clone()).or_default();
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
        let mut queue = self.queue.lock();
        queue.pending.push((id, outcome));
        if std::mem::replace(&mut queue.is_writing, true) {
            return;
        }
        let write = {
            let (path, queue) = (Arc::clone(&self.path), Arc::clone(&self.queue));
            move || write_pending(&path, &queue)
        };
        match tokio::runtime::Handle::try_current() {
            Ok(runtime) => queue.writer = Some(runtime.spawn_blocking(write)),
            Err(_) => {
                drop(queue);
                write();
            }
        }
    }

    pub(crate) async fn settle(&self) {
        let writer = self.queue.lock().writer.take();
        join_all(writer).await;
    }
}

fn write_pending(path: &Path, queue: &Mutex<WriteQueue>) {
    loop {
        let batch = {
            let mut queue = queue.lock();
            if queue.pending.is_empty() {
                queue.is_writing = false;
                return;
            }
            std::mem::take(&mut queue.pending)
        };
        let change = |table: &mut HealthRecordTable| {
            for (id, outcome) in batch {
                table.entry(id).or_default().add(&outcome);
            }
        };
        if let Err(error) = durable::update_json(path, change) {
            tracing::debug!(%error, "the health of capabilities could not be saved");
        }
    }
}

fn load(path: &Path) -> HealthRecordTable {
    durable::load_json(path).unwrap_or_else(|error| {
        tracing::debug!(%error, "the recorded health of capabilities could not be read");
        HealthRecordTable::new()
    })
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

    #[tokio::test]
    async fn outcomes_of_many_capabilities_reach_the_disk_together() {
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
        store.settle().await;
        let queue = store.queue.lock();
        assert!(!queue.is_writing && queue.pending.is_empty());
        let saved = HealthRecords(load(&store.path));
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
