//! One capsule's files with what is known of them in memory. Everything here blocks; [`crate::FileStore`] runs it on
//! threads meant for that.

use std::{
    fs, io,
    path::Path,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
};

use parking_lot::{Mutex, RwLock};
use tokio::sync::broadcast;

use super::{
    capsule_files::CapsuleFiles,
    entry_cache::EntryCache,
    layout,
    live_index::LiveIndex,
    scan::{self, ScanResult},
    schemes_file,
    store_state::StoreState,
    version_files::{LoadedVersion, VersionIntegrity},
};
use crate::{
    ChangeEvent, ChangeKind, Entry, EntryMeta, EntryUri, Scheme, StoreError, StoreOptions,
    StoreResult, scheme,
};

/// Changes that a slow subscriber may lie behind.
const CHANGE_BACKLOG: usize = 1_024;

#[derive(Debug)]
pub(crate) struct StoreEngine {
    pub(crate) files: CapsuleFiles,
    pub(crate) state: RwLock<StoreState>,
    pub(super) index: LiveIndex,
    pub(super) changes: broadcast::Sender<ChangeEvent>,
    pub(super) recent: EntryCache,
    /// Held for reading by whatever adds, moves or removes files of entries: blobs are collected while nothing does.
    pub(super) blobs_in_use: RwLock<()>,
    pub(super) used: UsedBytes,
    /// The data folder's lock, which must outlive every write.
    pub(super) lock: Mutex<Option<Arc<std::fs::File>>>,
}

/// Bytes of bodies, old versions and blobs: counted when the first write asks, then every write adds its own.
#[derive(Debug, Default)]
pub(super) struct UsedBytes(OnceLock<AtomicU64>);

impl UsedBytes {
    pub(super) fn add(&self, bytes: u64) {
        if let Some(used) = self.0.get() {
            used.fetch_add(bytes, Ordering::Relaxed);
        }
    }

    pub(super) fn sub(&self, bytes: u64) {
        if let Some(used) = self.0.get() {
            let _ = used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
                Some(used.saturating_sub(bytes))
            });
        }
    }
}

impl StoreEngine {
    /// Opens the capsule in a folder, which is made when it is not there.
    pub(crate) fn open(root: &Path, options: StoreOptions) -> StoreResult<Self> {
        let files = CapsuleFiles::open(root, options)?;
        let schemes = schemes_file::load(&files.layout, &files.options.schemes)?;
        let engine = Self {
            files,
            state: RwLock::new(StoreState { schemes, ..StoreState::default() }),
            index: LiveIndex::default(),
            changes: broadcast::Sender::new(CHANGE_BACKLOG),
            recent: EntryCache::default(),
            blobs_in_use: RwLock::new(()),
            used: UsedBytes::default(),
            lock: Mutex::new(None),
        };
        let ScanResult { entries, deleted, problems } = scan::scan(&engine);
        for problem in &problems {
            tracing::warn!(path = problem.place, what = problem.what, "left out of the capsule");
        }
        let mut state = engine.state.write();
        state.problems = problems;
        for deleted in deleted {
            state.remove(&deleted.uri.clone(), Some(deleted));
        }
        for meta in entries {
            state.insert(Arc::new(meta));
        }
        drop(state);
        Ok(engine)
    }

    pub(crate) fn scheme(&self, uri: &EntryUri) -> StoreResult<Scheme> {
        scheme::find(&self.state.read().schemes, uri.scheme()).cloned()
    }

    pub(super) fn current(&self, uri: &EntryUri) -> Option<Arc<EntryMeta>> {
        self.state.read().entries.get(uri).cloned()
    }

    /// An entry in a version, the current one if none is named.
    pub(crate) fn read(&self, uri: &EntryUri, version: Option<u64>) -> StoreResult<Entry> {
        if let Some(entry) = self.recent.get(uri, version) {
            return Ok(entry);
        }
        let scheme = self.scheme(uri)?;
        let not_found = || StoreError::NotFound { uri: uri.clone(), version };
        let current = self.current(uri).ok_or_else(not_found)?;
        if version.is_none_or(|version| version == current.version) {
            let entry = self.read_current(uri, &scheme)?.ok_or_else(not_found)?;
            // It may have been replaced between the two looks.
            if version.is_none_or(|version| version == entry.meta.version) {
                return Ok(entry);
            }
        }
        let version = version.unwrap_or(current.version);
        self.files.layout.load_version(uri, version, scheme.format)?.ok_or_else(not_found)
    }

    /// The current version; `None` when there is no file.
    fn read_current(&self, uri: &EntryUri, scheme: &Scheme) -> StoreResult<Option<Entry>> {
        let files = self.files.layout.current(uri, scheme);
        match self.files.layout.load(uri, &files, scheme.format)? {
            // The two files of a JSON entry are replaced one after the other; wait for the writer.
            Some(LoadedVersion { fit: VersionIntegrity::Apart, .. }) => {
                let _waited = self.files.stripe(&uri.folded()).lock();
                self.read_quiet(uri, scheme)
            }
            Some(LoadedVersion { entry, files, .. }) => {
                self.recent.put(&entry, files);
                Ok(Some(entry))
            }
            None => Ok(None),
        }
    }

    /// The current version, read by the one who holds its lock.
    pub(super) fn read_quiet(&self, uri: &EntryUri, scheme: &Scheme) -> StoreResult<Option<Entry>> {
        let files = self.files.layout.current(uri, scheme);
        let loaded = self.files.layout.load(uri, &files, scheme.format)?;
        Ok(loaded.map(LoadedVersion::into_found))
    }

    /// All kept versions, oldest first.
    pub(crate) fn history(&self, uri: &EntryUri) -> StoreResult<Vec<EntryMeta>> {
        let scheme = self.scheme(uri)?;
        let not_found = || StoreError::NotFound { uri: uri.clone(), version: None };
        let _entry = self.files.stripe(&uri.folded()).lock();
        self.current(uri).ok_or_else(not_found)?;
        let current = self.read_quiet(uri, &scheme)?.ok_or_else(not_found)?.meta;
        let mut found = Vec::new();
        for version in self.kept_versions(uri, &scheme)? {
            // A version kept by a write that was cut off is the current one.
            if version < current.version {
                let old = self.files.layout.load_version(uri, version, scheme.format)?;
                found.extend(old.map(|entry| entry.meta));
            }
        }
        found.push(current);
        Ok(found)
    }

    /// The numbers of the versions in an entry's history folder, in order.
    pub(crate) fn kept_versions(&self, uri: &EntryUri, scheme: &Scheme) -> StoreResult<Vec<u64>> {
        let folder = self.files.layout.history_folder(uri);
        self.files.layout.check_folder(&folder)?;
        let listed = capdeck_storage::list_folder(&folder);
        let listed = listed.map_err(StoreError::io(format!("read the history of `{uri}`")))?;
        let names = listed.iter().map(fs::DirEntry::file_name);
        let version = |name: std::ffi::OsString| layout::version_of(name.to_str()?, scheme.format);
        let mut found: Vec<u64> = names.filter_map(version).collect();
        found.sort_unstable();
        Ok(found)
    }

    pub(super) fn publish_change(&self, kind: ChangeKind, uri: &EntryUri, version: u64) {
        // There may be no subscriber.
        let at = self.files.options.clock.now();
        self.changes.send(ChangeEvent { uri: uri.clone(), version, kind, at }).ok();
    }

    /// Fails when a new version does not fit into the capsule.
    pub(super) fn check_quota(
        &self,
        meta: &EntryMeta,
        exists: bool,
        blob: usize,
    ) -> StoreResult<()> {
        let limits = &self.files.options.limits;
        if !exists && self.state.read().entries.len() as u64 >= limits.entries {
            return Err(StoreError::QuotaExceeded { what: "entries", most: limits.entries });
        }
        if self.used()? + meta.bytes + blob as u64 > limits.bytes {
            return Err(StoreError::QuotaExceeded { what: "bytes", most: limits.bytes });
        }
        Ok(())
    }

    fn used(&self) -> StoreResult<u64> {
        if let Some(used) = self.used.0.get() {
            return Ok(used.load(Ordering::Relaxed));
        }
        let current: u64 = self.state.read().entries.values().map(|meta| meta.bytes).sum();
        let root = self.files.layout.root();
        let folders = ["history", "blobs"].iter();
        let kept = folders.map(|name| size_of(&root.join(name))).sum::<io::Result<u64>>();
        let kept = kept.map_err(StoreError::io("count the capsule's bytes"))?;
        let used = self.used.0.get_or_init(|| AtomicU64::new(current + kept));
        Ok(used.load(Ordering::Relaxed))
    }
}

fn size_of(folder: &Path) -> io::Result<u64> {
    let mut sum = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            sum += size_of(&entry.path())?;
        } else if kind.is_file() {
            sum += entry.metadata()?.len();
        }
    }
    Ok(sum)
}
