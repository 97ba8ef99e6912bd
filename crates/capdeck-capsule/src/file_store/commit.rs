//! Brings staged files to their places, many writers' at once.
//!
//! Each writer stages its own files, in parallel. One writer then puts the changes of all that wait into the journal, so
//! that the disk is waited for once, and changes the names.

use std::{io, path::PathBuf, sync::Arc};

use parking_lot::{Condvar, Mutex};

use super::{
    capsule_files::CapsuleFiles,
    disk::StoreDisk,
    journal::StoreJournal,
    journal_record::{FileOperation, JournalChange},
    layout::CapsuleLayout,
};
use crate::{AuditLogLine, audit::ChainedAuditLog, signal::Signal};

/// One change of names. The bytes are what the file is to be, for the journal.
#[derive(Debug)]
pub(crate) enum FileStep {
    /// A second name for a file.
    Link {
        from: PathBuf,
        to: PathBuf,
        bytes: Vec<u8>,
    },
    /// A staged file to its place.
    Place {
        from: PathBuf,
        to: PathBuf,
        bytes: Vec<u8>,
    },
    Remove(PathBuf),
}

/// The steps of one write, in the order in which a crash may cut them off.
#[derive(Debug, Default)]
pub(crate) struct CommitJob {
    pub(crate) steps: Vec<FileStep>,
    pub(crate) signals: Vec<Signal>,
    /// The line of the change, where somebody records it.
    pub(crate) line: Option<AuditLogLine>,
}

/// What a job gave. One that failed changed nothing as far as readers can tell.
#[derive(Debug, Default)]
pub(crate) struct CommitReport {
    /// The signals that were sent.
    pub(crate) signals: Vec<Signal>,
    /// Why the line is not in the audit yet.
    pub(crate) unrecorded: Option<io::Error>,
}

#[derive(Debug)]
pub(crate) struct GroupCommitter {
    queue: Mutex<CommitQueue>,
    journal: StoreJournal,
}

#[derive(Debug, Default)]
struct CommitQueue {
    waiting: Vec<(CommitJob, Arc<WriterSlot>)>,
    /// Somebody works for all.
    has_leader: bool,
}

/// Where a writer waits.
#[derive(Debug, Default)]
struct WriterSlot {
    turn: Mutex<Option<WriterTurn>>,
    turn_changed: Condvar,
}

#[derive(Debug)]
enum WriterTurn {
    /// To work for all that wait.
    Lead,
    Done(io::Result<CommitReport>),
}

impl WriterSlot {
    fn set_turn(&self, turn: WriterTurn) {
        *self.turn.lock() = Some(turn);
        self.turn_changed.notify_one();
    }

    fn wait(&self) -> WriterTurn {
        let mut turn = self.turn.lock();
        loop {
            match turn.take() {
                Some(turn) => return turn,
                None => self.turn_changed.wait(&mut turn),
            }
        }
    }
}

impl GroupCommitter {
    pub(crate) fn new(journal: StoreJournal) -> Self {
        Self { queue: Mutex::default(), journal }
    }

    /// Waits until the disk has everything that was committed. The journal is kept while it has lines that the audit has
    /// not.
    pub(crate) fn finish(&self, audit: Option<&ChainedAuditLog>) -> io::Result<()> {
        audit.map_or(Ok(()), ChainedAuditLog::write_pending)?;
        self.journal.finish()
    }

    /// Does a job, together with those of others who wait. Returns when it lasts.
    pub(crate) fn commit(&self, job: CommitJob, files: &CapsuleFiles) -> io::Result<CommitReport> {
        let slot = Arc::new(WriterSlot::default());
        let is_led = {
            let mut queue = self.queue.lock();
            queue.waiting.push((job, Arc::clone(&slot)));
            std::mem::replace(&mut queue.has_leader, true)
        };
        if is_led && let WriterTurn::Done(outcome) = slot.wait() {
            return outcome;
        }
        let batch = std::mem::take(&mut self.queue.lock().waiting);
        self.run(batch, files);
        let mut queue = self.queue.lock();
        match queue.waiting.first() {
            Some((_, next)) => next.set_turn(WriterTurn::Lead),
            None => queue.has_leader = false,
        }
        drop(queue);
        match slot.wait() {
            WriterTurn::Done(outcome) => outcome,
            WriterTurn::Lead => Err(io::Error::other("the write was lost in its batch")),
        }
    }

    /// The journal first: from then on a kill leads to all of it, see `recovery`. Then signals, files and audit lines.
    fn run(&self, mut batch: Vec<(CommitJob, Arc<WriterSlot>)>, files: &CapsuleFiles) {
        let CapsuleFiles { layout, disk, signals: log, audit, .. } = files;
        let audit = audit.as_deref();
        let signals: Vec<Vec<Signal>> =
            batch.iter_mut().map(|(job, _)| std::mem::take(&mut job.signals)).collect();
        let after = audit.map_or(0, ChainedAuditLog::seq);
        for line in batch.iter_mut().filter_map(|(job, _)| job.line.as_mut()) {
            line.seq = after;
        }
        let kept = log.prepare(signals).and_then(|outgoing| {
            let steps = batch.iter().flat_map(|(job, _)| job.steps.iter());
            let changes = steps.map(|step| redo(step, layout)).chain(outgoing.redo(layout));
            let lines = batch.iter().filter_map(|(job, _)| job.line.as_ref());
            self.journal.append(&changes.collect::<Vec<_>>(), lines, disk)?;
            Ok(outgoing)
        });
        // Told before the names are changed: a change that is told and then cut off is finished at the next start. Told
        // after the journal has it, so that a full disk tells of nothing.
        let sent = kept
            .and_then(|outgoing| log.send(outgoing, disk).inspect_err(|_| self.drop_journal(disk)));
        let signals = match sent {
            Ok(signals) => signals,
            Err(error) => {
                for (_, slot) in batch {
                    slot.set_turn(WriterTurn::Done(Err(same(&error))));
                }
                return;
            }
        };
        let done: Vec<io::Result<()>> = batch.iter().map(|(job, _)| steps(job, disk)).collect();
        let jobs = batch.iter_mut().zip(&done).filter(|(_, done)| done.is_ok());
        let lines = jobs.filter_map(|((job, _), _)| job.line.take()).collect();
        let recorded = audit.map_or(Ok(()), |audit| audit.append_changes(lines, disk));
        if done.iter().any(Result::is_err) {
            // What its writer is told to have failed must not be made again.
            self.drop_journal(disk);
        }
        for (((_, slot), signals), done) in batch.into_iter().zip(signals).zip(done) {
            let unrecorded = recorded.as_ref().err().map(same);
            slot.set_turn(WriterTurn::Done(done.map(|()| CommitReport { signals, unrecorded })));
        }
        if !audit.is_some_and(ChainedAuditLog::has_owed) {
            self.journal.rotate();
        }
    }

    /// The journal holds something that is not to be made again.
    fn drop_journal(&self, disk: &StoreDisk) {
        #[cfg(test)]
        if disk.crash.happened() {
            // A process that was killed drops nothing.
            return;
        }
        #[cfg(not(test))]
        let _ = disk;
        if let Err(error) = self.journal.finish() {
            tracing::error!(%error, "the disk did not confirm what was written; the journal is kept");
        }
    }
}

/// One failure for several who wait.
fn same(error: &io::Error) -> io::Error {
    match error.raw_os_error() {
        Some(code) => io::Error::from_raw_os_error(code),
        None => io::Error::new(error.kind(), error.to_string()),
    }
}

fn steps(job: &CommitJob, disk: &StoreDisk) -> io::Result<()> {
    job.steps.iter().try_for_each(|step| match step {
        FileStep::Link { from, to, .. } => disk.link(from, to),
        FileStep::Place { from, to, .. } => disk.rename(from, to),
        FileStep::Remove(path) => disk.remove(path),
    })
}

fn redo<'a>(step: &'a FileStep, layout: &CapsuleLayout) -> JournalChange<'a> {
    let (path, change) = match step {
        FileStep::Link { to, bytes, .. } | FileStep::Place { to, bytes, .. } => {
            (to, FileOperation::Put(bytes))
        }
        FileStep::Remove(path) => (path, FileOperation::Remove),
    };
    JournalChange { path: layout.display_path(path), change }
}
