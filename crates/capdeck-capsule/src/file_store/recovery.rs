//! Finishes what a process that was killed began, and makes again what a machine lost that went down: see `journal`.

use std::{
    collections::BTreeMap,
    fs,
    io::{self, Read as _, Seek as _, SeekFrom, Write as _},
    path::{Component, Path, PathBuf},
    time::SystemTime,
};

use jiff::Timestamp;

use super::{
    disk::StoreDisk,
    journal::{LeftoverJournal, StoreJournal},
    journal_record::{FileOperation, JournalRecord},
    layout::CapsuleLayout,
};
use crate::{AuditLogLine, StoreError, StoreResult, audit::ChainedAuditLog};

/// What a file is to be in the end.
enum RecoveredFile<'a> {
    Whole(&'a [u8]),
    Removed,
    /// From here on it goes like this.
    Ends {
        start: u64,
        bytes: Vec<u8>,
    },
}

/// Deals with the journals that an earlier process left.
///
/// A process that was killed has brought all its batches to their places but the last one, which is finished here: a change
/// is made with its signal and its audit line, or not at all. A machine that went down may have lost anything that was not
/// synced, so everything is gone through.
pub(super) fn recover(
    layout: &CapsuleLayout,
    journal: &StoreJournal,
    disk: &StoreDisk,
    audit: &ChainedAuditLog,
) -> StoreResult<()> {
    let failed = || StoreError::io("go through the journal of what was written last");
    let left = journal.leftover_journals().map_err(failed())?;
    if left.is_empty() {
        return Ok(());
    }
    let mut records: Vec<JournalRecord<'_>> =
        left.iter().flat_map(LeftoverJournal::records).collect();
    let lines: Vec<AuditLogLine> =
        records.iter_mut().flat_map(|record| std::mem::take(&mut record.lines)).collect();
    let has_machine_gone_down = left.iter().any(LeftoverJournal::is_of_another_boot);
    let start = if has_machine_gone_down { 0 } else { records.len().saturating_sub(1) };
    let remade = make_again(layout, disk, records.get(start..).unwrap_or_default())?;
    if remade > 0 {
        tracing::info!(files = remade, "changes that were cut off were finished from the journal");
    }
    match audit.recover(lines) {
        Ok(0) => {}
        Ok(lines) => tracing::info!(lines, "missing audit lines were written from the journal"),
        Err(error) => {
            // The capsule can be used; the lines are owed, and the journal has them until they are written.
            tracing::error!(%error, "missing audit lines could not be written; the journal is kept");
            return Ok(());
        }
    }
    journal.forget(&left).map_err(failed())
}

/// Brings files to what the records say in the end; returns how many were not that.
fn make_again(
    layout: &CapsuleLayout,
    disk: &StoreDisk,
    records: &[JournalRecord<'_>],
) -> StoreResult<usize> {
    let mut remade = 0;
    for (path, (at, last)) in in_the_end(records) {
        let Some(path) = place(layout, path) else {
            return Err(StoreError::UnsafePath {
                path: path.to_owned(),
                found: "the journal names no such file",
            });
        };
        layout.check_file(&path)?;
        // It was changed by hand since; unless it is what the journal put there, by a clock that went back later.
        let is_newer =
            |changed: SystemTime| Timestamp::try_from(changed).is_ok_and(|then| then > at);
        let known = fs::symlink_metadata(&path);
        let looks_newer = known.as_ref().is_ok_and(|known| known.modified().is_ok_and(is_newer));
        let is_ours = !looks_newer || was_put(records, &path);
        let made = match last {
            RecoveredFile::Whole(bytes) if is_ours || known.is_ok_and(|known| known.len() == 0) => {
                put(&path, bytes, disk)
            }
            RecoveredFile::Removed if is_ours => remove(&path, disk),
            RecoveredFile::Ends { start, bytes } => end_with(&path, start, &bytes),
            RecoveredFile::Whole(_) | RecoveredFile::Removed => Ok(false),
        };
        let shown = layout.display_path(&path);
        remade += usize::from(made.map_err(StoreError::io(format!("write `{shown}` again")))?);
    }
    Ok(remade)
}

/// Whether a file is what some record says that a file is to be.
fn was_put(records: &[JournalRecord<'_>], path: &Path) -> bool {
    let Ok(found) = fs::read(path) else { return false };
    let mut changes = records.iter().flat_map(|record| &record.changes);
    changes.any(|redo| matches!(redo.change, FileOperation::Put(bytes) if bytes == found))
}

fn in_the_end<'a>(
    records: &'a [JournalRecord<'a>],
) -> BTreeMap<&'a str, (Timestamp, RecoveredFile<'a>)> {
    let mut files: BTreeMap<&str, (Timestamp, RecoveredFile<'_>)> = BTreeMap::new();
    for record in records {
        for redo in &record.changes {
            let last = match (&redo.change, files.remove(redo.path.as_str())) {
                (FileOperation::Put(bytes), _) => RecoveredFile::Whole(bytes),
                (FileOperation::Remove, _) => RecoveredFile::Removed,
                (
                    FileOperation::Append { bytes, .. },
                    Some((_, RecoveredFile::Ends { start, bytes: mut all })),
                ) => {
                    all.extend_from_slice(bytes);
                    RecoveredFile::Ends { start, bytes: all }
                }
                (FileOperation::Append { start, bytes }, _) => {
                    RecoveredFile::Ends { start: *start, bytes: bytes.to_vec() }
                }
            };
            files.insert(&redo.path, (record.at, last));
        }
    }
    files
}

/// Where a path of the journal leads; nowhere when it could lead out of the capsule.
fn place(layout: &CapsuleLayout, path: &str) -> Option<PathBuf> {
    let path = Path::new(path);
    let is_below = path.components().all(|part| matches!(part, Component::Normal(_)));
    (is_below && path.components().next().is_some()).then(|| layout.root().join(path))
}

fn put(path: &Path, bytes: &[u8], disk: &StoreDisk) -> io::Result<bool> {
    if fs::read(path).is_ok_and(|found| found == bytes) {
        return Ok(false);
    }
    if let Some(folder) = path.parent() {
        capdeck_storage::make_private_folder(folder)?;
    }
    let staged = disk.stage(bytes)?;
    disk.rename(&staged.path, path)?;
    staged.placed();
    Ok(true)
}

fn remove(path: &Path, disk: &StoreDisk) -> io::Result<bool> {
    let is_there = path.exists();
    disk.remove(path)?;
    Ok(is_there)
}

fn end_with(path: &Path, start: u64, bytes: &[u8]) -> io::Result<bool> {
    let mut options = capdeck_storage::private_options();
    let mut file = options.read(true).write(true).create(true).truncate(false).open(path)?;
    // What came before was synced; if it is missing nevertheless, the rest is better than nothing.
    let start = start.min(file.metadata()?.len());
    let mut found = Vec::new();
    file.seek(SeekFrom::Start(start))?;
    file.read_to_end(&mut found)?;
    if found.starts_with(bytes) {
        return Ok(false);
    }
    file.set_len(start)?;
    file.seek(SeekFrom::Start(start))?;
    file.write_all(bytes)?;
    Ok(true)
}
