//! Results too large or too binary to send inline: kept as files, named by URI.
//!
//! An artifact is `capdeck://artifacts/<capability>/<call>/<filename>` and lies at the same three
//! segments below the store's folder. Files are private to the user, written beside their place and
//! renamed into it, and never reached through links. Old ones are swept by age and by total size.

mod sweep;
#[cfg(test)]
mod tests;
mod writer;

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use capdeck_definition::CapabilityId;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

pub use self::writer::ArtifactWriter;

const URI_PREFIX: &str = "capdeck://artifacts/";

/// Ends the name of the file that keeps an artifact's facts beside it.
const FACTS_SUFFIX: &str = ".capdeck.json";

const SWEEP_EVERY: Duration = Duration::from_secs(3600);

/// Large results of one host. Cheap to clone.
#[derive(Debug, Clone)]
pub struct ArtifactStore {
    root: Arc<PathBuf>,
    last_sweep: Arc<Mutex<Instant>>,
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

/// Why an artifact could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum ArtifactError {
    #[error("this is not an artifact URI: `{uri}`")]
    InvalidUri { uri: String },
    #[error("there is no such artifact, or it has expired: `{uri}`")]
    NotFound { uri: String },
    #[error("the artifact cannot be written")]
    Write { path: PathBuf, source: io::Error },
    #[error("the artifact cannot be read: `{uri}`")]
    Read { uri: String, source: io::Error },
}

impl ArtifactStore {
    /// A store below this folder, which is made when the first artifact is written.
    pub(crate) fn open(root: PathBuf) -> Self {
        if root.is_dir() {
            sweep_in_background(root.clone());
        }
        Self { root: Arc::new(root), last_sweep: Arc::new(Mutex::new(Instant::now())) }
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
        let mut last_sweep = self.last_sweep.lock();
        if last_sweep.elapsed() >= SWEEP_EVERY {
            *last_sweep = Instant::now();
            sweep_in_background(self.root.as_ref().clone());
        }
    }

    /// An artifact's facts.
    pub async fn describe(&self, uri: &str) -> Result<Artifact, ArtifactError> {
        let path = self.path(uri)?;
        let bytes =
            tokio::fs::read(facts_path(&path)).await.map_err(|source| read_error(uri, source))?;
        serde_json::from_slice(&bytes)
            .map_err(|error| read_error(uri, io::Error::new(io::ErrorKind::InvalidData, error)))
    }

    /// An artifact's facts and its bytes.
    pub async fn read(&self, uri: &str) -> Result<(Artifact, Vec<u8>), ArtifactError> {
        let artifact = self.describe(uri).await?;
        let path = self.path(uri)?;
        let bytes = tokio::fs::read(&path).await.map_err(|source| read_error(uri, source))?;
        Ok((artifact, bytes))
    }

    /// The file behind a URI, checked to be a plain file inside the store.
    pub fn path(&self, uri: &str) -> Result<PathBuf, ArtifactError> {
        let invalid = || ArtifactError::InvalidUri { uri: uri.to_owned() };
        let rest = uri.strip_prefix(URI_PREFIX).ok_or_else(invalid)?;
        let segments: Vec<&str> = rest.split('/').collect();
        if segments.len() != 3 || !segments.iter().all(|segment| is_safe_segment(segment)) {
            return Err(invalid());
        }
        let mut path = self.root.as_ref().clone();
        for (index, segment) in segments.iter().enumerate() {
            path.push(segment);
            // Not following links anywhere on the way keeps a planted one from leading out.
            let facts = fs::symlink_metadata(&path).map_err(|source| read_error(uri, source))?;
            let expected = if index < 2 { facts.is_dir() } else { facts.is_file() };
            if !expected {
                return Err(ArtifactError::NotFound { uri: uri.to_owned() });
            }
        }
        Ok(path)
    }
}

/// Sweeping reads the disk, so it must not hold up the start or a call. Nothing waits for it.
fn sweep_in_background(root: PathBuf) {
    let sweep = move || sweep::sweep(&root, &sweep::Limits::default());
    if let Err(error) = thread::Builder::new().name("artifact-sweep".to_owned()).spawn(sweep) {
        tracing::debug!(%error, "old artifacts are not swept this time");
    }
}

fn read_error(uri: &str, source: io::Error) -> ArtifactError {
    let uri = uri.to_owned();
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

fn is_safe_segment(segment: &str) -> bool {
    !segment.is_empty()
        && !segment.starts_with('.')
        && segment.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
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
