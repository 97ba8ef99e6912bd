//! Taking entries away: deleted ones can come back, purged ones cannot.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use capdeck_storage::list_folder;
use serde::{Deserialize, Serialize};

use super::{
    capsule_files::{CommitJob, FileStep},
    engine::StoreEngine,
    scan,
    write_entry::change_signal,
};
use crate::{
    AuditLogLine, ChangeAuthor, ChangeKind, DeletedEntry, EntryUri, Scheme, StoreError, StoreResult,
};

/// What is kept of an entry that is gone: `trash/<scheme>/<path>.json`. Its versions stay in the history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct EntryTombstone {
    #[serde(flatten)]
    pub(super) entry: DeletedEntry,
    /// Everything is to go; finished at the next start if a crash came between.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) is_purged: bool,
}

impl StoreEngine {
    pub(crate) fn delete(
        &self,
        uri: &EntryUri,
        if_version: Option<u64>,
        by: &ChangeAuthor,
    ) -> StoreResult<DeletedEntry> {
        self.files.writable()?;
        let scheme = self.scheme(uri)?;
        let _entry = self.files.stripe(&uri.folded()).lock();
        let current = self.current(uri);
        let not_found = || StoreError::NotFound { uri: uri.clone(), version: None };
        let version = current.as_ref().ok_or_else(not_found)?.version;
        self.check_version(uri, &scheme, if_version, current.as_deref(), None)?;
        let mut job = CommitJob::default();
        // The past first, then the note, then the entry itself: only without the entry is the note believed.
        self.files.archive_version(uri, version, &scheme, &mut job.steps)?;
        let line = self.files.line_of(by, "delete")?;
        job.line = Some(AuditLogLine { version: Some(version), uri: Some(uri.clone()), ..line });
        let (deleted, unrecorded) =
            self.remove(uri, &scheme, ChangeKind::Deleted, version, by, job)?;
        self.files.require_line(unrecorded)?;
        Ok(deleted)
    }

    pub(crate) fn purge(&self, uri: &EntryUri, by: &ChangeAuthor) -> StoreResult<()> {
        self.files.writable()?;
        let scheme = self.scheme(uri)?;
        let _entry = self.files.stripe(&uri.folded()).lock();
        let current = self.current(uri);
        let version = self.state.read().last_version(uri);
        let version =
            version.ok_or_else(|| StoreError::NotFound { uri: uri.clone(), version: None })?;
        let line = AuditLogLine { uri: Some(uri.clone()), ..self.files.line_of(by, "purge")? };
        let job = CommitJob { line: Some(line), ..CommitJob::default() };
        let (_, unrecorded) = self.remove(uri, &scheme, ChangeKind::Purged, version, by, job)?;
        self.finish_purge(uri, &scheme)?;
        // What lay in the history is off the account by now.
        self.used.sub(current.map_or(0, |meta| meta.bytes));
        self.files.require_line(unrecorded)
    }

    /// Does a job, puts a tombstone there and takes the entry away. Gives why its line is not written yet, if it is not.
    fn remove(
        &self,
        uri: &EntryUri,
        scheme: &Scheme,
        kind: ChangeKind,
        version: u64,
        by: &ChangeAuthor,
        mut job: CommitJob,
    ) -> StoreResult<(DeletedEntry, Option<io::Error>)> {
        let failed = || StoreError::io(format!("delete `{uri}`"));
        // A file that moves while blobs are collected would be read in neither place.
        let _blobs = self.blobs_in_use.read();
        let (deleted_by, deleted_at) = (by.author.written_by(), self.files.options.clock.now());
        let deleted = DeletedEntry { uri: uri.clone(), version, deleted_by, deleted_at };
        let is_purged = kind == ChangeKind::Purged;
        let tombstone = EntryTombstone { entry: deleted, is_purged };
        let to = self.files.layout.tombstone(uri);
        self.files.make_folder_of(&to)?;
        let bytes = serde_json::to_vec_pretty(&tombstone).map_err(io::Error::other);
        let bytes = bytes.map_err(failed())?;
        let staged = self.files.disk.stage(&bytes).map_err(failed())?;
        job.steps.push(FileStep::Place { from: staged.path.clone(), to, bytes });
        if !is_purged {
            let files = self.files.layout.current(uri, scheme);
            let files = [Some(files.body), files.meta].into_iter().flatten();
            job.steps.extend(files.map(FileStep::Remove));
        }
        job.signals.push(change_signal(kind, uri, version, &by.author));
        let committed = match self.files.commit(job) {
            Ok(committed) => committed,
            Err(error) => {
                drop(staged);
                scan::heal(&self.files, uri, scheme);
                return Err(failed()(error));
            }
        };
        staged.placed();
        let deleted = tombstone.entry;
        self.state.write().remove(uri, (!is_purged).then(|| deleted.clone()));
        self.index.remove(uri);
        self.publish_change(kind, uri, version);
        Ok((deleted, committed.unrecorded))
    }

    /// Removes all files of a purged entry, its tombstone last.
    pub(super) fn finish_purge(&self, uri: &EntryUri, scheme: &Scheme) -> StoreResult<()> {
        let failed = || StoreError::io(format!("remove all of `{uri}`"));
        let _blobs = self.blobs_in_use.read();
        let current = self.files.layout.current(uri, scheme);
        let history = self.files.layout.history_folder(uri);
        self.files.layout.check_folder(&history)?;
        let (versions, bytes) = version_files(&history).map_err(failed())?;
        let files = [Some(current.body), current.meta].into_iter().flatten().chain(versions);
        let steps = files.chain([self.files.layout.tombstone(uri)]).map(FileStep::Remove).collect();
        self.files.commit(CommitJob { steps, ..CommitJob::default() }).map_err(failed())?;
        self.used.sub(bytes);
        // Empty folders go as far as they are empty; those of entries below stay.
        fs::remove_dir(&history).ok();
        Ok(())
    }
}

/// The version files of one entry, and their bytes together.
fn version_files(folder: &Path) -> io::Result<(Vec<PathBuf>, u64)> {
    let (mut files, mut bytes) = (Vec::new(), 0);
    for entry in list_folder(folder)? {
        if entry.file_name().to_string_lossy().starts_with('@') {
            bytes += entry.metadata()?.len();
            files.push(entry.path());
        }
    }
    Ok((files, bytes))
}
