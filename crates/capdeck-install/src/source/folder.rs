//! All files of a folder, with nothing from outside it.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// The largest file that is taken.
const LARGEST_FILE: u64 = 50 << 20;
/// The most that one folder may hold.
const LARGEST_FOLDER: u64 = 200 << 20;
/// The most files that one folder may hold.
const MOST_FILES: usize = 5_000;
/// Folders that never belong to what is installed.
const LEFT_OUT: [&str; 2] = [".git", "node_modules"];

/// One file, by its path below the folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FolderFile {
    /// Relative, with `/` between its parts.
    pub(crate) path: String,
    pub(crate) content: Vec<u8>,
    pub(crate) is_program: bool,
}

/// A folder could not be taken.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FolderError {
    #[error("cannot read `{}`: {source}", path.display())]
    Unreadable {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("the link `{path}` leads outside its folder")]
    Escapes { path: String },
    #[error("the link `{path}` leads nowhere or in a circle")]
    BrokenLink { path: String },
    #[error("`{path}` is neither a file nor a folder")]
    Special { path: String },
    #[error("the name of `{}` is not UTF-8", path.display())]
    BadName { path: PathBuf },
    #[error("`{path}` is larger than {} MB", LARGEST_FILE >> 20)]
    FileTooLarge { path: String },
    #[error("the folder holds more than {} MB or {MOST_FILES} files", LARGEST_FOLDER >> 20)]
    TooLarge,
}

/// Reads every file below `folder`, by path. Links become what they lead to, which must be inside.
pub(crate) fn read_folder(folder: &Path) -> Result<Vec<FolderFile>, FolderError> {
    let unreadable = |source| FolderError::Unreadable { path: folder.to_owned(), source };
    let root = fs::canonicalize(folder).map_err(unreadable)?;
    let mut reading = Reading { root: root.clone(), files: Vec::new(), bytes: 0 };
    reading.folder(&root, "", &mut vec![root.clone()])?;
    reading.files.sort_unstable_by(|one, other| one.path.cmp(&other.path));
    Ok(reading.files)
}

struct Reading {
    root: PathBuf,
    files: Vec<FolderFile>,
    bytes: u64,
}

impl Reading {
    /// `above` holds the real folders on the way, so that a link cannot lead back into one of them.
    fn folder(
        &mut self,
        folder: &Path,
        prefix: &str,
        above: &mut Vec<PathBuf>,
    ) -> Result<(), FolderError> {
        let unreadable = |source| FolderError::Unreadable { path: folder.to_owned(), source };
        let entries: Result<Vec<_>, _> = fs::read_dir(folder).and_then(Iterator::collect);
        let mut entries = entries.map_err(unreadable)?;
        // The same problem is found first on every machine.
        entries.sort_unstable_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let path = entry.path();
            let Some(name) = entry.file_name().to_str().map(str::to_owned) else {
                return Err(FolderError::BadName { path });
            };
            if LEFT_OUT.contains(&name.as_str()) {
                continue;
            }
            let shown = format!("{prefix}{name}");
            let Ok(real) = fs::canonicalize(&path) else {
                return Err(FolderError::BrokenLink { path: shown });
            };
            if !real.starts_with(&self.root) {
                return Err(FolderError::Escapes { path: shown });
            }
            let unreadable = |source| FolderError::Unreadable { path: path.clone(), source };
            let known = fs::metadata(&real).map_err(unreadable)?;
            if known.is_dir() {
                if above.contains(&real) {
                    return Err(FolderError::BrokenLink { path: shown });
                }
                above.push(real.clone());
                self.folder(&real, &format!("{shown}/"), above)?;
                above.pop();
            } else if known.is_file() {
                self.file(&real, shown, &known)?;
            } else {
                return Err(FolderError::Special { path: shown });
            }
        }
        Ok(())
    }

    fn file(&mut self, real: &Path, path: String, known: &fs::Metadata) -> Result<(), FolderError> {
        if known.len() > LARGEST_FILE {
            return Err(FolderError::FileTooLarge { path });
        }
        self.bytes = self.bytes.saturating_add(known.len());
        if self.bytes > LARGEST_FOLDER || self.files.len() >= MOST_FILES {
            return Err(FolderError::TooLarge);
        }
        let unreadable = |source| FolderError::Unreadable { path: real.to_owned(), source };
        let content = fs::read(real).map_err(unreadable)?;
        self.files.push(FolderFile { path, content, is_program: is_program(known) });
        Ok(())
    }
}

#[cfg(unix)]
fn is_program(known: &fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    known.permissions().mode() & 0o111 != 0
}

#[cfg(not(unix))]
fn is_program(_known: &fs::Metadata) -> bool {
    false
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        read_folder(folder).unwrap().into_iter().map(|file| file.path).collect()
    }

    #[test]
    fn links_inside_become_files_and_links_outside_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("skill");
        fs::create_dir_all(folder.join("deep")).unwrap();
        fs::create_dir_all(folder.join("node_modules/x")).unwrap();
        fs::write(folder.join("node_modules/x/y"), "").unwrap();
        fs::write(folder.join("deep/a.md"), "a").unwrap();
        symlink("deep/a.md", folder.join("b.md")).unwrap();
        symlink("deep", folder.join("other")).unwrap();
        assert_eq!(names(&folder), ["b.md", "deep/a.md", "other/a.md"]);

        fs::write(dir.path().join("secret"), "s").unwrap();
        symlink("../../secret", folder.join("deep/out")).unwrap();
        let error = read_folder(&folder).unwrap_err().to_string();
        assert_eq!(error, "the link `deep/out` leads outside its folder");
    }

    #[test]
    fn circles_sockets_and_dead_ends_are_named() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("a");
        fs::create_dir(&folder).unwrap();
        symlink(".", folder.join("round")).unwrap();
        assert!(matches!(read_folder(&folder), Err(FolderError::BrokenLink { .. })));
        fs::remove_file(folder.join("round")).unwrap();
        symlink("nowhere", folder.join("dead")).unwrap();
        assert!(matches!(read_folder(&folder), Err(FolderError::BrokenLink { .. })));
        fs::remove_file(folder.join("dead")).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(folder.join("socket")).unwrap();
        assert!(matches!(read_folder(&folder), Err(FolderError::Special { .. })));
        let big = fs::File::create(dir.path().join("a/socket2")).unwrap();
        fs::remove_file(folder.join("socket")).unwrap();
        big.set_len(LARGEST_FILE + 1).unwrap();
        assert!(matches!(read_folder(&folder), Err(FolderError::FileTooLarge { .. })));
    }
}
