//! Replacing a file so that readers, and a crash, see the old text or the new one.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use capdeck_storage::{FileReaders, stage_file};

/// A file could not be replaced. Its former content is intact.
#[derive(Debug, thiserror::Error)]
#[error("cannot write `{}`: {source}", path.display())]
pub struct WriteError {
    pub path: PathBuf,
    #[source]
    pub source: io::Error,
}

/// Whether something that others wrote, or changed since, is replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OverwritePolicy {
    Keep,
    Overwrite,
}

impl OverwritePolicy {
    /// What a flag such as `--force` asks for.
    pub fn from_force(force: bool) -> Self {
        if force { Self::Overwrite } else { Self::Keep }
    }
}

/// Writes a file of Capdeck's own that only the person may read.
pub(crate) fn replace_private_file(path: &Path, content: &[u8]) -> Result<(), WriteError> {
    capdeck_storage::replace_file(path, content, FileReaders::Owner)
        .map_err(|source| WriteError { path: path.to_owned(), source })
}

/// Writes `content` in one step, synced. An existing file keeps its permissions, and a symbolic link stays one: the file
/// it leads to is replaced, as people keep such files in a folder of their own.
pub fn replace_file(path: &Path, content: &[u8]) -> Result<(), WriteError> {
    replace_file_if(path, content, || true).map(|_| ())
}

/// The same, if `may_replace` says so when everything but the step itself is done. Returns whether it did.
pub(crate) fn replace_file_if(
    path: &Path,
    content: &[u8],
    may_replace: impl FnOnce() -> bool,
) -> Result<bool, WriteError> {
    let failed = |source| WriteError { path: path.to_owned(), source };
    let real = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let staged = stage_file(&real, content, FileReaders::Unchanged).map_err(failed)?;
    if !may_replace() {
        return Ok(false);
    }
    staged.replace().map_err(failed)?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;

    use super::*;

    #[test]
    fn a_file_is_replaced_whole_and_nothing_is_left_beside_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("deep/settings.json");
        replace_file(&path, b"one").unwrap();
        replace_file(&path, b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn permissions_and_links_stay() {
        use std::os::unix::fs::{PermissionsExt as _, symlink};
        let dir = tempfile::tempdir().unwrap();
        let (real, link) = (dir.path().join("real"), dir.path().join("link"));
        fs::write(&real, "old").unwrap();
        fs::set_permissions(&real, Permissions::from_mode(0o600)).unwrap();
        symlink(&real, &link).unwrap();
        replace_file(&link, b"new").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(&real).unwrap(), b"new");
        assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o600);
    }
}
