//! Stores results that are too large or too binary to send inline as files with a URI.
//!
//! An artifact is `capdeck://artifacts/<capability>/<call>/<filename>`, at the same path below the store's folder.
//! Files are private to the user, written atomically, and never reached through links. Old ones are removed by age
//! and by total size, never while any process writes or reads them.

mod listing;
mod lock;
mod reader;
mod sweep;
#[cfg(test)]
mod tests;
mod uri;
mod writer;

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use capdeck_definition::CapabilityId;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

pub use self::{
    listing::StoredArtifact,
    reader::ArtifactReader,
    sweep::{ArtifactLimits, ArtifactSweepReport},
    uri::{ArtifactPart, ArtifactUri},
    writer::ArtifactWriter,
};

const FACTS_SUFFIX: &str = ".capdeck.json";

const SWEEP_INTERVAL: Duration = Duration::from_secs(3600);

/// The artifacts of one host. Cheap to clone.
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

    pub fn list(&self) -> Vec<StoredArtifact> {
        listing::list(&self.root)
    }

    /// Deletes one artifact, unless it is being read.
    pub fn delete(&self, uri: &ArtifactUri) -> Result<(), ArtifactError> {
        listing::delete(&self.root, uri)
    }

    pub fn prune(&self) -> ArtifactSweepReport {
        let limits = self.upkeep.lock().limits;
        sweep::sweep(&self.root, &limits)
    }

    /// Removes everything that is not in use.
    pub fn clear(&self) -> ArtifactSweepReport {
        sweep::sweep(&self.root, &ArtifactLimits::NOTHING)
    }
}

/// Sweeping reads the disk, so it must not delay the start or a call.
fn sweep_in_background(root: PathBuf, limits: ArtifactLimits) {
    let sweep = move || {
        sweep::sweep(&root, &limits);
    };
    if let Err(error) = thread::Builder::new().name("artifact-sweep".to_owned()).spawn(sweep) {
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
