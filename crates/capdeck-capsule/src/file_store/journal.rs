//! What the disk may not have yet, in one file that it has: `journal/<number>.log`.
//!
//! A write is put into the journal with its signal and its audit line. The journal is synced once for all writers that
//! wait, and then everything goes to its place without waiting for the disk. The files at their places are what counts; the
//! journal is read when a process did not end as it should, to finish its last batch, and when the machine itself went
//! down, to make again what was lost then: see `recovery`. Once it has grown, everything is synced and the next one begins.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    io::{self, Seek as _, SeekFrom},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
    thread::{self, JoinHandle},
};

use jiff::Timestamp;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use super::{
    disk::{StoreDisk, WriteDurability},
    journal_record::{self, JournalChange},
};
use crate::{AuditLogLine, machine::boot_id};

/// Bytes from which on a journal is closed and the next one started.
const MAX_JOURNAL_BYTES: u64 = 8 * 1024 * 1024;
/// Bytes of nothing that a journal is lengthened by. Overwriting them costs the disk less than a file that grows.
const PREALLOCATED_BYTES: usize = 256 * 1024;
/// Places up to which each one is synced by itself. Syncing all of the disk waits for what others wrote, too.
const MAX_SINGLE_SYNCS: usize = 64;
/// Threads that wait for the disk at the same time.
const MAX_SYNC_THREADS: usize = 16;

/// The first line of a journal.
#[derive(Debug, Serialize, Deserialize)]
struct JournalHeader {
    /// Which run of the machine it belongs to: as long as that lasts, nothing is lost by a process that dies.
    boot: Option<String>,
}

/// A journal that a process left.
#[derive(Debug)]
pub(super) struct LeftoverJournal {
    pub(super) path: PathBuf,
    number: u64,
    bytes: Vec<u8>,
}

#[derive(Debug, Clone)]
struct JournalFolder {
    /// The capsule's.
    root: PathBuf,
    folder: PathBuf,
    durability: WriteDurability,
}

#[derive(Debug)]
pub(super) struct StoreJournal {
    place: JournalFolder,
    next: AtomicU64,
    /// Started by the first write.
    current: Mutex<Option<JournalSegment>>,
    settling: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Debug)]
struct JournalSegment {
    path: PathBuf,
    file: File,
    /// Up to the end of the last record.
    length: u64,
    /// Up to the end of the room behind it.
    whole: u64,
    /// The files it speaks of, below the capsule's folder.
    places: BTreeSet<String>,
}

impl StoreJournal {
    pub(super) fn new(root: &Path, folder: PathBuf, durability: WriteDurability) -> Self {
        Self {
            place: JournalFolder { root: root.to_owned(), folder, durability },
            next: AtomicU64::new(1),
            current: Mutex::default(),
            settling: Mutex::default(),
        }
    }

    /// Adds changes; returns when they last. One writer at a time.
    pub(super) fn append<'a>(
        &self,
        changes: &[JournalChange<'_>],
        lines: impl Iterator<Item = &'a AuditLogLine>,
        disk: &StoreDisk,
    ) -> io::Result<()> {
        let mut record = journal_record::encode(Timestamp::now(), changes, lines)?;
        let length = record.len() as u64;
        let mut current = self.current.lock();
        let segment = match &mut *current {
            Some(segment) => segment,
            none => none.insert(self.begin(disk)?),
        };
        let end = segment.length + length;
        if end > segment.whole && self.place.durability == WriteDurability::Synced {
            record.resize(record.len() + PREALLOCATED_BYTES, 0);
        }
        let added = segment
            .file
            .seek(SeekFrom::Start(segment.length))
            .and_then(|_| disk.append(&mut segment.file, &record))
            .and_then(|()| disk.sync_file(&segment.file));
        if let Err(error) = added {
            // Its writer gets an error, so it must not be made again later.
            segment.file.set_len(segment.length).ok();
            segment.whole = segment.length;
            return Err(error);
        }
        segment.whole = segment.whole.max(segment.length + record.len() as u64);
        segment.length = end;
        segment.places.extend(changes.iter().map(|redo| redo.path.clone()));
        Ok(())
    }

    /// Closes a journal that has grown, and sees to it beside the writers that it is not needed any more.
    pub(super) fn rotate(&self) {
        let mut settling = self.settling.lock();
        if settling.as_ref().is_some_and(|thread| !thread.is_finished()) {
            return;
        }
        let mut current = self.current.lock();
        if let Some(full) = current.take_if(|segment| segment.length >= MAX_JOURNAL_BYTES) {
            let place = self.place.clone();
            *settling = Some(thread::spawn(move || {
                if let Err(error) = place.sync_and_remove(&full.places, &[full.path]) {
                    tracing::error!(%error, "the disk did not confirm what was written; the journal is kept");
                }
            }));
        }
    }

    /// Waits until the disk has everything, and needs no journal any more.
    pub(super) fn finish(&self) -> io::Result<()> {
        let earlier = self.settling.lock().take();
        // It has logged what went wrong, if anything did.
        earlier.map(JoinHandle::join);
        match self.current.lock().take() {
            Some(last) => self.place.sync_and_remove(&last.places, &[last.path]),
            None => Ok(()),
        }
    }

    /// The journals that processes left, oldest first.
    pub(super) fn leftover_journals(&self) -> io::Result<Vec<LeftoverJournal>> {
        let mut found = Vec::new();
        for entry in fs::read_dir(&self.place.folder)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let number = name.strip_suffix(".log").and_then(|number| number.parse().ok());
            if let Some(number) =
                number.filter(|_| entry.file_type().is_ok_and(|kind| kind.is_file()))
            {
                found.push(LeftoverJournal {
                    number,
                    bytes: fs::read(entry.path())?,
                    path: entry.path(),
                });
            }
        }
        found.sort_by_key(|left| left.number);
        self.next.store(found.last().map_or(1, |last| last.number + 1), Ordering::Relaxed);
        Ok(found)
    }

    /// Makes what journals speak of last as it is now, and removes them.
    pub(super) fn forget(&self, left: &[LeftoverJournal]) -> io::Result<()> {
        let records = left.iter().flat_map(LeftoverJournal::records);
        let places = records.flat_map(|record| record.changes).map(|redo| redo.path).collect();
        let paths: Vec<PathBuf> = left.iter().map(|left| left.path.clone()).collect();
        self.place.sync_and_remove(&places, &paths)
    }

    fn begin(&self, disk: &StoreDisk) -> io::Result<JournalSegment> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let path = self.place.folder.join(format!("{number}.log"));
        let mut file =
            capdeck_storage::private_options().write(true).create_new(true).open(&path)?;
        let mut opening =
            serde_json::to_vec(&JournalHeader { boot: boot_id() }).map_err(io::Error::other)?;
        opening.push(b'\n');
        disk.append(&mut file, &opening)?;
        disk.sync_folder(&self.place.folder)?;
        let length = opening.len() as u64;
        Ok(JournalSegment { path, file, length, whole: length, places: BTreeSet::new() })
    }
}

impl Drop for StoreJournal {
    fn drop(&mut self) {
        self.settling.get_mut().take().map(JoinHandle::join);
    }
}

impl LeftoverJournal {
    /// Whether the machine went down since it was started, as far as is known.
    pub(super) fn is_of_another_boot(&self) -> bool {
        let opening = self.parts().and_then(|(line, _)| serde_json::from_slice(line).ok());
        let boot = opening.and_then(|opening: JournalHeader| opening.boot);
        boot.is_none() || boot != boot_id()
    }

    pub(super) fn records(&self) -> Vec<journal_record::JournalRecord<'_>> {
        self.parts().map(|(_, records)| journal_record::decode(records)).unwrap_or_default()
    }

    fn parts(&self) -> Option<(&[u8], &[u8])> {
        let end = self.bytes.iter().position(|byte| *byte == b'\n')?;
        let (line, rest) = self.bytes.split_at_checked(end)?;
        Some((line, rest.strip_prefix(b"\n")?))
    }
}

impl JournalFolder {
    /// Syncs what journals speak of, then removes them.
    fn sync_and_remove(&self, places: &BTreeSet<String>, journals: &[PathBuf]) -> io::Result<()> {
        let Self { root, folder, durability } = self;
        if *durability == WriteDurability::Cached {
            return journals.iter().try_for_each(fs::remove_file);
        }
        if places.len() <= MAX_SINGLE_SYNCS {
            sync_places(root, places)?;
        } else {
            sync_disk(root).or_else(|_| sync_places(root, places))?;
        }
        journals.iter().try_for_each(fs::remove_file)?;
        sync_folder(folder)
    }
}

/// Everything on the disk that the folder is on.
#[cfg(target_os = "linux")]
fn sync_disk(root: &Path) -> io::Result<()> {
    Ok(rustix::fs::syncfs(File::open(root)?)?)
}

#[cfg(not(target_os = "linux"))]
fn sync_disk(_root: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Files and the folders that name them, side by side: the disk confirms many about as fast as one.
fn sync_places(root: &Path, places: &BTreeSet<String>) -> io::Result<()> {
    let files: BTreeSet<PathBuf> = places.iter().map(|place| root.join(place)).collect();
    let folders: BTreeSet<&Path> = files
        .iter()
        .flat_map(|file| file.ancestors().skip(1).take_while(|above| above.starts_with(root)))
        .collect();
    let sync_file = |path: &Path| {
        // Removed since, or no file of ours any more: then it is the folder that counts.
        let is_file = fs::symlink_metadata(path).is_ok_and(|known| known.is_file());
        if is_file { File::open(path)?.sync_all() } else { Ok(()) }
    };
    let all: Vec<(&Path, bool)> = files
        .iter()
        .map(|file| (file.as_path(), true))
        .chain(folders.into_iter().map(|folder| (folder, false)))
        .collect();
    let sync_part = |part: &[(&Path, bool)]| {
        part.iter().try_for_each(
            |(path, is_file)| {
                if *is_file { sync_file(path) } else { sync_folder(path) }
            },
        )
    };
    thread::scope(|scope| {
        let parts = all.chunks(all.len().div_ceil(MAX_SYNC_THREADS).max(1));
        let running: Vec<_> = parts.map(|part| scope.spawn(move || sync_part(part))).collect();
        let joined = running
            .into_iter()
            .map(|handle| handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        joined.fold(Ok(()), io::Result::and)
    })
}

/// Makes the names in a folder last; one that is gone has none.
fn sync_folder(folder: &Path) -> io::Result<()> {
    #[cfg(unix)]
    match File::open(folder) {
        Ok(folder) => folder.sync_all()?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    #[cfg(not(unix))]
    let _ = folder;
    Ok(())
}
