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
use crate::signal::Signal;

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
}

/// The signals that were sent, or why nothing is changed as far as readers can tell.
pub(crate) type Outcome = io::Result<Vec<Signal>>;

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

    /// Waits until the disk has everything that was committed.
    pub(crate) fn finish(&self) -> io::Result<()> {
        self.journal.finish()
    }

    /// Does a job, together with those of others who wait. Returns when it lasts.
    pub(crate) fn commit(
        &self,
        job: Job,
        layout: &Layout,
        disk: &Disk,
        log: &SignalLog,
    ) -> Outcome {
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
        self.run(batch, layout, disk, log);
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

    fn run(&self, mut batch: Vec<(Job, Arc<Slot>)>, layout: &Layout, disk: &Disk, log: &SignalLog) {
        let signals: Vec<Vec<Signal>> =
            batch.iter_mut().map(|(job, _)| std::mem::take(&mut job.signals)).collect();
        let kept = log.prepare(signals).and_then(|outgoing| {
            let steps = batch.iter().flat_map(|(job, _)| job.steps.iter());
            let changes = steps.map(|step| redo(step, layout)).chain(outgoing.redo(layout));
            self.journal.append(&changes.collect::<Vec<_>>(), disk)?;
            Ok(outgoing)
        });
        // Told before the names are changed: a change that is told and then cut off costs its hearer a look, one that is
        // not told is missed. Told after the journal has it, so that a full disk tells of nothing.
        let told =
            kept.and_then(|outgoing| log.send(outgoing, disk).inspect_err(|_| self.drop_journal()));
        let signals = match told {
            Ok(signals) => signals,
            Err(error) => {
                for (_, slot) in batch {
                    slot.tell(Turn::Done(Err(io::Error::new(error.kind(), error.to_string()))));
                }
                return;
            }
        };
        let mut has_failed = false;
        for ((job, slot), signals) in batch.into_iter().zip(signals) {
            let done = steps(&job, disk).map(|()| signals);
            has_failed |= done.is_err();
            slot.tell(Turn::Done(done));
        }
        if has_failed {
            self.drop_journal();
        }
        self.journal.turn_over();
    }

    /// The journal holds something that is not to be made again.
    fn drop_journal(&self) {
        if let Err(error) = self.journal.finish() {
            tracing::error!(%error, "the disk did not confirm what was written; the journal is kept");
        }
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
