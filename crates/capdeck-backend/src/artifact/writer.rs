//! Writes one artifact in chunks.

use std::{
    io,
    path::{Path, PathBuf},
};

use capdeck_definition::CapabilityId;
use capdeck_storage::to_hex;
use sha2::{Digest, Sha256};
use tokio::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::AsyncWriteExt,
};
use uuid::Uuid;

use super::{
    Artifact, ArtifactError, ArtifactUri, facts_path, reader::ArtifactLock, safe_filename,
};

/// An unfinished artifact. Dropping it removes its files.
#[derive(Debug)]
pub struct ArtifactWriter {
    file: File,
    partial: PartialArtifact,
    _in_use: ArtifactLock,
    path: PathBuf,
    artifact: Artifact,
    digest: Sha256,
}

/// The unfinished file and its call folder, removed on drop unless finished.
#[derive(Debug)]
struct PartialArtifact {
    path: PathBuf,
    folder: PathBuf,
    finished: bool,
}

impl ArtifactWriter {
    pub(super) async fn create(
        root: &Path,
        capability: &CapabilityId,
        filename: &str,
        mime_type: Option<&str>,
    ) -> Result<Self, ArtifactError> {
        let filename = safe_filename(filename);
        let call = Uuid::now_v7().simple().to_string();
        let folder = root.join(capability.as_str()).join(&call);
        let (file, in_use, partial) = start(&folder).await?;
        let uri = ArtifactUri::new(capability.clone(), call, filename.clone())
            .ok_or_else(|| ArtifactError::InvalidUri { uri: filename.clone() })?;
        Ok(Self {
            file,
            path: folder.join(&filename),
            partial,
            _in_use: in_use,
            artifact: Artifact {
                uri: uri.to_string(),
                filename,
                mime_type: mime_type.map(str::to_owned),
                byte_length: 0,
                sha256: String::new(),
            },
            digest: Sha256::new(),
        })
    }

    pub async fn write(&mut self, bytes: &[u8]) -> Result<(), ArtifactError> {
        self.digest.update(bytes);
        self.artifact.byte_length += bytes.len() as u64;
        self.file.write_all(bytes).await.map_err(|source| self.write_error(source))
    }

    pub fn byte_length(&self) -> u64 {
        self.artifact.byte_length
    }

    /// Renames the file to its final path; from then on it can be read.
    pub async fn finish(mut self) -> Result<Artifact, ArtifactError> {
        self.artifact.sha256 = to_hex(std::mem::take(&mut self.digest).finalize());
        self.file.flush().await.map_err(|source| self.write_error(source))?;
        self.file.sync_all().await.map_err(|source| self.write_error(source))?;
        let facts = serde_json::to_vec(&self.artifact)
            .map_err(|error| self.write_error(io::Error::other(error)))?;
        // The facts come first: a finished file always has them.
        let mut facts_file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(facts_path(&self.path))
            .await
            .map_err(|source| self.write_error(source))?;
        facts_file.write_all(&facts).await.map_err(|source| self.write_error(source))?;
        facts_file.sync_all().await.map_err(|source| self.write_error(source))?;
        fs::rename(&self.partial.path, &self.path)
            .await
            .map_err(|source| self.write_error(source))?;
        self.partial.finished = true;
        Ok(self.artifact)
    }

    fn write_error(&self, source: io::Error) -> ArtifactError {
        ArtifactError::Write { path: self.path.clone(), source }
    }
}

/// Creates the folder of a call, locked before it is visible, and opens the file.
async fn start(folder: &Path) -> Result<(File, ArtifactLock, PartialArtifact), ArtifactError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        |source| ArtifactError::Write { path, source }
    };
    let unmarked = unmarked(folder);
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&unmarked)
        .await
        .map_err(failed(&unmarked))?;
    let in_use = ArtifactLock::mark(&unmarked).map_err(failed(&unmarked))?;
    fs::rename(&unmarked, folder).await.map_err(failed(folder))?;
    let partial = PartialArtifact {
        path: folder.join(".partial"),
        folder: folder.to_owned(),
        finished: false,
    };
    let file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&partial.path)
        .await
        .map_err(failed(&partial.path))?;
    Ok((file, in_use, partial))
}

/// A hidden name beside a call's folder. Sweeps ignore hidden folders until they are an hour old.
fn unmarked(folder: &Path) -> PathBuf {
    let mut name = std::ffi::OsString::from(".");
    name.push(folder.file_name().unwrap_or_default());
    folder.with_file_name(name)
}

impl Drop for PartialArtifact {
    fn drop(&mut self) {
        if !self.finished {
            // Remaining files are removed by a later sweep.
            let _left = std::fs::remove_dir_all(&self.folder);
        }
    }
}
