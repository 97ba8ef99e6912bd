//! One capsule's files with what is known of them in memory. Everything here blocks; [`crate::FileStore`] runs it on
//! threads meant for that.

use std::{
    collections::BTreeMap,
    fs,
    hash::{BuildHasher as _, BuildHasherDefault},
    io::{self, Read as _},
    path::{Path, PathBuf},
    sync::{Arc, OnceLock, atomic::AtomicU64},
    time::SystemTime,
};

use parking_lot::{Mutex, RwLock};
use rustc_hash::{FxHashMap, FxHasher};
use tokio::sync::broadcast;

use super::{
    commit::{CommitJob, CommitResult, CommitTargets, FileStep, GroupCommitter},
    disk::{self, StoreDisk},
    entry_cache::{EntryCache, FileIdentity},
    frontmatter,
    journal::StoreJournal,
    layout::{CapsuleLayout, EntryFiles},
    live_index::LiveIndex,
    recovery,
    remove_entry::EntryTombstone,
    scan::{self, ScanProblem},
    schemes_file,
    signal_log::SignalLog,
};
use crate::{
    AuditLogLine, ChangeEvent, Entry, EntryMeta, EntryUri, Scheme, StoreError, StoreMode,
    StoreOptions,
    audit::ChainedAuditLog,
    digest::sha256_hex,
    patch,
    scheme::{self, BodyFormat},
};

/// Locks for entries; two entries may share one.
const STRIPES: usize = 256;
/// Bytes for which room is made before a file is read.
const MAX_INITIAL_BUFFER: u64 = 2 * 1024 * 1024;
/// Changes that a slow subscriber may lie behind.
const CHANGE_BACKLOG: usize = 1_024;

#[derive(Debug)]
pub(crate) struct StoreEngine {
    pub(super) layout: CapsuleLayout,
    pub(super) disk: StoreDisk,
    pub(super) options: StoreOptions,
    pub(super) state: RwLock<StoreState>,
    committer: GroupCommitter,
    /// None where the capsule is only read.
    pub(super) audit: Option<Arc<ChainedAuditLog>>,
    pub(super) signals: SignalLog,
    pub(super) index: LiveIndex,
    pub(super) changes: broadcast::Sender<ChangeEvent>,
    recent: EntryCache,
    /// Held for reading by writes, so that blobs are collected only while nobody adds one.
    pub(super) blobs_in_use: RwLock<()>,
    /// Bytes of everything kept, counted when the first write asks.
    pub(super) used: OnceLock<AtomicU64>,
    /// The data folder's lock, which must outlive every write.
    pub(super) lock: Mutex<Option<Arc<fs::File>>>,
    stripes: Vec<Mutex<()>>,
}

/// Whether the files of a version are what was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum VersionIntegrity {
    Whole,
    /// Somebody put or changed them by hand.
    Edited,
    /// Body and sidecar are of different versions, or the body was edited.
    Apart,
}

/// A version as its files are.
struct LoadedVersion {
    entry: Entry,
    fit: VersionIntegrity,
    /// The files as they were when they were read.
    files: Vec<(PathBuf, FileIdentity)>,
}

/// What the files say.
#[derive(Debug, Default)]
pub(super) struct StoreState {
    pub(super) entries: BTreeMap<EntryUri, Arc<EntryMeta>>,
    /// Entries by their lower-case address.
    pub(super) folded: FxHashMap<String, EntryUri>,
    pub(super) deleted: BTreeMap<EntryUri, EntryTombstone>,
    pub(super) schemes: Vec<Scheme>,
    /// Files that were left out when the capsule was opened.
    pub(super) problems: Vec<ScanProblem>,
}

impl StoreState {
    pub(super) fn insert(&mut self, meta: Arc<EntryMeta>) {
        self.folded.insert(meta.uri.folded(), meta.uri.clone());
        self.deleted.remove(&meta.uri);
        self.entries.insert(meta.uri.clone(), meta);
    }

    pub(super) fn remove(&mut self, uri: &EntryUri) {
        self.entries.remove(uri);
        // A deleted entry keeps its name: it can come back.
        if !self.deleted.contains_key(uri) {
            self.folded.remove(&uri.folded());
        }
    }
}

impl StoreEngine {
    /// Opens the capsule in a folder, which is made when it is not there.
    pub(crate) fn open(root: &Path, options: StoreOptions) -> Result<Self, StoreError> {
        let layout = CapsuleLayout::new(root.to_owned());
        let disk = StoreDisk::new(layout.temp(), options.durability);
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
        }
        let journal = StoreJournal::new(root, layout.journal(), options.durability);
        let audit = match options.mode {
            StoreMode::ReadOnly => None,
            StoreMode::ReadWrite => {
                let audit = ChainedAuditLog::open(layout.logs(), "", &options)
                    .map_err(StoreError::io("open the audit"))?;
                recovery::recover(&layout, &journal, &disk, &audit)?;
                Some(Arc::new(audit))
            }
        };
        let schemes = schemes_file::load(&layout, &options.schemes)?;
        let signals = SignalLog::open(&layout, options.clock.clone())
            .map_err(StoreError::io("read the signals"))?;
        let engine = Self {
            disk,
            signals,
            state: RwLock::new(StoreState { schemes, ..StoreState::default() }),
            committer: GroupCommitter::new(journal),
            audit,
            index: LiveIndex::default(),
            changes: broadcast::Sender::new(CHANGE_BACKLOG),
            recent: EntryCache::default(),
            blobs_in_use: RwLock::new(()),
            used: OnceLock::new(),
            lock: Mutex::new(None),
            stripes: (0..STRIPES).map(|_| Mutex::new(())).collect(),
            layout,
            options,
        };
        let scanned = scan::scan(&engine);
        for problem in &scanned.problems {
            tracing::warn!(path = problem.path, what = problem.what, "left out of the capsule");
        }
        let mut state = engine.state.write();
        state.problems = scanned.problems;
        for (uri, tombstone) in scanned.deleted {
            state.folded.insert(uri.folded(), uri.clone());
            state.deleted.insert(uri, tombstone);
        }
        for meta in scanned.entries {
            state.insert(Arc::new(meta));
        }
        drop(state);
        Ok(engine)
    }

    pub(super) fn writable(&self) -> Result<(), StoreError> {
        match self.options.mode {
            StoreMode::ReadWrite => Ok(()),
            StoreMode::ReadOnly => Err(StoreError::ReadOnly),
        }
    }

    /// The lock of an entry, shared with its case twins.
    pub(super) fn stripe(&self, name: &str) -> &Mutex<()> {
        let hash = BuildHasherDefault::<FxHasher>::default().hash_one(name);
        // There is always a first one.
        self.stripes.get(hash as usize % STRIPES).unwrap_or_else(|| &self.stripes[0])
    }

    pub(super) fn scheme(&self, uri: &EntryUri) -> Result<Scheme, StoreError> {
        scheme::find(&self.state.read().schemes, uri.scheme()).cloned()
    }

    pub(super) fn current(&self, uri: &EntryUri) -> Option<Arc<EntryMeta>> {
        self.state.read().entries.get(uri).cloned()
    }

    /// An entry that was read lately and not touched since. No file is read for it.
    pub(crate) fn recall(&self, uri: &EntryUri, version: Option<u64>) -> Option<Entry> {
        self.recent.get(uri, version)
    }

    /// An entry in a version, the current one if none is named.
    pub(crate) fn read(&self, uri: &EntryUri, version: Option<u64>) -> Result<Entry, StoreError> {
        if let Some(entry) = self.recall(uri, version) {
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
        let files = self.layout.version(uri, version.unwrap_or(current.version), scheme.format);
        self.read_files(uri, &files, scheme.format)?.ok_or_else(not_found)
    }

    /// The current version; `None` when there is no file.
    pub(super) fn read_current(
        &self,
        uri: &EntryUri,
        scheme: &Scheme,
    ) -> Result<Option<Entry>, StoreError> {
        let files = self.layout.current(uri, scheme);
        match self.find(uri, &files, scheme.format)? {
            // The two files of a JSON entry are replaced one after the other; wait for the writer.
            Some(LoadedVersion { fit: VersionIntegrity::Apart, .. }) => {
                let _waited = self.stripe(&uri.folded()).lock();
                self.read_quiet(uri, scheme)
            }
            Some(LoadedVersion { entry, files, .. }) => {
                self.recent.put(&entry, files);
                Ok(Some(entry))
            }
            None => Ok(None),
        }
    }

    /// The current version, read by the one who holds its lock. A JSON file that does not fit its sidecar was edited
    /// by somebody then, and is read as it is.
    pub(super) fn read_quiet(
        &self,
        uri: &EntryUri,
        scheme: &Scheme,
    ) -> Result<Option<Entry>, StoreError> {
        let files = self.layout.current(uri, scheme);
        self.check_files(&files)?;
        self.read_walked(uri, &files, scheme)
    }

    /// The same, from files on a way that was walked without meeting a link.
    pub(super) fn read_walked(
        &self,
        uri: &EntryUri,
        files: &EntryFiles,
        scheme: &Scheme,
    ) -> Result<Option<Entry>, StoreError> {
        Ok(take_files(uri, files, scheme.format)?.map(|found| {
            let LoadedVersion { mut entry, fit, .. } = found;
            if fit == VersionIntegrity::Apart {
                entry.meta.content_sha256 = sha256_hex(entry.body.as_bytes());
                entry.meta.bytes = entry.body.len() as u64;
            }
            entry
        }))
    }

    /// A version whose files fit each other.
    pub(super) fn read_files(
        &self,
        uri: &EntryUri,
        files: &EntryFiles,
        format: BodyFormat,
    ) -> Result<Option<Entry>, StoreError> {
        match self.read_pair(uri, files, format)? {
            Some((_, VersionIntegrity::Apart)) => Err(StoreError::Damaged {
                uri: uri.clone(),
                reason: "its content is not what its sidecar describes".to_owned(),
            }),
            read => Ok(read.map(|(entry, _)| entry)),
        }
    }

    pub(super) fn read_pair(
        &self,
        uri: &EntryUri,
        files: &EntryFiles,
        format: BodyFormat,
    ) -> Result<Option<(Entry, VersionIntegrity)>, StoreError> {
        Ok(self.find(uri, files, format)?.map(|found| (found.entry, found.fit)))
    }

    fn find(
        &self,
        uri: &EntryUri,
        files: &EntryFiles,
        format: BodyFormat,
    ) -> Result<Option<LoadedVersion>, StoreError> {
        self.check_files(files)?;
        take_files(uri, files, format)
    }

    fn check_files(&self, files: &EntryFiles) -> Result<(), StoreError> {
        self.check_file(&files.body)?;
        files.meta.as_ref().map_or(Ok(()), |sidecar| self.check_file(sidecar))
    }

    /// See [`CapsuleLayout::check_file`].
    pub(super) fn check_file(&self, path: &Path) -> Result<(), StoreError> {
        self.layout.check_file(path)
    }

    /// Makes the folder of a file.
    pub(super) fn make_folder_of(&self, path: &Path) -> Result<(), StoreError> {
        self.check_file(path)?;
        let Some(folder) = path.parent().filter(|folder| !folder.exists()) else { return Ok(()) };
        disk::make_private_folder(folder).map_err(StoreError::io(format!(
            "make the folder `{}`",
            self.layout.display_path(folder)
        )))
    }

    /// Does a job of a writer: see [`GroupCommitter`].
    pub(super) fn commit(&self, job: CommitJob) -> CommitResult {
        let targets = CommitTargets {
            layout: &self.layout,
            disk: &self.disk,
            signals: &self.signals,
            audit: self.audit.as_deref(),
        };
        self.committer.commit(job, targets)
    }

    /// Replaces a whole file that is no entry, with the line of that change.
    pub(super) fn replace_file(
        &self,
        to: PathBuf,
        bytes: Vec<u8>,
        line: Option<AuditLogLine>,
        what: &'static str,
    ) -> Result<(), StoreError> {
        self.make_folder_of(&to)?;
        let staged = self.disk.stage(&bytes).map_err(StoreError::io(what))?;
        let steps = vec![FileStep::Place { from: staged.path.clone(), to, bytes }];
        let committed = self.commit(CommitJob { steps, line, ..CommitJob::default() });
        let committed = committed.map_err(StoreError::io(what))?;
        staged.placed();
        self.require_line(committed.unrecorded)
    }

    /// Waits until the disk has everything.
    pub(crate) fn finish(&self) -> io::Result<()> {
        self.committer.finish(self.audit.as_deref())
    }
}

/// The heading of a body, where its format has headings.
pub(super) fn heading(body: &str, format: BodyFormat) -> Option<String> {
    (format != BodyFormat::Json).then(|| patch::first_heading(body)).flatten()
}

/// Reads the files of a version and takes them apart.
fn take_files(
    uri: &EntryUri,
    files: &EntryFiles,
    format: BodyFormat,
) -> Result<Option<LoadedVersion>, StoreError> {
    let Some((text, known)) = read_text(uri, &files.body)? else { return Ok(None) };
    let modified = known.modified().unwrap_or(SystemTime::UNIX_EPOCH);
    let mut stamps = vec![(files.body.clone(), FileIdentity::of(&known))];
    let damaged = |reason: String| StoreError::Damaged { uri: uri.clone(), reason };
    let Some(meta_path) = &files.meta else {
        let parted = frontmatter::parse_entry_file(uri, &text, modified).map_err(damaged)?;
        let (mut meta, start) = (parted.meta, text.len() - parted.body.len());
        let fit = if parted.is_edited { VersionIntegrity::Edited } else { VersionIntegrity::Whole };
        let mut body = text;
        body.drain(..start);
        if start == 0 {
            frontmatter::classify_found(&mut meta, &body);
        }
        return Ok(Some(LoadedVersion { entry: Entry { meta, body, format }, fit, files: stamps }));
    };
    let (meta, fit) = match read_text(uri, meta_path)? {
        None => {
            let mut meta = frontmatter::found_meta(uri, &text, modified);
            meta.heading = None;
            // A sidecar may come without a trace at the body.
            stamps.clear();
            (meta, VersionIntegrity::Edited)
        }
        Some((sidecar, known)) => {
            stamps.push((meta_path.clone(), FileIdentity::of(&known)));
            let mut meta: EntryMeta =
                serde_json::from_str(&sidecar).map_err(|error| damaged(error.to_string()))?;
            meta.separate_claim();
            if meta.uri != *uri {
                return Err(damaged(format!("its sidecar says that it is `{}`", meta.uri)));
            }
            let fits = meta.content_sha256 == sha256_hex(text.as_bytes());
            (meta, if fits { VersionIntegrity::Whole } else { VersionIntegrity::Apart })
        }
    };
    Ok(Some(LoadedVersion { entry: Entry { meta, body: text, format }, fit, files: stamps }))
}

fn read_text(uri: &EntryUri, path: &Path) -> Result<Option<(String, fs::Metadata)>, StoreError> {
    let failed = || StoreError::io(format!("read `{uri}`"));
    let mut file = match fs::File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed()(error)),
    };
    let known = file.metadata().map_err(failed())?;
    // A file put there by hand may be of any size; room is made in advance for ordinary ones only.
    let mut bytes = Vec::with_capacity(known.len().min(MAX_INITIAL_BUFFER) as usize + 1);
    file.read_to_end(&mut bytes).map_err(failed())?;
    let text = String::from_utf8(bytes).map_err(|_| StoreError::Damaged {
        uri: uri.clone(),
        reason: "it is not UTF-8".to_owned(),
    })?;
    Ok(Some((text, known)))
}
