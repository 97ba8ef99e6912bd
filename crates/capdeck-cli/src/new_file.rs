//! Writes a new file whole or not at all.

use std::{fs, io::Write as _, os::unix::fs::PermissionsExt as _, path::Path};

use crate::errors::Failure;

/// What happens to a file that is already there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Existing {
    Keep,
    Replace,
}

/// Who may read the new file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Readers {
    /// A person's own deck may hold secrets.
    Owner,
    /// A project's files are shared.
    Everyone,
}

/// Writes `text` to `path`, making its folder. Another process sees the old file or the new one, never a part.
pub(crate) fn write_new(
    path: &Path,
    text: &str,
    existing: Existing,
    readers: Readers,
) -> Result<(), Failure> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    fs::create_dir_all(folder).map_err(|error| Failure::file("make the folder", folder, &error))?;
    let mode = match readers {
        Readers::Owner => 0o600,
        Readers::Everyone => 0o644,
    };
    let failed = |error: std::io::Error| Failure::file("write", path, &error);
    let mut file = tempfile::Builder::new()
        .prefix(".capdeck-")
        .permissions(fs::Permissions::from_mode(mode))
        .tempfile_in(folder)
        .map_err(failed)?;
    file.write_all(text.as_bytes()).and_then(|()| file.as_file().sync_all()).map_err(failed)?;
    let kept = match existing {
        Existing::Replace => file.persist(path),
        Existing::Keep => file.persist_noclobber(path),
    };
    kept.map(drop).map_err(|error| match error.error.kind() {
        std::io::ErrorKind::AlreadyExists => already_there(path),
        _ => failed(error.error),
    })
}

/// The refusal to touch a file that is already there.
pub(crate) fn already_there(path: &Path) -> Failure {
    Failure::request("FILE_EXISTS", format!("`{}` is already there", path.display()))
        .hint("replace it with --force, or choose another id")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_existing_file_is_replaced_only_on_request() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/er/a.md");
        write_new(&path, "one", Existing::Keep, Readers::Owner).unwrap();
        let refused = write_new(&path, "two", Existing::Keep, Readers::Owner).unwrap_err();
        assert_eq!(refused.code, "FILE_EXISTS");
        assert_eq!(fs::read_to_string(&path).unwrap(), "one");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);

        write_new(&path, "three", Existing::Replace, Readers::Everyone).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "three");
        let left: Vec<_> = fs::read_dir(path.parent().unwrap()).unwrap().collect();
        assert_eq!(left.len(), 1, "no temporary file is left behind");
    }
}
