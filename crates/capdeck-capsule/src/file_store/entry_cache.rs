//! Entries read lately, each as long as its files are still the ones that were read.
//!
//! Nothing here is a second truth: a file that was touched since, by the store or by hand, has another stamp and is read
//! again.

use std::{
    fs, io, mem,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime},
};

use parking_lot::Mutex;
use rustc_hash::FxHashMap;

use crate::{Entry, EntryUri};

/// Bytes of bodies that are kept at most; half of them for sure.
const MAX_CACHE_BYTES: usize = 64 * 1024 * 1024;
/// What a kept entry takes besides its body, roughly.
const ENTRY_OVERHEAD_BYTES: usize = 1024;
/// A file younger than this is not kept: it could change once more within the same tick of its file system's clock,
/// and its stamp would not show it.
const MIN_STAMP_AGE: Duration = Duration::from_millis(100);

/// A file as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FileIdentity {
    length: u64,
    modified: Option<SystemTime>,
    /// Device, inode and the time of its last change, which cannot be set.
    #[cfg(unix)]
    identity: (u64, u64, i64, i64),
}

impl FileIdentity {
    pub(super) fn from_metadata(known: &fs::Metadata) -> Self {
        #[cfg(unix)]
        use std::os::unix::fs::MetadataExt as _;
        Self {
            length: known.len(),
            modified: known.modified().ok(),
            #[cfg(unix)]
            identity: (known.dev(), known.ino(), known.ctime(), known.ctime_nsec()),
        }
    }

    /// The stamp of a file that is there now, without following a link.
    fn at(path: &Path) -> io::Result<Self> {
        fs::symlink_metadata(path).map(|known| Self::from_metadata(&known))
    }

    fn is_settled(&self, now: SystemTime) -> bool {
        #[cfg(unix)]
        let changed = {
            let (_, _, seconds, nanoseconds) = self.identity;
            let since = Duration::new(
                u64::try_from(seconds).unwrap_or_default(),
                u32::try_from(nanoseconds).unwrap_or_default(),
            );
            SystemTime::UNIX_EPOCH.checked_add(since)
        };
        #[cfg(not(unix))]
        let changed = self.modified;
        let age = changed.and_then(|changed| now.duration_since(changed).ok());
        age.is_some_and(|age| age >= MIN_STAMP_AGE)
    }
}

#[derive(Debug)]
struct CachedEntry {
    entry: Entry,
    files: Vec<(PathBuf, FileIdentity)>,
}

impl CachedEntry {
    fn bytes(&self) -> usize {
        self.entry.body.len() + ENTRY_OVERHEAD_BYTES
    }

    fn is_current(&self) -> bool {
        self.files.iter().all(|(path, stamp)| FileIdentity::at(path).is_ok_and(|now| now == *stamp))
    }
}

/// Two generations: what is asked for moves into the young one, and when that is full the old one goes.
#[derive(Debug, Default)]
struct CacheGenerations {
    young: FxHashMap<EntryUri, Arc<CachedEntry>>,
    old: FxHashMap<EntryUri, Arc<CachedEntry>>,
    young_bytes: usize,
}

#[derive(Debug, Default)]
pub(super) struct EntryCache(Mutex<CacheGenerations>);

impl EntryCache {
    /// The entry as it is now, if it is kept and nothing touched its files. Looks at the files, but reads none.
    pub(super) fn get(&self, uri: &EntryUri, version: Option<u64>) -> Option<Entry> {
        let kept = self.0.lock().get(uri)?;
        let is_asked_for = version.is_none_or(|version| version == kept.entry.meta.version);
        (is_asked_for && kept.is_current()).then(|| kept.entry.clone())
    }

    /// Keeps an entry whose files had these stamps when they were read; without any, it is not known to be current.
    pub(super) fn put(&self, entry: &Entry, files: Vec<(PathBuf, FileIdentity)>) {
        let now = SystemTime::now();
        if !files.is_empty() && files.iter().all(|(_, stamp)| stamp.is_settled(now)) {
            let kept = Arc::new(CachedEntry { entry: entry.clone(), files });
            self.0.lock().put(kept);
        }
    }
}

impl CacheGenerations {
    fn get(&mut self, uri: &EntryUri) -> Option<Arc<CachedEntry>> {
        if let Some(kept) = self.young.get(uri) {
            return Some(Arc::clone(kept));
        }
        let kept = self.old.remove(uri)?;
        self.put(Arc::clone(&kept));
        Some(kept)
    }

    fn put(&mut self, kept: Arc<CachedEntry>) {
        let uri = kept.entry.meta.uri.clone();
        self.young_bytes += kept.bytes();
        if let Some(before) = self.young.insert(uri, kept) {
            self.young_bytes -= before.bytes();
        }
        if self.young_bytes > MAX_CACHE_BYTES / 2 {
            self.old = mem::take(&mut self.young);
            self.young_bytes = 0;
        }
    }
}
