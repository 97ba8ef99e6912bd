//! Brings staged files to their places, many writers' at once.
//!
//! Each writer stages its own files, in parallel. One writer then puts the changes of all that wait into the journal, so
//! that the disk is waited for once, and changes the names.

use std::{io, path::PathBuf, sync::Arc};

use parking_lot::{Condvar, Mutex};

use super::{
    disk::Disk,
    journal::Journal,
    layout::Layout,
    redo::{Change, Redo},
    signal_log::SignalLog,
};
use crate::{AuditLine, audit::AuditLog, signal::Signal};

/// One change of names. The bytes are what the file is to be, for the journal.
#[derive(Debug)]
pub(crate) enum Step {
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
pub(crate) struct Job {
    pub(crate) steps: Vec<Step>,
    pub(crate) signals: Vec<Signal>,
    /// The line of the change, where somebody records it.
    pub(crate) line: Option<AuditLine>,
}

/// What a job gave.
#[derive(Debug, Default)]
pub(crate) struct Committed {
    /// The signals that were sent.
    pub(crate) signals: Vec<Signal>,
    /// Why the line is not in the audit yet.
    pub(crate) unrecorded: Option<io::Error>,
}

/// What a job gave, or why nothing is changed as far as readers can tell.
pub(crate) type Outcome = io::Result<Committed>;

/// What a batch is written to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Targets<'a> {
    pub(crate) layout: &'a Layout,
    pub(crate) disk: &'a Disk,
    pub(crate) signals: &'a SignalLog,
    pub(crate) audit: Option<&'a AuditLog>,
}

#[derive(Debug)]
pub(crate) struct Committer {
    queue: Mutex<Queue>,
    journal: Journal,
}

#[derive(Debug, Default)]
struct Queue {
    waiting: Vec<(Job, Arc<Slot>)>,
    /// Somebody works for all.
    is_led: bool,
}

/// Where a writer waits.
#[derive(Debug, Default)]
struct Slot {
    turn: Mutex<Option<Turn>>,
    told: Condvar,
}

#[derive(Debug)]
enum Turn {
    /// To work for all that wait.
    Lead,
    Done(Outcome),
}

impl Slot {
    fn tell(&self, turn: Turn) {
        *self.turn.lock() = Some(turn);
        self.told.notify_one();
    }

    fn wait(&self) -> Turn {
        let mut turn = self.turn.lock();
        loop {
            match turn.take() {
                Some(turn) => return turn,
                None => self.told.wait(&mut turn),
            }
        }
    }
}

impl Committer {
    pub(crate) fn new(journal: Journal) -> Self {
        Self { queue: Mutex::default(), journal }
    }

    /// Waits until the disk has everything that was committed. The journal is kept while it has lines that the audit has
    /// not.
    pub(crate) fn finish(&self, audit: Option<&AuditLog>) -> io::Result<()> {
        audit.map_or(Ok(()), AuditLog::settle)?;
        self.journal.finish()
    }

    /// Does a job, together with those of others who wait. Returns when it lasts.
    pub(crate) fn commit(&self, job: Job, targets: Targets<'_>) -> Outcome {
        let slot = Arc::new(Slot::default());
        let is_led = {
            let mut queue = self.queue.lock();
            queue.waiting.push((job, Arc::clone(&slot)));
            std::mem::replace(&mut queue.is_led, true)
        };
        if is_led && let Turn::Done(outcome) = slot.wait() {
            return outcome;
        }
        let batch = std::mem::take(&mut self.queue.lock().waiting);
        self.run(batch, targets);
        let mut queue = self.queue.lock();
        match queue.waiting.first() {
            Some((_, next)) => next.tell(Turn::Lead),
            None => queue.is_led = false,
        }
        drop(queue);
        match slot.wait() {
            Turn::Done(outcome) => outcome,
            Turn::Lead => Err(io::Error::other("the write was lost in its batch")),
        }
    }

    /// The journal first: from then on a kill leads to all of it, see `recovery`. Then signals, files and audit lines.
    fn run(&self, mut batch: Vec<(Job, Arc<Slot>)>, targets: Targets<'_>) {
        let Targets { layout, disk, signals: log, audit } = targets;
        let signals: Vec<Vec<Signal>> =
            batch.iter_mut().map(|(job, _)| std::mem::take(&mut job.signals)).collect();
        let after = audit.map_or(0, AuditLog::seq);
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
                    slot.tell(Turn::Done(Err(same(&error))));
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
            slot.tell(Turn::Done(done.map(|()| Committed { signals, unrecorded })));
        }
        if !audit.is_some_and(AuditLog::has_owed) {
            self.journal.turn_over();
        }
    }

    /// The journal holds something that is not to be made again.
    fn drop_journal(&self, disk: &Disk) {
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

fn steps(job: &Job, disk: &Disk) -> io::Result<()> {
    job.steps.iter().try_for_each(|step| match step {
        Step::Link { from, to, .. } => disk.link(from, to),
        Step::Place { from, to, .. } => disk.rename(from, to),
        Step::Remove(path) => disk.remove(path),
    })
}

fn redo<'a>(step: &'a Step, layout: &Layout) -> Redo<'a> {
    let (path, change) = match step {
        Step::Link { to, bytes, .. } | Step::Place { to, bytes, .. } => (to, Change::Put(bytes)),
        Step::Remove(path) => (path, Change::Remove),
    };
    Redo { path: layout.shown(path), change }
}
