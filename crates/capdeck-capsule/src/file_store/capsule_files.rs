//! The files of one capsule, and the one way to change them: staged, journaled, put to their places together with their
//! signals and audit lines.
//!
//! Each writer stages its own files, in parallel. One writer then puts the changes of all that wait into the journal, so
//! that the disk is waited for once, and changes the names.

use std::{
    fs,
    hash::{BuildHasher as _, BuildHasherDefault},
    io,
    path::{Path, PathBuf},
    sync::{
        Arc,
        mpsc::{SyncSender, sync_channel},
    },
};

use capdeck_storage::to_hex;
use parking_lot::Mutex;
use rustc_hash::FxHasher;

use super::{
    disk::StoreDisk,
    journal::StoreJournal,
    journal_record::{FileOperation, JournalChange},
    layout::CapsuleLayout,
    recovery,
    signal_log::SignalLog,
};
use crate::{
    AuditLogLine, ChangeAuthor, EntryUri, Scheme, StoreError, StoreMode, StoreOptions, StoreResult,
    audit::ChainedAuditLog, signal::Signal,
};

/// Locks for entries; two entries may share one.
const STRIPES: usize = 256;
/// Bytes of a change's name.
const CHANGE_ID_BYTES: usize = 12;

#[derive(Debug)]
pub(crate) struct CapsuleFiles {
    pub(crate) layout: CapsuleLayout,
    pub(super) disk: StoreDisk,
    pub(super) options: StoreOptions,
    pub(super) signals: SignalLog,
    /// None where the capsule is only read.
    pub(super) audit: Option<Arc<ChainedAuditLog>>,
    journal: StoreJournal,
    queue: Mutex<CommitQueue>,
    stripes: Vec<Mutex<()>>,
}

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
    /// The line of the change, where it is recorded.
    pub(crate) line: Option<AuditLogLine>,
}

/// What a job gave. One that failed changed nothing that readers can see.
#[derive(Debug, Default)]
pub(crate) struct CommitReport {
    /// The signals that were sent.
    pub(crate) signals: Vec<Signal>,
    /// Why the line is not in the audit yet.
    pub(crate) unrecorded: Option<io::Error>,
}

#[derive(Debug, Default)]
struct CommitQueue {
    waiting: Vec<WaitingJob>,
    /// One of the writers works for all.
    has_leader: bool,
}

/// A job, and where its writer waits for its turn. At most two turns are sent: to lead, and the outcome.
type WaitingJob = (CommitJob, SyncSender<WriterTurn>);

/// What a writer that waits is to do next.
#[derive(Debug)]
enum WriterTurn {
    /// To work for all that wait.
    Lead,
    Done(io::Result<CommitReport>),
}

impl CapsuleFiles {
    /// Opens the files of a capsule and finishes what an earlier process left half done.
    pub(super) fn open(root: &Path, options: StoreOptions) -> StoreResult<Self> {
        let layout = CapsuleLayout::new(root.to_owned());
        let disk = StoreDisk::new(layout.folder("tmp"), options.durability);
        let journal = StoreJournal::new(root, layout.folder("journal"), options.durability);
        let mut audit = None;
        if options.mode == StoreMode::ReadWrite {
            for folder in layout.folders() {
                // Nothing is written through a link, and a file in the way is named.
                layout.check_folder(&folder)?;
                let what =
                    || format!("make the capsule's folder `{}`", layout.display_path(&folder));
                capdeck_storage::make_private_folder(&folder).map_err(StoreError::io(what()))?;
                layout.check_folder(&folder)?;
            }
            disk.sweep().map_err(StoreError::io("remove unfinished files"))?;
            let log = ChainedAuditLog::open(layout.folder("logs"), "", &options)
                .map_err(StoreError::io("open the audit"))?;
            recovery::recover(&layout, &journal, &disk, &log)?;
            audit = Some(Arc::new(log));
        }
        let signals = SignalLog::open(&layout, options.clock.clone())
            .map_err(StoreError::io("read the signals"))?;
        let stripes = (0..STRIPES).map(|_| Mutex::new(())).collect();
        let queue = Mutex::default();
        Ok(Self { layout, disk, options, signals, audit, journal, queue, stripes })
    }

    pub(super) fn writable(&self) -> StoreResult<()> {
        match self.options.mode {
            StoreMode::ReadWrite => Ok(()),
            StoreMode::ReadOnly => Err(StoreError::ReadOnly),
        }
    }

    /// The lock of an entry, shared with its case twins, or of another file.
    pub(crate) fn stripe(&self, name: &str) -> &Mutex<()> {
        let hash = BuildHasherDefault::<FxHasher>::default().hash_one(name);
        // There is always a first one.
        self.stripes.get(hash as usize % STRIPES).unwrap_or_else(|| &self.stripes[0])
    }

    pub(super) fn make_folder_of(&self, path: &Path) -> StoreResult<()> {
        self.layout.check_file(path)?;
        let Some(folder) = path.parent().filter(|folder| !folder.exists()) else { return Ok(()) };
        let what = format!("make the folder `{}`", self.layout.display_path(folder));
        capdeck_storage::make_private_folder(folder).map_err(StoreError::io(what))
    }

    /// Replaces a whole file that is no entry, with the line of that change.
    pub(super) fn replace_file(
        &self,
        to: PathBuf,
        bytes: serde_json::Result<Vec<u8>>,
        line: AuditLogLine,
        what: &'static str,
    ) -> StoreResult<()> {
        self.make_folder_of(&to)?;
        let failed = || StoreError::io(what);
        let bytes = bytes.map_err(io::Error::other).map_err(failed())?;
        let staged = self.disk.stage(&bytes).map_err(failed())?;
        let steps = vec![FileStep::Place { from: staged.path.clone(), to, bytes }];
        let job = CommitJob { steps, line: Some(line), ..CommitJob::default() };
        let committed = self.commit(job);
        let committed = committed.map_err(failed())?;
        staged.placed();
        self.require_line(committed.unrecorded)
    }

    /// Keeps the current files of an entry as a version of the past.
    pub(super) fn archive_version(
        &self,
        uri: &EntryUri,
        version: u64,
        scheme: &Scheme,
        steps: &mut Vec<FileStep>,
    ) -> StoreResult<()> {
        let (from, to) =
            (self.layout.current(uri, scheme), self.layout.version(uri, version, scheme.format));
        self.make_folder_of(&to.body)?;
        let sidecars = from.meta.zip(to.meta).filter(|(from, _)| from.exists());
        for (from, to) in [Some((from.body, to.body)), sidecars].into_iter().flatten() {
            self.layout.check_file(&from)?;
            let bytes = fs::read(&from).map_err(StoreError::io(format!("keep `{uri}`")))?;
            steps.push(FileStep::Link { from, to, bytes });
        }
        Ok(())
    }

    /// The line of a change, which is put into the journal together with the change itself.
    pub(super) fn line_of(
        &self,
        by: &ChangeAuthor,
        action: &'static str,
    ) -> StoreResult<AuditLogLine> {
        let mut id = [0_u8; CHANGE_ID_BYTES];
        getrandom::fill(&mut id)
            .map_err(|error| StoreError::io("name the change")(io::Error::other(error)))?;
        Ok(AuditLogLine {
            ts: self.options.clock.now(),
            role: Some(by.role),
            change_id: Some(to_hex(id)),
            ..AuditLogLine::new(&by.author, action)
        })
    }

    /// A change that was made and whose line could not be written: in strict mode its caller has to know.
    pub(super) fn require_line(&self, unrecorded: Option<io::Error>) -> StoreResult<()> {
        self.options.audit.check_recorded(unrecorded.map_or(Ok(()), Err))
    }

    /// Waits until the disk has everything that was committed. The journal is kept while it has lines that the audit has
    /// not.
    pub(super) fn finish(&self) -> io::Result<()> {
        self.audit.as_deref().map_or(Ok(()), ChainedAuditLog::write_pending)?;
        self.journal.finish()
    }

    /// Does a job, together with those of others who wait. Returns when it lasts.
    pub(super) fn commit(&self, job: CommitJob) -> io::Result<CommitReport> {
        let lost = || io::Error::other("the write was lost in its batch");
        let (turns, turn) = sync_channel(2);
        let is_led = {
            let mut queue = self.queue.lock();
            queue.waiting.push((job, turns));
            std::mem::replace(&mut queue.has_leader, true)
        };
        if is_led && let WriterTurn::Done(outcome) = turn.recv().map_err(|_| lost())? {
            return outcome;
        }
        let batch = std::mem::take(&mut self.queue.lock().waiting);
        self.run(batch);
        let mut queue = self.queue.lock();
        match queue.waiting.first() {
            Some((_, next)) => send_turn(next, WriterTurn::Lead),
            None => queue.has_leader = false,
        }
        drop(queue);
        match turn.recv() {
            Ok(WriterTurn::Done(outcome)) => outcome,
            Ok(WriterTurn::Lead) | Err(_) => Err(lost()),
        }
    }

    /// The journal first: from then on a kill leads to all of it, see `recovery`. Then signals, files and audit lines.
    fn run(&self, mut batch: Vec<WaitingJob>) {
        let Self { layout, disk, signals: log, audit, .. } = self;
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
        // Sent before the names are changed: a change that is signalled and then cut off is finished at the next start. Sent
        // after the journal has it, so that nothing is signalled when the disk is full.
        let sent =
            kept.and_then(|outgoing| log.send(outgoing, disk).inspect_err(|_| self.drop_journal()));
        let signals = match sent {
            Ok(signals) => signals,
            Err(error) => {
                for (_, writer) in batch {
                    send_turn(&writer, WriterTurn::Done(Err(same(&error))));
                }
                return;
            }
        };
        let done: Vec<io::Result<()>> = batch.iter().map(|(job, _)| steps(job, disk)).collect();
        let jobs = batch.iter_mut().zip(&done).filter(|(_, done)| done.is_ok());
        let lines = jobs.filter_map(|((job, _), _)| job.line.take()).collect();
        let recorded = audit.map_or(Ok(()), |audit| audit.append_changes(lines, disk));
        if done.iter().any(Result::is_err) {
            // A change whose writer gets an error must not be made again.
            self.drop_journal();
        }
        for (((_, writer), signals), done) in batch.into_iter().zip(signals).zip(done) {
            let unrecorded = recorded.as_ref().err().map(same);
            let report = done.map(|()| CommitReport { signals, unrecorded });
            send_turn(&writer, WriterTurn::Done(report));
        }
        if !audit.is_some_and(ChainedAuditLog::has_owed) {
            self.journal.rotate();
        }
    }

    /// The journal holds something that is not to be made again.
    fn drop_journal(&self) {
        #[cfg(test)]
        if self.disk.crash.happened() {
            // A process that was killed drops nothing.
            return;
        }
        if let Err(error) = self.journal.finish() {
            tracing::error!(%error, "the disk did not confirm what was written; the journal is kept");
        }
    }
}

/// Sends a writer its turn. It waits until it has one.
fn send_turn(writer: &SyncSender<WriterTurn>, turn: WriterTurn) {
    let _sent = writer.send(turn);
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
