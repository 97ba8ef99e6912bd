//! One writer at a time in a folder, among all processes.

use std::{
    fs::{self, File},
    io,
    path::Path,
};

/// Held until it is dropped, or until the process ends in whatever way.
#[derive(Debug)]
pub(crate) struct FolderLock(#[expect(dead_code, reason = "held for its lock")] File);

impl FolderLock {
    /// Waits for whoever holds the lock file at `path`.
    pub(crate) fn take(path: &Path) -> io::Result<Self> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let file = File::options().create(true).truncate(false).write(true).open(path)?;
        file.lock()?;
        Ok(Self(file))
    }
}
