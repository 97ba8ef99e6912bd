//! The journal of code mode: every run is recorded, so that it can be looked at, taken up again after a pause, and repeated.
//!
//! A record is made and written by a thread of its own after the client has its answer. Only a run that pauses waits for the disk: the
//! client is told to come back, and must find it.

mod comparison;
mod ended_run;
mod pausing;
mod record;
mod recording;
mod recovery;
mod rehearsal;
mod replay;
mod resume;
mod run_store;
mod shown;
mod test_file;
mod test_text;

#[cfg(test)]
mod tests;

use std::{
    sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel},
    thread,
    time::SystemTime,
};

use indexmap::IndexMap;
use parking_lot::Mutex;

pub use record::{RecordedCall, RecordedOutcome, RecordedScope, RunEnd, RunRecord, RunState};
pub use rehearsal::{Rehearsal, RehearsalError, ReplayReport, TestReport};
pub use run_store::{RunListing, RunStore, RunStoreError};
pub use test_file::{TestCall, TestCell, TestExpectation, TestFile};

pub(crate) use recording::Stage;

use self::{ended_run::EndedRun, run_store::RunLimits, run_store::SweepCount};
use crate::HostSettings;

/// Runs that may wait for a disk that does not keep up.
const MOST_WAITING: usize = 64;

/// Sessions of code mode whose last run is remembered.
const MOST_SESSIONS: usize = 1_000;

/// Records the runs of one host.
pub(crate) struct Journal {
    settings: HostSettings,
    /// Started with the first record.
    writer: Mutex<Option<Writer>>,
    /// The last run of each session of code mode, the one used longest ago first.
    last_runs: Mutex<IndexMap<String, String>>,
}

struct Writer {
    queue: SyncSender<(Box<EndedRun>, RunLimits)>,
    thread: thread::JoinHandle<()>,
}

impl Journal {
    pub(crate) fn new(settings: HostSettings) -> Self {
        Self { settings, writer: Mutex::default(), last_runs: Mutex::default() }
    }

    pub(crate) fn store(&self) -> RunStore {
        RunStore::new(&self.settings.state_dir)
    }

    /// Makes and writes a record later.
    pub(crate) fn record(&self, run: EndedRun, limits: RunLimits) {
        let mut writer = self.writer.lock();
        let writer = writer.get_or_insert_with(|| Writer::start(self.settings.clone()));
        match writer.queue.try_send((Box::new(run), limits)) {
            Ok(()) => {}
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => {
                tracing::error!("the disk is too slow for the journal; a run is not recorded");
            }
        }
    }

    /// Makes and writes a record now. It is told whether that worked.
    pub(crate) fn record_now(
        &self,
        run: EndedRun,
        limits: RunLimits,
    ) -> Result<RunRecord, RunStoreError> {
        let record = run.record(&self.settings);
        self.store().save(&record)?;
        self.store().sweep(limits, SystemTime::now());
        Ok(record)
    }

    /// The run before the next one in this session.
    pub(crate) fn last_run(&self, session: &str) -> Option<String> {
        self.last_runs.lock().get(session).cloned()
    }

    pub(crate) fn note_last_run(&self, session: &str, run: &str) {
        let mut last = self.last_runs.lock();
        last.shift_remove(session);
        last.insert(session.to_owned(), run.to_owned());
        if last.len() > MOST_SESSIONS {
            last.shift_remove_index(0);
        }
    }
}

impl Drop for Journal {
    /// Waits for the last record to be on disk: a one-shot command exits right after its run.
    fn drop(&mut self) {
        if let Some(Writer { queue, thread }) = self.writer.lock().take() {
            drop(queue);
            drop(thread.join());
        }
    }
}

impl Writer {
    fn start(settings: HostSettings) -> Self {
        let (queue, waiting) = sync_channel(MOST_WAITING);
        Self { queue, thread: thread::spawn(move || write(&settings, &waiting)) }
    }
}

fn write(settings: &HostSettings, waiting: &Receiver<(Box<EndedRun>, RunLimits)>) {
    let store = RunStore::new(&settings.state_dir);
    let mut sweeps = SweepCount::default();
    for (run, limits) in waiting {
        if let Err(error) = store.save(&run.record(settings)) {
            tracing::error!(%error, "a run could not be recorded");
        }
        if sweeps.is_due() {
            store.sweep(limits, SystemTime::now());
        }
    }
}
