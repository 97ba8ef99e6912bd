//! A lock on an artifact's folder while it is written or read. The system releases it with its process.

use std::{fs::File, io, path::Path};

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
