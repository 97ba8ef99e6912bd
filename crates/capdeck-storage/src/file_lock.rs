//! A lock across processes.

use std::{
    fs::{File, TryLockError},
    io,
    path::Path,
};

use crate::folder::{folder_of, make_private_folder};

/// The lock of a file. It ends when it is dropped, and with the process, even a killed one.
#[derive(Debug)]
pub struct FileLock(#[expect(dead_code, reason = "the lock ends with the file")] File);

impl FileLock {
    /// Waits for the lock. Blocks the thread.
    pub fn wait(path: &Path) -> io::Result<Self> {
        let file = open(path)?;
        file.lock()?;
        Ok(Self(file))
    }

    /// Takes the lock if no process has it.
    pub fn try_take(path: &Path) -> io::Result<Option<Self>> {
        let file = open(path)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Self(file))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

fn open(path: &Path) -> io::Result<File> {
    make_private_folder(folder_of(path))?;
    File::options().create(true).append(true).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_has_one_holder() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("deep/store.lock");
        let held = FileLock::wait(&path).unwrap();
        assert!(FileLock::try_take(&path).unwrap().is_none());
        drop(held);
        assert!(FileLock::try_take(&path).unwrap().is_some());
    }
}
