//! Databases of other programs, read from a copy: reading one in place may write beside it.

use std::{
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
};

use rusqlite::{Connection, OpenFlags};

/// A database larger than this is not copied.
const MAX_BYTES: u64 = 2 << 30;

/// Copies a database into `scratch`, which must be the person's alone, and opens the copy. The error says why not.
pub(crate) fn open_copy(path: &Path, scratch: &Path) -> Result<Connection, String> {
    let copy = copy(path, scratch).map_err(|error| error.to_string())?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Connection::open_with_flags(copy, flags).map_err(|error| error.to_string())
}

/// Copies a database with what is not yet written into it.
fn copy(path: &Path, scratch: &Path) -> io::Result<PathBuf> {
    if fs::metadata(path)?.len() > MAX_BYTES {
        return Err(io::Error::other("it is too large"));
    }
    let to = scratch.join(path.file_name().unwrap_or_default());
    fs::copy(path, &to)?;
    match fs::copy(log_of(path), log_of(&to)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(to),
    }
}

/// Where the last changes of a database are.
fn log_of(path: &Path) -> PathBuf {
    let mut name = OsString::from(path.as_os_str());
    name.push("-wal");
    PathBuf::from(name)
}
