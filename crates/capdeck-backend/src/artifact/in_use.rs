//! A mark on an artifact's folder while it is written or read. The system drops it with the process that set it.

use std::{fs::File, io, path::Path};

/// While this lives, no process removes the folder.
#[derive(Debug)]
pub(super) struct InUse {
    _folder: File,
}

impl InUse {
    /// Marks the folder. Waits for a removal under way, after which the folder is gone.
    pub(super) fn mark(folder: &Path) -> io::Result<Self> {
        let file = File::open(folder)?;
        file.lock_shared()?;
        Ok(Self { _folder: file })
    }

    /// Claims the folder for removal; `None` while somebody uses it.
    pub(super) fn claim(folder: &Path) -> io::Result<Option<Self>> {
        let file = File::open(folder)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Self { _folder: file })),
            Err(std::fs::TryLockError::WouldBlock) => Ok(None),
            Err(std::fs::TryLockError::Error(error)) => Err(error),
        }
    }
}
