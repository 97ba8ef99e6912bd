//! The files of one capsule, and the one way to change them: staged, journaled, put to their places together with their
//! signals and audit lines.

use std::{
    fs,
    hash::{BuildHasher as _, BuildHasherDefault},
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use parking_lot::Mutex;
use rustc_hash::FxHasher;

use super::{
    commit::{CommitJob, CommitReport, FileStep, GroupCommitter},
    disk::{self, StoreDisk},
    journal::StoreJournal,
    layout::CapsuleLayout,
    recovery,
    signal_log::SignalLog,
};
use crate::{
    AuditLogLine, ChangeAuthor, EntryUri, Scheme, StoreError, StoreMode, StoreOptions,
    audit::ChainedAuditLog, digest::hex,
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
    committer: GroupCommitter,
    stripes: Vec<Mutex<()>>,
}

impl CapsuleFiles {
    /// Opens the files of a capsule and finishes what an earlier process left half done.
    pub(super) fn open(root: &Path, options: StoreOptions) -> Result<Self, StoreError> {
        let layout = CapsuleLayout::new(root.to_owned());
        let disk = StoreDisk::new(layout.temp(), options.durability);
        let journal = StoreJournal::new(root, layout.journal(), options.durability);
        let mut audit = None;
        if options.mode == StoreMode::ReadWrite {
            for folder in layout.folders() {
                // Nothing is written through a link that somebody put there, and a file in the way is named.
                layout.check_folder(&folder)?;
                let what =
                    || format!("make the capsule's folder `{}`", layout.display_path(&folder));
                disk::make_private_folder(&folder).map_err(StoreError::io(what()))?;
                layout.check_folder(&folder)?;
            }
            disk.sweep().map_err(StoreError::io("remove unfinished files"))?;
            let log = ChainedAuditLog::open(layout.logs(), "", &options)
                .map_err(StoreError::io("open the audit"))?;
            recovery::recover(&layout, &journal, &disk, &log)?;
            audit = Some(Arc::new(log));
        }
        let signals = SignalLog::open(&layout, options.clock.clone())
            .map_err(StoreError::io("read the signals"))?;
        let stripes = (0..STRIPES).map(|_| Mutex::new(())).collect();
        let committer = GroupCommitter::new(journal);
        Ok(Self { layout, disk, options, signals, audit, committer, stripes })
    }

    pub(super) fn writable(&self) -> Result<(), StoreError> {
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

    /// Makes the folder of a file.
    pub(super) fn make_folder_of(&self, path: &Path) -> Result<(), StoreError> {
        self.layout.check_file(path)?;
        let Some(folder) = path.parent().filter(|folder| !folder.exists()) else { return Ok(()) };
        let what = format!("make the folder `{}`", self.layout.display_path(folder));
        disk::make_private_folder(folder).map_err(StoreError::io(what))
    }

    /// Does a job of a writer: see [`GroupCommitter`].
    pub(super) fn commit(&self, job: CommitJob) -> io::Result<CommitReport> {
        self.committer.commit(job, self)
    }

    /// Replaces a whole file that is no entry, with the line of that change.
    pub(super) fn replace_file(
        &self,
        to: PathBuf,
        bytes: serde_json::Result<Vec<u8>>,
        line: Option<AuditLogLine>,
        what: &'static str,
    ) -> Result<(), StoreError> {
        self.make_folder_of(&to)?;
        let failed = || StoreError::io(what);
        let bytes = bytes.map_err(io::Error::other).map_err(failed())?;
        let staged = self.disk.stage(&bytes).map_err(failed())?;
        let steps = vec![FileStep::Place { from: staged.path.clone(), to, bytes }];
        let committed = self.commit(CommitJob { steps, line, ..CommitJob::default() });
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
    ) -> Result<(), StoreError> {
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

    /// The line of a change, which is put into the journal together with the change itself. None where nobody records it.
    pub(super) fn line_of(
        &self,
        by: &ChangeAuthor,
        action: &'static str,
    ) -> Result<Option<AuditLogLine>, StoreError> {
        let Some(role) = by.role else { return Ok(None) };
        let mut id = [0_u8; CHANGE_ID_BYTES];
        getrandom::fill(&mut id)
            .map_err(|error| StoreError::io("name the change")(io::Error::other(error)))?;
        Ok(Some(AuditLogLine {
            ts: self.options.clock.now(),
            role: Some(role),
            change_id: Some(hex(&id)),
            ..AuditLogLine::new(&by.author, action)
        }))
    }

    /// A change that was made and whose line could not be written: in strict mode its caller has to know.
    pub(super) fn require_line(&self, unrecorded: Option<io::Error>) -> Result<(), StoreError> {
        self.options.audit.check_recorded(unrecorded.map_or(Ok(()), Err))
    }

    /// Waits until the disk has everything.
    pub(super) fn finish(&self) -> io::Result<()> {
        self.committer.finish(self.audit.as_deref())
    }
}
