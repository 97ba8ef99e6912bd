//! Brings staged files to their places, many writers' at once.
//!
//! Each writer stages and syncs its own files, in parallel. The names are then changed by one writer for all that wait,
//! so that a folder is synced once for all of them: that sync is what a write waits for longest.

use std::{
    collections::BTreeSet,
    io,
    path::{Path, PathBuf},
    sync::Arc,
    thread,
};

use parking_lot::Mutex;

use super::{
    disk::{Disk, Durability},
    signal_log::SignalLog,
};
use crate::signal::Signal;

/// Threads that wait for the disk's confirmation of one batch.
const MOST_SYNCING: usize = 16;

/// One change of names.
#[derive(Debug)]
pub(crate) enum Step {
    /// A second name for a file.
    Link {
        from: PathBuf,
        to: PathBuf,
    },
    /// A staged file to its place.
    Place {
        from: PathBuf,
        to: PathBuf,
    },
    Remove(PathBuf),
}

/// The steps of one write, in the order in which a crash may cut them off.
#[derive(Debug, Default)]
pub(crate) struct Job {
    pub(crate) steps: Vec<Step>,
    /// Folders made for it: their names must last, too.
    pub(crate) new_folders: Vec<PathBuf>,
    pub(crate) signals: Vec<Signal>,
}

/// How far a write got.
#[derive(Debug)]
pub(crate) enum Outcome {
    Done(Vec<Signal>),
    /// Nothing is changed, as far as readers can tell.
    Failed(io::Error),
    /// The names are changed, but the disk did not confirm that they last.
    Unconfirmed(io::Error),
}

#[derive(Debug, Default)]
pub(crate) struct Committer {
    waiting: Mutex<Vec<(Job, Arc<Slot>)>>,
    leader: Mutex<()>,
}

#[derive(Debug, Default)]
struct Slot(Mutex<Option<Outcome>>);

impl Committer {
    /// Does a job, together with those of others who wait. Returns when it lasts.
    pub(crate) fn commit(&self, job: Job, disk: &Disk, log: &SignalLog) -> Outcome {
        let slot = Arc::new(Slot::default());
        self.waiting.lock().push((job, Arc::clone(&slot)));
        let _leading = self.leader.lock();
        if let Some(outcome) = slot.0.lock().take() {
            return outcome;
        }
        let batch = std::mem::take(&mut *self.waiting.lock());
        run(batch, disk, log);
        let outcome = slot.0.lock().take();
        outcome
            .unwrap_or_else(|| Outcome::Failed(io::Error::other("the write was lost in its batch")))
    }
}

fn run(batch: Vec<(Job, Arc<Slot>)>, disk: &Disk, log: &SignalLog) {
    let mut placed = Vec::new();
    let mut folders = BTreeSet::new();
    for (mut job, slot) in batch {
        // Told first: a change that is told and then cut off costs its hearer a look, one that is not told is missed.
        let told = log.append(std::mem::take(&mut job.signals), disk);
        match told.and_then(|signals| steps(&job, disk).map(|()| signals)) {
            Ok(signals) => {
                folders.extend(touched(&job));
                placed.push((slot, signals));
            }
            Err(error) => *slot.0.lock() = Some(Outcome::Failed(error)),
        }
    }
    let synced = sync(&folders, disk, log);
    for (slot, signals) in placed {
        let outcome = match &synced {
            Ok(()) => Outcome::Done(signals),
            Err(error) => Outcome::Unconfirmed(io::Error::new(error.kind(), error.to_string())),
        };
        *slot.0.lock() = Some(outcome);
    }
}

/// Syncs folders and the signals side by side: the disk confirms many at once about as fast as one.
fn sync(folders: &BTreeSet<PathBuf>, disk: &Disk, log: &SignalLog) -> io::Result<()> {
    let folders: Vec<&PathBuf> = folders.iter().collect();
    let sync_all = |part: &[&PathBuf]| part.iter().try_for_each(|folder| disk.sync_folder(folder));
    if disk.durability() == Durability::Cached {
        return sync_all(&folders).and_then(|()| log.sync(disk));
    }
    thread::scope(|scope| {
        let parts = folders.chunks(folders.len().div_ceil(MOST_SYNCING).max(1));
        let running: Vec<_> = parts.map(|part| scope.spawn(move || sync_all(part))).collect();
        let told = log.sync(disk);
        let joined = running
            .into_iter()
            .map(|handle| handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        joined.fold(told, io::Result::and)
    })
}

fn steps(job: &Job, disk: &Disk) -> io::Result<()> {
    job.steps.iter().try_for_each(|step| match step {
        Step::Link { from, to } => disk.link(from, to),
        Step::Place { from, to } => disk.rename(from, to),
        Step::Remove(path) => disk.remove(path),
    })
}

fn touched(job: &Job) -> impl Iterator<Item = PathBuf> {
    let changed = job.steps.iter().map(|step| match step {
        Step::Link { to, .. } | Step::Place { to, .. } | Step::Remove(to) => to,
    });
    let above = |path: &PathBuf| path.parent().map(Path::to_path_buf);
    changed.chain(&job.new_folders).filter_map(above)
}
