//! One capsule's files with what is known of them in memory. Everything here blocks; [`crate::FileStore`] runs it on
//! threads meant for that.

use std::{fs, path::Path, sync::Arc};

use parking_lot::{Mutex, RwLock};
use tokio::sync::broadcast;

use super::{
    capsule_files::CapsuleFiles,
    disk,
    entry_cache::EntryCache,
    layout,
    live_index::LiveIndex,
    quota::UsedBytes,
    scan::{self, ScanResult},
    schemes_file,
    store_state::StoreState,
    version_files::{LoadedVersion, VersionIntegrity},
};
use crate::{
    ChangeEvent, ChangeKind, Entry, EntryMeta, EntryUri, Scheme, StoreError, StoreOptions, scheme,
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
    /// Held for reading by writes, so that blobs are collected only while nobody adds one.
    pub(super) blobs_in_use: RwLock<()>,
    pub(super) used: UsedBytes,
    /// The data folder's lock, which must outlive every write.
    pub(super) lock: Mutex<Option<Arc<std::fs::File>>>,
}

impl StoreEngine {
    /// Opens the capsule in a folder, which is made when it is not there.
    pub(crate) fn open(root: &Path, options: StoreOptions) -> Result<Self, StoreError> {
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

    pub(crate) fn scheme(&self, uri: &EntryUri) -> Result<Scheme, StoreError> {
        scheme::find(&self.state.read().schemes, uri.scheme()).cloned()
    }

    pub(super) fn current(&self, uri: &EntryUri) -> Option<Arc<EntryMeta>> {
        self.state.read().entries.get(uri).cloned()
    }

    /// An entry in a version, the current one if none is named.
    pub(crate) fn read(&self, uri: &EntryUri, version: Option<u64>) -> Result<Entry, StoreError> {
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
    fn read_current(&self, uri: &EntryUri, scheme: &Scheme) -> Result<Option<Entry>, StoreError> {
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
    pub(super) fn read_quiet(
        &self,
        uri: &EntryUri,
        scheme: &Scheme,
    ) -> Result<Option<Entry>, StoreError> {
        let files = self.files.layout.current(uri, scheme);
        let loaded = self.files.layout.load(uri, &files, scheme.format)?;
        Ok(loaded.map(LoadedVersion::into_found))
    }

    /// All kept versions, oldest first.
    pub(crate) fn history(&self, uri: &EntryUri) -> Result<Vec<EntryMeta>, StoreError> {
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
    pub(crate) fn kept_versions(
        &self,
        uri: &EntryUri,
        scheme: &Scheme,
    ) -> Result<Vec<u64>, StoreError> {
        let folder = self.files.layout.history_folder(uri);
        self.files.layout.check_folder(&folder)?;
        let listed = disk::list_folder(&folder);
        let listed = listed.map_err(StoreError::io(format!("read the history of `{uri}`")))?;
        let names = listed.iter().map(fs::DirEntry::file_name);
        let version = |name: std::ffi::OsString| layout::version_of(name.to_str()?, scheme.format);
        let mut found: Vec<u64> = names.filter_map(version).collect();
        found.sort_unstable();
        Ok(found)
    }

    pub(super) fn publish_change(&self, kind: ChangeKind, uri: &EntryUri, version: u64) {
        // Nobody listening is fine.
        let at = self.files.options.clock.now();
        self.changes.send(ChangeEvent { uri: uri.clone(), version, kind, at }).ok();
    }
}
