//! Stores results that are too large or too binary to send inline as files with a URI.
//!
//! An artifact is `capdeck://artifacts/<capability>/<call>/<filename>`, at the same path below the store's folder.
//! Files are private to the user, written atomically, and never reached through links. Old ones are removed by age
//! and by total size, never while any process writes or reads them.

mod reader;
#[cfg(test)]
mod tests;
mod uri;
mod writer;

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
    thread,
    time::{Duration, Instant, SystemTime},
};

use capdeck_definition::CapabilityId;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use self::reader::ArtifactLock;
pub use self::{
    reader::ArtifactReader,
    uri::{ArtifactPart, ArtifactUri},
    writer::ArtifactWriter,
};

const FACTS_SUFFIX: &str = ".capdeck.json";

const SWEEP_INTERVAL: Duration = Duration::from_secs(3600);

#[derive(Debug, Clone)]
pub struct ArtifactStore {
    root: Arc<PathBuf>,
    upkeep: Arc<Mutex<ArtifactSweepState>>,
}

#[derive(Debug)]
struct ArtifactSweepState {
    limits: ArtifactLimits,
    /// `None` before the limits are known.
    last_sweep: Option<Instant>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Artifact {
    pub uri: String,
    pub filename: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    pub byte_length: u64,
    pub sha256: String,
}

#[derive(Debug, thiserror::Error)]
pub enum ArtifactError {
    #[error("this is not an artifact URI: `{uri}`")]
    InvalidUri { uri: String },
    #[error("{reason}")]
    InvalidPart { reason: String },
    #[error("there is no such artifact, or it has expired: `{uri}`")]
    NotFound { uri: String },
    #[error("the artifact is being written or read: `{uri}`")]
    InUse { uri: String },
    #[error("the artifact ends at byte {size}, before {offset}")]
    BeyondEnd { offset: u64, size: u64 },
    #[error("the artifact cannot be written")]
    Write { path: PathBuf, source: io::Error },
    #[error("the artifact cannot be read: `{uri}`")]
    Read { uri: String, source: io::Error },
    #[error("the artifact cannot be removed: `{uri}`")]
    Remove { uri: String, source: io::Error },
}

impl ArtifactStore {
    /// Opens a store below this folder, which is created with the first artifact. Nothing is removed before
    /// [`keep_within`](Self::keep_within) sets the limits.
    pub(crate) fn open(root: PathBuf) -> Self {
        let upkeep = ArtifactSweepState { limits: ArtifactLimits::default(), last_sweep: None };
        Self { root: Arc::new(root), upkeep: Arc::new(Mutex::new(upkeep)) }
    }

    /// Sets the limits, and removes the excess in the background.
    pub fn keep_within(&self, limits: ArtifactLimits) {
        let mut upkeep = self.upkeep.lock();
        if upkeep.limits == limits && upkeep.last_sweep.is_some() {
            return;
        }
        *upkeep = ArtifactSweepState { limits, last_sweep: Some(Instant::now()) };
        if self.root.is_dir() {
            sweep_in_background(self.root.as_ref().clone(), limits);
        }
    }

    /// Starts an artifact of a capability. The name is converted to a safe file name.
    pub async fn create(
        &self,
        capability: &CapabilityId,
        filename: &str,
        mime_type: Option<&str>,
    ) -> Result<ArtifactWriter, ArtifactError> {
        self.sweep_again();
        ArtifactWriter::create(&self.root, capability, filename, mime_type).await
    }

    /// A long-running host sweeps while it writes, not only at its start.
    fn sweep_again(&self) {
        let mut upkeep = self.upkeep.lock();
        if upkeep.last_sweep.is_some_and(|last| last.elapsed() >= SWEEP_INTERVAL) {
            upkeep.last_sweep = Some(Instant::now());
            sweep_in_background(self.root.as_ref().clone(), upkeep.limits);
        }
    }

    /// Opens an artifact for reading. It is not removed while the reader lives.
    pub fn reader(&self, uri: &ArtifactUri) -> Result<ArtifactReader, ArtifactError> {
        ArtifactReader::open(&self.root, uri)
    }

    pub async fn describe(&self, uri: &str) -> Result<Artifact, ArtifactError> {
        Ok(self.reader(&whole(uri)?)?.artifact().clone())
    }

    pub async fn read(&self, uri: &str) -> Result<(Artifact, Vec<u8>), ArtifactError> {
        let mut reader = self.reader(&whole(uri)?)?;
        let bytes = reader.next(u64::MAX)?;
        Ok((reader.artifact().clone(), bytes))
    }

    /// Returns the file of a URI after checking that it is a plain file inside the store.
    pub fn path(&self, uri: &str) -> Result<PathBuf, ArtifactError> {
        whole(uri)?.file(&self.root)
    }

    /// Lists every artifact, the newest first. Unreadable ones are omitted: they are unfinished, or about to be removed.
    pub fn list(&self) -> Vec<StoredArtifact> {
        let mut found: Vec<StoredArtifact> =
            call_folders(&self.root).flat_map(|call| files(&self.root, &call)).collect();
        found.sort_by(|one, other| {
            other.created.cmp(&one.created).then_with(|| one.artifact.uri.cmp(&other.artifact.uri))
        });
        found
    }

    /// Deletes the folder of the call, which has only this artifact, unless it is in use.
    pub fn delete(&self, uri: &ArtifactUri) -> Result<(), ArtifactError> {
        uri.file(&self.root)?;
        let folder = uri.folder(&self.root);
        let claim = ArtifactLock::claim(&folder).map_err(|source| read_error(uri, source))?;
        let Some(_claim) = claim else {
            return Err(ArtifactError::InUse { uri: uri.to_string() });
        };
        fs::remove_dir_all(&folder)
            .map_err(|source| ArtifactError::Remove { uri: uri.to_string(), source })
    }

    pub fn prune(&self) -> ArtifactSweepReport {
        let limits = self.upkeep.lock().limits;
        sweep(&self.root, &limits)
    }

    pub fn clear(&self) -> ArtifactSweepReport {
        sweep(&self.root, &ArtifactLimits::NOTHING)
    }
}

/// Sweeping reads the disk, so it must not delay the start or a call.
fn sweep_in_background(root: PathBuf, limits: ArtifactLimits) {
    let work = move || {
        sweep(&root, &limits);
    };
    if let Err(error) = thread::Builder::new().name("artifact-sweep".to_owned()).spawn(work) {
        tracing::debug!(%error, "old artifacts could not be removed");
    }
}

fn whole(uri: &str) -> Result<ArtifactUri, ArtifactError> {
    match ArtifactUri::parse(uri)? {
        (uri, ArtifactPart::Whole) => Ok(uri),
        (_, ArtifactPart::Bytes { .. } | ArtifactPart::Place { .. }) => {
            Err(ArtifactError::InvalidUri { uri: uri.to_owned() })
        }
    }
}

fn read_error(uri: &ArtifactUri, source: io::Error) -> ArtifactError {
    let uri = uri.to_string();
    match source.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => ArtifactError::NotFound { uri },
        _ => ArtifactError::Read { uri, source },
    }
}

fn facts_path(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(FACTS_SUFFIX);
    path.with_file_name(name)
}

/// A file name of letters, digits, `.`, `_` and `-`, at most 100 long, never hidden.
fn safe_filename(name: &str) -> String {
    let mut safe: String =
        name.chars()
            .map(|letter| {
                if letter.is_ascii_alphanumeric() || "._-".contains(letter) { letter } else { '_' }
            })
            .skip_while(|letter| *letter == '.')
            .take(100)
            .collect();
    if safe.is_empty() || safe.ends_with(FACTS_SUFFIX) {
        safe.push('_');
    }
    safe
}

#[derive(Debug, Clone)]
pub struct StoredArtifact {
    pub capability: CapabilityId,
    pub artifact: Artifact,
    pub created: SystemTime,
}

fn files(root: &Path, call: &Path) -> Vec<StoredArtifact> {
    let entries = fs::read_dir(call).into_iter().flatten().flatten();
    let facts = entries.filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        Some((name.strip_suffix(FACTS_SUFFIX)?.to_owned(), entry.path()))
    });
    let stored = |(name, facts): (String, PathBuf)| {
        let segment = |path: &Path| Some(path.file_name()?.to_str()?.to_owned());
        let capability = CapabilityId::new(&segment(call.parent()?)?).ok()?;
        // The URI is derived from the path, so that a changed facts file cannot name another file.
        let uri = ArtifactUri::new(capability.clone(), segment(call)?, name)?;
        let created = fs::metadata(uri.file(root).ok()?).ok()?.modified().ok()?;
        let facts: Artifact = serde_json::from_slice(&fs::read(facts).ok()?).ok()?;
        let artifact = Artifact { uri: uri.to_string(), ..facts };
        Some(StoredArtifact { capability, artifact, created })
    };
    facts.filter_map(stored).collect()
}

/// An unlocked folder of a call that is older than this is left from a killed process.
const MAX_UNMARKED_AGE: Duration = Duration::from_secs(3600);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArtifactLimits {
    pub max_age: Duration,
    pub max_bytes: u64,
    /// Younger artifacts stay, however large: a client has just received their URI.
    min_age: Duration,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ArtifactSweepReport {
    pub removed: usize,
    pub removed_bytes: u64,
    pub kept: usize,
    pub kept_bytes: u64,
}

struct ArtifactFolder {
    folder: PathBuf,
    age: Duration,
    bytes: u64,
}

impl ArtifactLimits {
    const NOTHING: Self = Self { max_age: Duration::ZERO, max_bytes: 0, min_age: Duration::ZERO };

    const MIN_AGE: Duration = Duration::from_secs(600);

    pub fn new(max_age: Duration, max_bytes: u64) -> Self {
        Self { max_age, max_bytes, min_age: Self::MIN_AGE.min(max_age) }
    }
}

impl Default for ArtifactLimits {
    fn default() -> Self {
        Self::new(Duration::from_secs(7 * 24 * 3600), 1 << 30)
    }
}

/// Removes calls that are too old, then the oldest until the rest is within the limit. Artifacts in use, and those
/// that cannot be removed, stay.
pub(super) fn sweep(root: &Path, limits: &ArtifactLimits) -> ArtifactSweepReport {
    let now = SystemTime::now();
    let mut calls: Vec<ArtifactFolder> =
        call_folders(root).filter_map(|folder| measure(folder, now)).collect();
    calls.sort_by_key(|call| call.age);
    let mut swept = ArtifactSweepReport::default();
    for call in calls {
        let fits = swept.kept_bytes + call.bytes <= limits.max_bytes;
        let is_unmarked = is_hidden(&call.folder) && call.age < MAX_UNMARKED_AGE;
        let stays = is_unmarked || call.age < limits.min_age || (call.age < limits.max_age && fits);
        if !stays && remove(&call.folder) {
            swept.removed += 1;
            swept.removed_bytes += call.bytes;
        } else {
            swept.kept += 1;
            swept.kept_bytes += call.bytes;
        }
    }
    swept
}

fn is_hidden(folder: &Path) -> bool {
    folder.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."))
}

fn remove(folder: &Path) -> bool {
    let outcome = match ArtifactLock::claim(folder) {
        Ok(Some(_claim)) => fs::remove_dir_all(folder),
        Ok(None) => return false,
        Err(error) => Err(error),
    };
    outcome
        .inspect_err(|error| {
            tracing::debug!(%error, folder = %folder.display(), "an old artifact could not be removed");
        })
        .is_ok()
}

fn call_folders(root: &Path) -> impl Iterator<Item = PathBuf> {
    folders(root).flat_map(|capability| folders(&capability))
}

fn folders(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        // A link has the file type of a link, so nothing outside is visited.
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .map(|entry| entry.path())
}

fn measure(folder: PathBuf, now: SystemTime) -> Option<ArtifactFolder> {
    let changed = fs::metadata(&folder).ok()?.modified().ok()?;
    let bytes = fs::read_dir(&folder)
        .ok()?
        .flatten()
        .filter_map(|entry| entry.metadata().ok())
        .map(|facts| facts.len())
        .sum();
    Some(ArtifactFolder { folder, age: now.duration_since(changed).unwrap_or_default(), bytes })
}
