//! Results too large or too binary to send inline: kept as files, named by URI.
//!
//! An artifact is `capdeck://artifacts/<capability>/<call>/<filename>` and lies at the same three
//! segments below the store's folder. Files are private to the user, written beside their place and
//! renamed into it, and never reached through links. Old ones are swept by age and by total size, never while
//! somebody writes or reads them, in whatever process.

mod in_use;
mod listing;
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
    sweep::{ArtifactLimits, Swept},
    uri::{ArtifactPart, ArtifactUri},
    writer::ArtifactWriter,
};

/// Ends the name of the file that keeps an artifact's facts beside it.
const FACTS_SUFFIX: &str = ".capdeck.json";

const SWEEP_EVERY: Duration = Duration::from_secs(3600);

/// Large results of one host. Cheap to clone.
#[derive(Debug, Clone)]
pub struct ArtifactStore {
    root: Arc<PathBuf>,
    upkeep: Arc<Mutex<Upkeep>>,
}

/// What may stay, and when that was last seen to.
#[derive(Debug)]
struct Upkeep {
    limits: ArtifactLimits,
    /// `None` before the limits are known.
    last_sweep: Option<Instant>,
}

/// One stored result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Artifact {
    pub uri: String,
    pub filename: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    pub byte_length: u64,
    /// Lower-case hexadecimal.
    pub sha256: String,
}

/// Why an artifact could not be written, read or removed.
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
    /// A store below this folder, which is made when the first artifact is written. Nothing is removed before
    /// [`keep_within`](Self::keep_within) said what may stay.
    pub(crate) fn open(root: PathBuf) -> Self {
        let upkeep = Upkeep { limits: ArtifactLimits::default(), last_sweep: None };
        Self { root: Arc::new(root), upkeep: Arc::new(Mutex::new(upkeep)) }
    }

    /// Sets what may stay, and removes the rest in the background.
    pub fn keep_within(&self, limits: ArtifactLimits) {
        let mut upkeep = self.upkeep.lock();
        if upkeep.limits == limits && upkeep.last_sweep.is_some() {
            return;
        }
        *upkeep = Upkeep { limits, last_sweep: Some(Instant::now()) };
        if self.root.is_dir() {
            sweep_in_background(self.root.as_ref().clone(), limits);
        }
    }

    /// Starts an artifact of a capability. The name is made safe for a file name.
    pub async fn create(
        &self,
        capability: &CapabilityId,
        filename: &str,
        mime_type: Option<&str>,
    ) -> Result<ArtifactWriter, ArtifactError> {
        self.sweep_again();
        ArtifactWriter::create(&self.root, capability, filename, mime_type).await
    }

    /// A host that runs for weeks sweeps while it writes, not only when it starts.
    fn sweep_again(&self) {
        let mut upkeep = self.upkeep.lock();
        if upkeep.last_sweep.is_some_and(|last| last.elapsed() >= SWEEP_EVERY) {
            upkeep.last_sweep = Some(Instant::now());
            sweep_in_background(self.root.as_ref().clone(), upkeep.limits);
        }
    }

    /// Opens an artifact for reading. It stays as long as the reader lives.
    pub fn reader(&self, uri: &ArtifactUri) -> Result<ArtifactReader, ArtifactError> {
        ArtifactReader::open(&self.root, uri)
    }

    /// An artifact's facts.
    pub async fn describe(&self, uri: &str) -> Result<Artifact, ArtifactError> {
        Ok(self.reader(&whole(uri)?)?.artifact().clone())
    }

    /// An artifact's facts and all of its bytes.
    pub async fn read(&self, uri: &str) -> Result<(Artifact, Vec<u8>), ArtifactError> {
        let mut reader = self.reader(&whole(uri)?)?;
        let bytes = reader.next(u64::MAX)?;
        Ok((reader.artifact().clone(), bytes))
    }

    /// The file behind a URI, checked to be a plain file inside the store.
    pub fn path(&self, uri: &str) -> Result<PathBuf, ArtifactError> {
        whole(uri)?.file(&self.root)
    }

    /// Every artifact, the newest first.
    pub fn list(&self) -> Vec<StoredArtifact> {
        listing::list(&self.root)
    }

    /// Removes one artifact, unless somebody is reading it.
    pub fn delete(&self, uri: &ArtifactUri) -> Result<(), ArtifactError> {
        listing::delete(&self.root, uri)
    }

    /// Removes what exceeds the limits now.
    pub fn prune(&self) -> Swept {
        let limits = self.upkeep.lock().limits;
        sweep::sweep(&self.root, &limits)
    }

    /// Removes everything that nobody is writing or reading.
    pub fn clear(&self) -> Swept {
        sweep::sweep(&self.root, &ArtifactLimits::NOTHING)
    }
}

/// Sweeping reads the disk, so it must not hold up the start or a call. Nothing waits for it.
fn sweep_in_background(root: PathBuf, limits: ArtifactLimits) {
    let sweep = move || {
        sweep::sweep(&root, &limits);
    };
    if let Err(error) = thread::Builder::new().name("artifact-sweep".to_owned()).spawn(sweep) {
        tracing::debug!(%error, "old artifacts are not swept this time");
    }
}

/// The artifact that a URI without a part names.
fn whole(uri: &str) -> Result<ArtifactUri, ArtifactError> {
    match ArtifactUri::parse(uri)? {
        (uri, ArtifactPart::Whole) => Ok(uri),
        (_, ArtifactPart::Bytes { .. }) => Err(ArtifactError::InvalidUri { uri: uri.to_owned() }),
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
