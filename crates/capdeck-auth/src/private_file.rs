//! Files that only their owner may read: atomic writes and locks.

use std::{
    fs::{self, File, TryLockError},
    io::{self, Write},
    path::{Path, PathBuf},
};

use tempfile::NamedTempFile;

/// A file that is written and synced but not yet renamed. Dropping it changes nothing.
pub(crate) struct StagedFile {
    file: NamedTempFile,
    path: PathBuf,
}

/// A lock across processes. Dropping it releases the lock.
#[derive(Debug)]
pub(crate) struct FileLock(#[expect(dead_code, reason = "the lock ends with the file")] File);

/// Creates the folder of a file with mode 0700.
pub(crate) fn make_folder(path: &Path) -> io::Result<&Path> {
    let folder = path.parent().unwrap_or_else(|| Path::new("."));
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)?;
    Ok(folder)
}

/// Writes a temporary file beside the target, with mode 0600 from the start.
pub(crate) fn stage(path: &Path, bytes: &[u8]) -> io::Result<StagedFile> {
    let mut file = NamedTempFile::new_in(make_folder(path)?)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    Ok(StagedFile { file, path: path.to_owned() })
}

/// Replaces a file atomically and durably.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    stage(path, bytes)?.put()
}

pub(crate) fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

pub(crate) fn remove(path: &Path) -> io::Result<bool> {
    match fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Waits for this lock. Blocks the thread.
pub(crate) fn lock_file(lock: &Path) -> io::Result<FileLock> {
    let file = open_lock(lock)?;
    file.lock()?;
    Ok(FileLock(file))
}

pub(crate) fn try_hold(lock: &Path) -> io::Result<Option<FileLock>> {
    let file = open_lock(lock)?;
    match file.try_lock() {
        Ok(()) => Ok(Some(FileLock(file))),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Returns whether others may read or change the file.
#[cfg(unix)]
pub(crate) fn is_open_to_others(path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::PermissionsExt as _;
    Ok(fs::metadata(path)?.permissions().mode() & 0o077 != 0)
}

/// Other systems have no such permission bits.
#[cfg(not(unix))]
pub(crate) fn is_open_to_others(_path: &Path) -> io::Result<bool> {
    Ok(false)
}

fn open_lock(lock: &Path) -> io::Result<File> {
    make_folder(lock)?;
    File::options().create(true).append(true).open(lock)
}

impl StagedFile {
    pub(crate) fn put(self) -> io::Result<()> {
        let Self { file, path } = self;
        file.persist(&path).map_err(|error| error.error)?;
        File::open(path.parent().unwrap_or_else(|| Path::new(".")))?.sync_all()
    }
}
