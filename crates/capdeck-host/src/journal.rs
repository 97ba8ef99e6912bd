//! The journal of code mode: records every run, so that it can be shown, resumed and replayed.
//!
//! A thread of its own writes the records after the client has its response. Only a paused run
//! waits for the disk, because the client must find it when it comes back.

mod comparison;
mod finished_run;
mod record;
mod recording;
mod recovery;
mod reference_index;
mod replay;
mod resume;
mod run_replayer;
mod run_store;
mod test_file;

#[cfg(test)]
mod tests;

use std::{
    sync::{Arc, mpsc::Receiver},
    time::{Duration, Instant, SystemTime},
};

use indexmap::IndexMap;
use parking_lot::Mutex;

pub use record::{RecordedCall, RecordedOutcome, RecordedScope, RunEnd, RunRecord, RunState};
pub use run_replayer::{ReplayError, ReplayReport, RunReplayer};
pub use run_store::{RunListing, RunStore, RunStoreError};
pub use test_file::{TestCall, TestCell, TestExpectation, TestFile};

pub(crate) use finished_run::MAX_ANSWER_BYTES;
pub(crate) use recording::{RunEnvironment, run_recorded};
pub(crate) use recovery::read_recovery;
pub(crate) use resume::resume_recorded;

use self::{finished_run::FinishedRun, reference_index::ReferenceIndex, run_store::RunLimits};
use crate::{Host, HostSettings, queue_worker::QueueWorker};

const MAX_PENDING_RUNS: usize = 64;

/// Old files are removed after this many writes, but not more often than this: it takes a look at every file.
const WRITES_PER_SWEEP: usize = 20;
const SWEEP_INTERVAL: Duration = Duration::from_secs(1);

const MAX_SESSIONS: usize = 1_000;

pub(crate) struct RunJournal {
    settings: Arc<HostSettings>,
    writer: QueueWorker<(Box<FinishedRun>, RunLimits)>,
    /// The last run of each session of code mode, least recently used first.
    last_runs: Mutex<IndexMap<String, String>>,
}

impl RunJournal {
    pub(crate) fn new(settings: HostSettings) -> Self {
        let settings = Arc::new(settings);
        let writer = {
            let settings = settings.clone();
            QueueWorker::new(MAX_PENDING_RUNS, move |runs| write(&settings, runs))
        };
        Self { settings, writer, last_runs: Mutex::default() }
    }

    pub(crate) fn store(&self) -> RunStore {
        RunStore::new(&self.settings.state_dir)
    }

    pub(crate) fn record(&self, run: FinishedRun, limits: RunLimits) {
        if !self.writer.send((Box::new(run), limits)) {
            tracing::error!("the disk is too slow for the journal; a run is not recorded");
        }
    }

    pub(crate) fn record_now(
        &self,
        run: FinishedRun,
        limits: RunLimits,
    ) -> Result<RunRecord, RunStoreError> {
        let record = run.record(&self.settings, &mut ReferenceIndex::default());
        self.store().save(&record)?;
        self.store().sweep(limits, SystemTime::now());
        Ok(record)
    }

    pub(crate) fn last_run(&self, session: &str) -> Option<String> {
        self.last_runs.lock().get(session).cloned()
    }

    pub(crate) fn note_last_run(&self, session: &str, run: &str) {
        let mut last = self.last_runs.lock();
        last.shift_remove(session);
        last.insert(session.to_owned(), run.to_owned());
        if last.len() > MAX_SESSIONS {
            last.shift_remove_index(0);
        }
    }
}

impl RunStore {
    /// The recorded runs, including those that ended just now. Blocks until these are written.
    pub fn settled(host: &Host) -> Self {
        host.0.journal.writer.finish();
        host.0.journal.store()
    }
}

fn write(settings: &HostSettings, runs: Receiver<(Box<FinishedRun>, RunLimits)>) {
    let store = RunStore::new(&settings.state_dir);
    let mut references = ReferenceIndex::default();
    // What earlier processes left is looked at with the first write.
    let (mut unswept, mut swept_at, mut last_limits) = (WRITES_PER_SWEEP, None::<Instant>, None);
    for (run, limits) in runs {
        if let Err(error) = store.save_history(&run.record(settings, &mut references)) {
            tracing::error!(%error, "a run could not be recorded");
        }
        unswept += 1;
        last_limits = Some(limits);
        let rested = swept_at.is_none_or(|at| at.elapsed() >= SWEEP_INTERVAL);
        if unswept >= WRITES_PER_SWEEP && rested {
            store.sweep(limits, SystemTime::now());
            (unswept, swept_at) = (0, Some(Instant::now()));
        }
    }
    if let Some(limits) = last_limits.filter(|_| unswept >= WRITES_PER_SWEEP) {
        store.sweep(limits, SystemTime::now());
    }
}
