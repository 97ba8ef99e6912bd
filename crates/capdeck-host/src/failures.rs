//! The last failure of each capability, kept across processes so that `why` can tell.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use capdeck_definition::CapabilityId;
use jiff::Timestamp;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use crate::durable;

/// What went wrong last, and when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastFailure {
    pub at: Timestamp,
    pub message: String,
}

type FailureTable = BTreeMap<CapabilityId, LastFailure>;

/// In memory for the hot path, on disk for the next process.
pub(crate) struct Failures {
    path: Arc<PathBuf>,
    table: Mutex<FailureTable>,
}

impl Failures {
    pub(crate) fn open(state_dir: &Path) -> Self {
        let path = state_dir.join("failures.json");
        let table = durable::load_json(&path).unwrap_or_default();
        Self { path: Arc::new(path), table: Mutex::new(table) }
    }

    pub(crate) fn get(&self, id: &str) -> Option<LastFailure> {
        self.table.lock().get(id).cloned()
    }

    /// A success clears what was known; only changes reach the disk.
    pub(crate) fn note(&self, id: &CapabilityId, failure: Option<String>) {
        let mut table = self.table.lock();
        let entry = failure.map(|message| LastFailure { at: Timestamp::now(), message });
        if entry.is_none() && !table.contains_key(id) {
            return;
        }
        match &entry {
            Some(failure) => drop(table.insert(id.clone(), failure.clone())),
            None => drop(table.remove(id)),
        }
        drop(table);
        let (path, id) = (self.path.clone(), id.clone());
        let write = move || {
            let outcome = durable::update_json(&path, |table: &mut FailureTable| match entry {
                Some(failure) => drop(table.insert(id, failure)),
                None => drop(table.remove(&id)),
            });
            if let Err(error) = outcome {
                tracing::debug!(%error, "the last failure could not be remembered");
            }
        };
        match tokio::runtime::Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn_blocking(write)),
            Err(_) => write(),
        }
    }
}
