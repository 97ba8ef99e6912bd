//! Replacing a file so that readers, and a crash, see the old text or the new one.

use std::{
    fs::{self, File, Permissions},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

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
    pub fn of(force: bool) -> Self {
        if force { Self::Overwrite } else { Self::Keep }
    }
}

/// Writes a file of Capdeck's own that only the person may read.
pub(crate) fn replace_private_file(path: &Path, content: &[u8]) -> Result<(), WriteError> {
    let failed = |source| WriteError { path: path.to_owned(), source };
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder).map_err(failed)?;
    write_beside(folder, path, content, private(), || true).map(|_| ()).map_err(failed)
}

#[cfg(unix)]
#[expect(clippy::unnecessary_wraps, reason = "other systems have no such permissions")]
fn private() -> Option<Permissions> {
    use std::os::unix::fs::PermissionsExt as _;
    Some(Permissions::from_mode(0o600))
}

#[cfg(not(unix))]
fn private() -> Option<Permissions> {
    None
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
    let folder = real.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    fs::create_dir_all(folder).map_err(failed)?;
    let permissions = fs::metadata(&real).ok().map(|known| known.permissions());
    write_beside(folder, &real, content, permissions, may_replace).map_err(failed)
}

fn write_beside(
    folder: &Path,
    path: &Path,
    content: &[u8],
    permissions: Option<Permissions>,
    may_replace: impl FnOnce() -> bool,
) -> io::Result<bool> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".capdeck-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        // A new file is made as an editor would make it; the person's umask narrows it.
        builder.permissions(permissions.clone().unwrap_or(Permissions::from_mode(0o666)));
    }
    let mut file = builder.tempfile_in(folder)?;
    file.write_all(content)?;
    if let Some(permissions) = permissions {
        file.as_file().set_permissions(permissions)?;
    }
    file.as_file().sync_all()?;
    if !may_replace() {
        return Ok(false);
    }
    file.persist(path).map_err(|error| error.error)?;
    sync_folder(folder)?;
    Ok(true)
}

/// The lock of a folder. Held until it is dropped, or until the process ends.
#[derive(Debug)]
pub struct FolderLock(#[expect(dead_code, reason = "held for its lock")] File);

impl FolderLock {
    /// Waits for the holder of the lock file at `path`.
    pub(crate) fn take(path: &Path) -> io::Result<Self> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let file = File::options().create(true).truncate(false).write(true).open(path)?;
        file.lock()?;
        Ok(Self(file))
    }
}

/// Removes a file that may be gone already.
pub(crate) fn remove_file(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Makes new names in a folder last.
pub(crate) fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

#[cfg(test)]
mod tests {
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
