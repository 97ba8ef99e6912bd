//! Taking entries away: deleted ones can come back, purged ones cannot.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{
    commit::{CommitJob, FileStep},
    disk::StagedPath,
    engine::StoreEngine,
    recorder::{ChangeDetails, ChangeRecorder},
    write_entry::change_signal,
};
use crate::{CapsuleAuthor, ChangeKind, DeletedEntry, EntryScope, EntryUri, Scheme, StoreError};

/// What is kept of an entry that is gone: `trash/<scheme>/<path>.json`. Its versions stay in the history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct EntryTombstone {
    pub(crate) uri: EntryUri,
    /// The last version.
    pub(crate) version: u64,
    pub(crate) deleted_by: String,
    pub(crate) deleted_at: Timestamp,
    /// Everything is to go; finished at the next start if a crash came between.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) is_purged: bool,
}

impl StoreEngine {
    pub(crate) fn delete(
        &self,
        uri: &EntryUri,
        if_version: Option<u64>,
        author: &CapsuleAuthor,
        recorder: Option<&ChangeRecorder>,
    ) -> Result<DeletedEntry, StoreError> {
        self.writable()?;
        let scheme = self.scheme(uri)?;
        let _entry = self.stripe(&uri.folded()).lock();
        let current = self.current(uri);
        let not_found = || StoreError::NotFound { uri: uri.clone(), version: None };
        let meta = current.clone().ok_or_else(not_found)?;
        self.check_version(uri, &scheme, if_version, current.as_deref(), None)?;
        let tombstone = self.tombstone(uri, meta.version, author);
        let mut job = CommitJob::default();
        // The past first, then the note, then the entry itself: only without the entry is the note believed.
        self.archive_version(uri, meta.version, &scheme, &mut job.steps)?;
        let staged = self.stage_tombstone(&tombstone, &mut job)?;
        let files = self.layout.current(uri, &scheme);
        job.steps
            .extend([Some(files.body), files.meta].into_iter().flatten().map(FileStep::Remove));
        job.signals.push(change_signal(ChangeKind::Deleted, uri, meta.version, author));
        let version = Some(meta.version);
        let note = ChangeDetails { action: "delete", uri: Some(uri), version, bytes: None };
        job.line = self.line_of(recorder, note)?;
        let unrecorded = self.remove(job, staged, uri, &scheme)?;
        let mut state = self.state.write();
        state.deleted.insert(uri.clone(), tombstone.clone());
        state.remove(uri);
        drop(state);
        self.forget(uri);
        self.publish_change(ChangeKind::Deleted, uri, meta.version);
        self.require_line(unrecorded)?;
        Ok(tombstone.into())
    }

    pub(crate) fn deleted(&self, scope: &EntryScope) -> Vec<DeletedEntry> {
        let state = self.state.read();
        let seen = state.deleted.values().filter(|tombstone| scope.reaches(&tombstone.uri));
        seen.cloned().map(DeletedEntry::from).collect()
    }

    pub(crate) fn purge(
        &self,
        uri: &EntryUri,
        author: &CapsuleAuthor,
        recorder: Option<&ChangeRecorder>,
    ) -> Result<(), StoreError> {
        self.writable()?;
        let scheme = self.scheme(uri)?;
        let _entry = self.stripe(&uri.folded()).lock();
        let current = self.current(uri);
        let deleted = self.state.read().deleted.get(uri).map(|tombstone| tombstone.version);
        let not_found = || StoreError::NotFound { uri: uri.clone(), version: None };
        let version =
            current.as_ref().map(|meta| meta.version).or(deleted).ok_or_else(not_found)?;
        let tombstone = EntryTombstone { is_purged: true, ..self.tombstone(uri, version, author) };
        let mut job = CommitJob::default();
        let staged = self.stage_tombstone(&tombstone, &mut job)?;
        job.signals.push(change_signal(ChangeKind::Purged, uri, version, author));
        let note = ChangeDetails { action: "purge", uri: Some(uri), ..ChangeDetails::default() };
        job.line = self.line_of(recorder, note)?;
        let unrecorded = self.remove(job, staged, uri, &scheme)?;
        let mut state = self.state.write();
        state.deleted.remove(uri);
        state.remove(uri);
        drop(state);
        self.forget(uri);
        self.publish_change(ChangeKind::Purged, uri, version);
        self.finish_purge(uri, &scheme)?;
        // What lay in the history is off the account by now.
        self.sub_used(current.map_or(0, |meta| meta.bytes));
        self.require_line(unrecorded)
    }

    /// Removes all files of a purged entry, its tombstone last.
    pub(super) fn finish_purge(&self, uri: &EntryUri, scheme: &Scheme) -> Result<(), StoreError> {
        let failed = || StoreError::io(format!("remove all of `{uri}`"));
        let current = self.layout.current(uri, scheme);
        let history = self.layout.history_folder(uri);
        self.layout.check_folder(&history)?;
        let (versions, bytes) = version_files(&history).map_err(failed())?;
        let files = [Some(current.body), current.meta].into_iter().flatten().chain(versions);
        let steps = files.chain([self.layout.tombstone(uri)]).map(FileStep::Remove).collect();
        self.commit(CommitJob { steps, ..CommitJob::default() }).map_err(failed())?;
        self.sub_used(bytes);
        // Empty folders go as far as they are empty; those of entries below stay.
        fs::remove_dir(&history).ok();
        Ok(())
    }

    fn tombstone(&self, uri: &EntryUri, version: u64, author: &CapsuleAuthor) -> EntryTombstone {
        let deleted_at = self.options.clock.now();
        EntryTombstone {
            uri: uri.clone(),
            version,
            deleted_by: author.written_by(),
            deleted_at,
            is_purged: false,
        }
    }

    fn stage_tombstone(
        &self,
        tombstone: &EntryTombstone,
        job: &mut CommitJob,
    ) -> Result<StagedPath, StoreError> {
        let to = self.layout.tombstone(&tombstone.uri);
        self.make_folder_of(&to)?;
        let text = serde_json::to_vec_pretty(tombstone).map_err(io::Error::other);
        let staged = text.and_then(|bytes| Ok((self.disk.stage(&bytes)?, bytes)));
        let (staged, bytes) =
            staged.map_err(StoreError::io(format!("delete `{}`", tombstone.uri)))?;
        job.steps.push(FileStep::Place { from: staged.path.clone(), to, bytes });
        Ok(staged)
    }

    /// Does a removal. Gives why its line is not written yet, if it is not.
    fn remove(
        &self,
        job: CommitJob,
        tombstone: StagedPath,
        uri: &EntryUri,
        scheme: &Scheme,
    ) -> Result<Option<io::Error>, StoreError> {
        match self.commit(job) {
            Ok(committed) => {
                tombstone.placed();
                Ok(committed.unrecorded)
            }
            Err(error) => {
                drop(tombstone);
                self.heal(uri, scheme);
                Err(StoreError::io(format!("delete `{uri}`"))(error))
            }
        }
    }

    fn forget(&self, uri: &EntryUri) {
        self.index.remove(uri);
    }
}

/// The version files of one entry, and their bytes together.
fn version_files(folder: &Path) -> io::Result<(Vec<PathBuf>, u64)> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((Vec::new(), 0)),
        Err(error) => return Err(error),
    };
    let (mut files, mut bytes) = (Vec::new(), 0);
    for entry in entries {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with('@') {
            bytes += entry.metadata()?.len();
            files.push(entry.path());
        }
    }
    Ok((files, bytes))
}

impl From<EntryTombstone> for DeletedEntry {
    fn from(tombstone: EntryTombstone) -> Self {
        let EntryTombstone { uri, version, deleted_by, deleted_at, is_purged: _ } = tombstone;
        Self { uri, version, deleted_by, deleted_at }
    }
}
