//! Folders of a store.

use std::{
    fs::{self, DirEntry},
    io,
    path::Path,
};

pub fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Makes a folder, and those above it, for their owner only. One that is there keeps its permissions.
pub fn make_private_folder(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Makes new names in a folder last.
pub fn sync_folder(path: &Path) -> io::Result<()> {
    // Other systems cannot open a folder as a file, and keep names without it.
    #[cfg(unix)]
    fs::File::open(path)?.sync_all()?;
    #[cfg(not(unix))]
    let _ = path;
    Ok(())
}

/// What is in a folder; nothing when there is none.
pub fn list_folder(path: &Path) -> io::Result<Vec<DirEntry>> {
    match fs::read_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        listed => listed?.collect(),
    }
}

/// Returns whether others than the owner may read or change the file.
#[cfg(unix)]
pub fn is_open_to_others(path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::PermissionsExt as _;
    Ok(fs::metadata(path)?.permissions().mode() & 0o077 != 0)
}

/// Other systems have no such permission bits.
#[cfg(not(unix))]
pub fn is_open_to_others(_path: &Path) -> io::Result<bool> {
    Ok(false)
}
