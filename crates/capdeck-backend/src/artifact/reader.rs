//! Reads one artifact, whole or in parts. Its folder is locked while it is read or written; the system releases the
//! lock with its process.

use std::{
    fs::{self, File},
    io::{self, Read, Seek, SeekFrom},
    path::Path,
};

use super::{Artifact, ArtifactError, ArtifactUri, facts_path, read_error};

/// An open artifact. It is not removed meanwhile.
#[derive(Debug)]
pub struct ArtifactReader {
    uri: ArtifactUri,
    artifact: Artifact,
    file: File,
    _in_use: ArtifactLock,
}

impl ArtifactReader {
    pub(super) fn open(root: &Path, uri: &ArtifactUri) -> Result<Self, ArtifactError> {
        let failed = |source| read_error(uri, source);
        // Check first: following a link would lock a folder outside of the store.
        uri.file(root)?;
        let in_use = ArtifactLock::mark(&uri.folder(root)).map_err(failed)?;
        let path = uri.file(root)?;
        let facts = fs::read(facts_path(&path)).map_err(failed)?;
        let artifact: Artifact = serde_json::from_slice(&facts)
            .map_err(|error| failed(io::Error::new(io::ErrorKind::InvalidData, error)))?;
        let file = File::open(&path).map_err(failed)?;
        Ok(Self { uri: uri.clone(), artifact, file, _in_use: in_use })
    }

    pub fn artifact(&self) -> &Artifact {
        &self.artifact
    }

    /// Moves to a byte position. The end is valid; nothing follows it.
    pub fn seek(&mut self, offset: u64) -> Result<(), ArtifactError> {
        let size = self.artifact.byte_length;
        if offset > size {
            return Err(ArtifactError::BeyondEnd { offset, size });
        }
        self.file.seek(SeekFrom::Start(offset)).map_err(|source| read_error(&self.uri, source))?;
        Ok(())
    }

    /// Returns the next bytes, at most this many; fewer only at the end.
    pub fn next(&mut self, length: u64) -> Result<Vec<u8>, ArtifactError> {
        let mut bytes = Vec::new();
        self.file
            .by_ref()
            .take(length)
            .read_to_end(&mut bytes)
            .map_err(|source| read_error(&self.uri, source))?;
        Ok(bytes)
    }
}

impl Read for ArtifactReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.file.read(buffer)
    }
}

/// No process removes the folder while this lives.
#[derive(Debug)]
pub(super) struct ArtifactLock {
    _folder: File,
}

impl ArtifactLock {
    /// Marks the folder. Waits for a running removal, after which the folder is gone.
    pub(super) fn mark(folder: &Path) -> io::Result<Self> {
        let file = File::open(folder)?;
        file.lock_shared()?;
        Ok(Self { _folder: file })
    }

    /// Claims the folder for removal; `None` while it is in use.
    pub(super) fn claim(folder: &Path) -> io::Result<Option<Self>> {
        let file = File::open(folder)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Self { _folder: file })),
            Err(std::fs::TryLockError::WouldBlock) => Ok(None),
            Err(std::fs::TryLockError::Error(error)) => Err(error),
        }
    }
}
