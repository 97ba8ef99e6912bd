//! The journal of code mode: records every run, so that it can be shown, resumed and replayed.
//!
//! A thread of its own writes the records after the client has its response. Only a paused run
//! waits for the disk, because the client must find it when it comes back.

mod comparison;
mod finished_run;
mod pausable_calls;
mod record;
mod recording;
mod recovery;
mod replay;
mod resume;
mod run_replayer;
mod run_store;
mod shown;
mod test_file;
mod test_text;

#[cfg(test)]
mod tests;

use std::{
    sync::{
        Arc,
        mpsc::{Receiver, SyncSender, TrySendError, sync_channel},
    },
    thread,
    time::{Duration, SystemTime},
};

use indexmap::IndexMap;
use parking_lot::{Condvar, Mutex};

pub use record::{RecordedCall, RecordedOutcome, RecordedScope, RunEnd, RunRecord, RunState};
pub use run_replayer::{ReplayError, ReplayReport, RunReplayer, TestReport};
pub use run_store::{RunListing, RunStore, RunStoreError};
pub use test_file::{TestCall, TestCell, TestExpectation, TestFile};

pub(crate) use recording::{RunEnvironment, run_recorded};
pub(crate) use recovery::read_recovery;
pub(crate) use resume::resume_recorded;

use self::{finished_run::FinishedRun, run_store::RunLimits, run_store::SweepCount};
use crate::{Host, HostSettings};

const MAX_PENDING_RUNS: usize = 64;

/// How long a reader waits for pending records. A slower disk has a problem.
const WRITE_TIMEOUT: Duration = Duration::from_secs(30);

const MAX_SESSIONS: usize = 1_000;

pub(crate) struct RunJournal {
    settings: HostSettings,
    /// Started with the first record.
    writer: Mutex<Option<RunJournalWriter>>,
    pending: Arc<PendingRecords>,
    /// The last run of each session of code mode, least recently used first.
    last_runs: Mutex<IndexMap<String, String>>,
}

#[derive(Default)]
struct PendingRecords {
    counts: Mutex<RecordCounts>,
    written: Condvar,
}

#[derive(Default)]
struct RecordCounts {
    queued: u64,
    written: u64,
}

impl PendingRecords {
    fn add(&self) {
        self.counts.lock().queued += 1;
    }

    fn note_written(&self) {
        self.counts.lock().written += 1;
        self.written.notify_all();
    }

    fn wait(&self) {
        let mut counts = self.counts.lock();
        let wanted = counts.queued;
        let is_pending = |counts: &mut RecordCounts| counts.written < wanted;
        if self.written.wait_while_for(&mut counts, is_pending, WRITE_TIMEOUT).timed_out() {
            tracing::warn!("the journal is read before all records are written");
        }
    }
}

struct RunJournalWriter {
    queue: SyncSender<(Box<FinishedRun>, RunLimits)>,
    thread: thread::JoinHandle<()>,
}

impl RunJournal {
    pub(crate) fn new(settings: HostSettings) -> Self {
        Self {
            settings,
            writer: Mutex::default(),
            pending: Arc::default(),
            last_runs: Mutex::default(),
        }
    }

    pub(crate) fn store(&self) -> RunStore {
        RunStore::new(&self.settings.state_dir)
    }

    pub(crate) fn settle(&self) {
        self.pending.wait();
    }

    pub(crate) fn record(&self, run: FinishedRun, limits: RunLimits) {
        let mut writer = self.writer.lock();
        let start = || RunJournalWriter::start(self.settings.clone(), self.pending.clone());
        let writer = writer.get_or_insert_with(start);
        self.pending.add();
        match writer.queue.try_send((Box::new(run), limits)) {
            Ok(()) => {}
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => {
                self.pending.note_written();
                tracing::error!("the disk is too slow for the journal; a run is not recorded");
            }
        }
    }

    pub(crate) fn record_now(
        &self,
        run: FinishedRun,
        limits: RunLimits,
    ) -> Result<RunRecord, RunStoreError> {
        let record = run.record(&self.settings);
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

impl Host {
    /// The recorded runs, including those that ended just now. Blocks until these are written.
    pub fn settled_runs(&self) -> RunStore {
        self.0.journal.settle();
        self.0.journal.store()
    }
}

impl Drop for RunJournal {
    /// Waits for the last record to be on disk: a one-shot command exits right after its run.
    fn drop(&mut self) {
        if let Some(RunJournalWriter { queue, thread }) = self.writer.lock().take() {
            drop(queue);
            drop(thread.join());
        }
    }
}

impl RunJournalWriter {
    fn start(settings: HostSettings, pending: Arc<PendingRecords>) -> Self {
        let (queue, waiting) = sync_channel(MAX_PENDING_RUNS);
        Self { queue, thread: thread::spawn(move || write(&settings, &waiting, &pending)) }
    }
}

fn write(
    settings: &HostSettings,
    waiting: &Receiver<(Box<FinishedRun>, RunLimits)>,
    pending: &PendingRecords,
) {
    let store = RunStore::new(&settings.state_dir);
    let mut sweeps = SweepCount::default();
    for (run, limits) in waiting {
        if let Err(error) = store.save(&run.record(settings)) {
            tracing::error!(%error, "a run could not be recorded");
        }
        pending.note_written();
        if sweeps.is_due() {
            store.sweep(limits, SystemTime::now());
        }
    }
}
