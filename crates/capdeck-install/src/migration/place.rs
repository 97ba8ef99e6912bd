//! Where a path leads to, before anything is there.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// The real path of something that need not exist: a journal replaces files by renaming, which must not replace a link.
pub fn real_place(path: &Path) -> PathBuf {
    let mut missing = Vec::new();
    for folder in path.ancestors() {
        if let Ok(real) = fs::canonicalize(folder) {
            return missing.iter().rev().fold(real, |real, name| real.join(name));
        }
        missing.extend(folder.file_name());
    }
    path.to_owned()
}
