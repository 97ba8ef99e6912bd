//! Files that are written beside their place and renamed into it.

use std::{
    fs::{self, OpenOptions, Permissions},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use tempfile::NamedTempFile;

use crate::folder::{folder_of, make_private_folder, sync_folder};

/// What the name of an unfinished file of the owner starts with.
pub const TEMPORARY_PREFIX: &str = ".tmp";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileReaders {
    /// Its owner, and folders that are made for it are the owner's too.
    Owner,
    /// The readers of the replaced file; for a new one, those that the umask allows.
    Unchanged,
}

/// A file with its content, synced, that is not yet at its place. Dropping it changes nothing.
#[derive(Debug)]
pub struct StagedFile {
    file: NamedTempFile,
    path: PathBuf,
}

impl StagedFile {
    /// Moves the file to its place. What was there is replaced.
    pub fn replace(self) -> io::Result<()> {
        self.file.persist(&self.path).map_err(|error| error.error)?;
        sync_folder(folder_of(&self.path))
    }

    /// Moves the file to its place unless a file is there. Returns whether it did.
    pub fn create(self) -> io::Result<bool> {
        match self.file.persist_noclobber(&self.path) {
            Ok(_) => sync_folder(folder_of(&self.path)).map(|()| true),
            Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(error.error),
        }
    }
}

/// Writes a file beside its place, synced. Folders are made.
pub fn stage_file(path: &Path, bytes: &[u8], readers: FileReaders) -> io::Result<StagedFile> {
    let file = write_beside(path, bytes, readers)?;
    file.as_file().sync_all()?;
    Ok(StagedFile { file, path: path.to_owned() })
}

/// Replaces a file in one step that lasts.
pub fn replace_file(path: &Path, bytes: &[u8], readers: FileReaders) -> io::Result<()> {
    stage_file(path, bytes, readers)?.replace()
}

/// Replaces a file of the owner in one step: a kill leaves it whole, a power cut may lose it.
pub fn replace_file_unsynced(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let file = write_beside(path, bytes, FileReaders::Owner)?;
    file.persist(path).map(drop).map_err(|error| error.error)
}

pub fn read_if_exists(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        read => read.map(Some),
    }
}

/// Removes a file. Returns whether there was one.
pub fn remove_if_exists(path: &Path) -> io::Result<bool> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        removed => removed.map(|()| true),
    }
}

/// How a file is opened that only its owner may read.
pub fn private_options() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

fn write_beside(path: &Path, bytes: &[u8], readers: FileReaders) -> io::Result<NamedTempFile> {
    let folder = folder_of(path);
    let mut builder = tempfile::Builder::new();
    builder.prefix(TEMPORARY_PREFIX);
    let kept = match readers {
        FileReaders::Owner => {
            make_private_folder(folder)?;
            None
        }
        FileReaders::Unchanged => {
            fs::create_dir_all(folder)?;
            // In a folder of the person, what a kill leaves should say whose it is.
            builder.prefix(".capdeck-");
            let kept = fs::metadata(path).ok().map(|known| known.permissions());
            if let Some(permissions) = kept.clone().or_else(permissions_of_editors) {
                builder.permissions(permissions);
            }
            kept
        }
    };
    let mut file = builder.tempfile_in(folder)?;
    file.write_all(bytes)?;
    if let Some(permissions) = kept {
        // The umask does not narrow what the file had.
        file.as_file().set_permissions(permissions)?;
    }
    Ok(file)
}

/// An editor makes a file for everyone, and the umask narrows it.
#[cfg(unix)]
#[expect(clippy::unnecessary_wraps, reason = "other systems have no such permissions")]
fn permissions_of_editors() -> Option<Permissions> {
    Some(std::os::unix::fs::PermissionsExt::from_mode(0o666))
}

#[cfg(not(unix))]
fn permissions_of_editors() -> Option<Permissions> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_whole_and_nothing_is_left_beside_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("deep/settings.json");
        for (text, readers) in [("one", FileReaders::Owner), ("two", FileReaders::Unchanged)] {
            replace_file(&path, text.as_bytes(), readers).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        replace_file_unsynced(&path, b"three").unwrap();
        assert_eq!(read_if_exists(&path).unwrap().unwrap(), b"three");
        assert_eq!(fs::read_dir(folder_of(&path)).unwrap().count(), 1);
    }

    #[test]
    fn a_staged_file_that_is_dropped_changes_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("settings.json");
        replace_file(&path, b"one", FileReaders::Owner).unwrap();
        drop(stage_file(&path, b"two", FileReaders::Owner).unwrap());
        assert_eq!(fs::read(&path).unwrap(), b"one");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_created_file_replaces_none() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("key");
        assert!(stage_file(&path, b"first", FileReaders::Owner).unwrap().create().unwrap());
        assert!(!stage_file(&path, b"second", FileReaders::Owner).unwrap().create().unwrap());
        assert_eq!(fs::read(&path).unwrap(), b"first");
        assert!(remove_if_exists(&path).unwrap());
        assert!(!remove_if_exists(&path).unwrap());
        assert_eq!(read_if_exists(&path).unwrap(), None);
    }

    #[cfg(unix)]
    #[test]
    fn permissions_are_those_asked_for() {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let dir = tempfile::tempdir().unwrap();
        let private = dir.path().join("private/key");
        replace_file(&private, b"", FileReaders::Owner).unwrap();
        assert_eq!((mode(folder_of(&private)), mode(&private)), (0o700, 0o600));

        let shared = dir.path().join("settings.json");
        fs::write(&shared, "").unwrap();
        fs::set_permissions(&shared, Permissions::from_mode(0o664)).unwrap();
        replace_file(&shared, b"new", FileReaders::Unchanged).unwrap();
        assert_eq!(mode(&shared), 0o664);
    }
}
