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
    commit::{Committer, Job, Outcome, Step, Targets},
    disk::{self, Disk},
    frontmatter,
    journal::Journal,
    layout::{EntryFiles, Layout},
    live_index::LiveIndex,
    recent::{Recent, Stamp},
    recovery,
    remove_entry::Tombstone,
    scan::{self, ScanProblem},
    schemes_file,
    signal_log::SignalLog,
};
use crate::{
    AuditLine, Change, Entry, EntryMeta, EntryUri, Mode, Scheme, StoreError, StoreOptions,
    audit::AuditLog,
    digest::sha256_hex,
    patch,
    scheme::{self, Format},
};

/// Locks for entries; two entries may share one.
const STRIPES: usize = 256;
/// Bytes for which room is made before a file is read.
const MOST_AT_FIRST: u64 = 2 * 1024 * 1024;
/// Changes that a slow subscriber may lie behind.
const CHANGES_KEPT: usize = 1_024;

#[derive(Debug)]
pub(crate) struct Engine {
    pub(super) layout: Layout,
    pub(super) disk: Disk,
    pub(super) options: StoreOptions,
    pub(super) state: RwLock<State>,
    committer: Committer,
    /// None where the capsule is only read.
    pub(super) audit: Option<Arc<AuditLog>>,
    pub(super) signals: SignalLog,
    pub(super) index: LiveIndex,
    pub(super) changes: broadcast::Sender<Change>,
    recent: Recent,
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
pub(crate) enum Fit {
    Whole,
    /// Somebody put or changed them by hand.
    Edited,
    /// Body and sidecar are of different versions, or the body was edited.
    Apart,
}

/// A version as its files are.
struct Found {
    entry: Entry,
    fit: Fit,
    /// The files as they were when they were read.
    files: Vec<(PathBuf, Stamp)>,
}

/// What the files say.
#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) entries: BTreeMap<EntryUri, Arc<EntryMeta>>,
    /// Entries by their lower-case address.
    pub(super) folded: FxHashMap<String, EntryUri>,
    pub(super) deleted: BTreeMap<EntryUri, Tombstone>,
    pub(super) schemes: Vec<Scheme>,
    /// Files that were left out when the capsule was opened.
    pub(super) problems: Vec<ScanProblem>,
}

impl State {
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

impl Engine {
    /// Opens the capsule in a folder, which is made when it is not there.
    pub(crate) fn open(root: &Path, options: StoreOptions) -> Result<Self, StoreError> {
        let layout = Layout::new(root.to_owned());
        let disk = Disk::new(layout.temp(), options.durability);
        if options.mode == Mode::ReadWrite {
            for folder in layout.folders() {
                // Nothing is written through a link that somebody put there, and a file in the way is named.
                layout.check_folder(&folder)?;
                let what = || format!("make the capsule's folder `{}`", layout.shown(&folder));
                disk::make_private_folder(&folder).map_err(StoreError::io(what()))?;
                layout.check_folder(&folder)?;
            }
            disk.sweep().map_err(StoreError::io("remove unfinished files"))?;
        }
        let journal = Journal::new(root, layout.journal(), options.durability);
        let audit = match options.mode {
            Mode::ReadOnly => None,
            Mode::ReadWrite => {
                let audit = AuditLog::open(layout.logs(), "", &options)
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
            state: RwLock::new(State { schemes, ..State::default() }),
            committer: Committer::new(journal),
            audit,
            index: LiveIndex::default(),
            changes: broadcast::Sender::new(CHANGES_KEPT),
            recent: Recent::default(),
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
            Mode::ReadWrite => Ok(()),
            Mode::ReadOnly => Err(StoreError::ReadOnly),
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
            Some(Found { fit: Fit::Apart, .. }) => {
                let _waited = self.stripe(&uri.folded()).lock();
                self.read_quiet(uri, scheme)
            }
            Some(Found { entry, files, .. }) => {
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
            let Found { mut entry, fit, .. } = found;
            if fit == Fit::Apart {
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
        format: Format,
    ) -> Result<Option<Entry>, StoreError> {
        match self.read_pair(uri, files, format)? {
            Some((_, Fit::Apart)) => Err(StoreError::Damaged {
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
        format: Format,
    ) -> Result<Option<(Entry, Fit)>, StoreError> {
        Ok(self.find(uri, files, format)?.map(|found| (found.entry, found.fit)))
    }

    fn find(
        &self,
        uri: &EntryUri,
        files: &EntryFiles,
        format: Format,
    ) -> Result<Option<Found>, StoreError> {
        self.check_files(files)?;
        take_files(uri, files, format)
    }

    fn check_files(&self, files: &EntryFiles) -> Result<(), StoreError> {
        self.check_file(&files.body)?;
        files.meta.as_ref().map_or(Ok(()), |sidecar| self.check_file(sidecar))
    }

    /// See [`Layout::check_file`].
    pub(super) fn check_file(&self, path: &Path) -> Result<(), StoreError> {
        self.layout.check_file(path)
    }

    /// Makes the folder of a file.
    pub(super) fn make_folder_of(&self, path: &Path) -> Result<(), StoreError> {
        self.check_file(path)?;
        let Some(folder) = path.parent().filter(|folder| !folder.exists()) else { return Ok(()) };
        disk::make_private_folder(folder)
            .map_err(StoreError::io(format!("make the folder `{}`", self.layout.shown(folder))))
    }

    /// Does a job of a writer: see [`Committer`].
    pub(super) fn commit(&self, job: Job) -> Outcome {
        let targets = Targets {
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
        line: Option<AuditLine>,
        what: &'static str,
    ) -> Result<(), StoreError> {
        self.make_folder_of(&to)?;
        let staged = self.disk.stage(&bytes).map_err(StoreError::io(what))?;
        let steps = vec![Step::Place { from: staged.path.clone(), to, bytes }];
        let committed = self.commit(Job { steps, line, ..Job::default() });
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
pub(super) fn heading(body: &str, format: Format) -> Option<String> {
    (format != Format::Json).then(|| patch::first_heading(body)).flatten()
}

/// Reads the files of a version and takes them apart.
fn take_files(
    uri: &EntryUri,
    files: &EntryFiles,
    format: Format,
) -> Result<Option<Found>, StoreError> {
    let Some((text, known)) = read_text(uri, &files.body)? else { return Ok(None) };
    let modified = known.modified().unwrap_or(SystemTime::UNIX_EPOCH);
    let mut stamps = vec![(files.body.clone(), Stamp::of(&known))];
    let damaged = |reason: String| StoreError::Damaged { uri: uri.clone(), reason };
    let Some(meta_path) = &files.meta else {
        let parted = frontmatter::part(uri, &text, modified).map_err(damaged)?;
        let (mut meta, start) = (parted.meta, text.len() - parted.body.len());
        let fit = if parted.is_edited { Fit::Edited } else { Fit::Whole };
        let mut body = text;
        body.drain(..start);
        if start == 0 {
            frontmatter::classify_found(&mut meta, &body);
        }
        return Ok(Some(Found { entry: Entry { meta, body, format }, fit, files: stamps }));
    };
    let (meta, fit) = match read_text(uri, meta_path)? {
        None => {
            let mut meta = frontmatter::found_meta(uri, &text, modified);
            meta.heading = None;
            // A sidecar may come without a trace at the body.
            stamps.clear();
            (meta, Fit::Edited)
        }
        Some((sidecar, known)) => {
            stamps.push((meta_path.clone(), Stamp::of(&known)));
            let mut meta: EntryMeta =
                serde_json::from_str(&sidecar).map_err(|error| damaged(error.to_string()))?;
            meta.separate_claim();
            if meta.uri != *uri {
                return Err(damaged(format!("its sidecar says that it is `{}`", meta.uri)));
            }
            let fits = meta.content_sha256 == sha256_hex(text.as_bytes());
            (meta, if fits { Fit::Whole } else { Fit::Apart })
        }
    };
    Ok(Some(Found { entry: Entry { meta, body: text, format }, fit, files: stamps }))
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
    let mut bytes = Vec::with_capacity(known.len().min(MOST_AT_FIRST) as usize + 1);
    file.read_to_end(&mut bytes).map_err(failed())?;
    let text = String::from_utf8(bytes).map_err(|_| StoreError::Damaged {
        uri: uri.clone(),
        reason: "it is not UTF-8".to_owned(),
    })?;
    Ok(Some((text, known)))
}
