//! Finds a program like a shell does, so that a missing one can be reported before the start.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use super::SpawnError;

/// Returns the file of a command, searched in `search_path` unless it is a path.
///
/// A relative path such as `./tool` starts at the working folder of the process.
pub(crate) fn find_program(
    program: &str,
    search_path: Option<&str>,
    folder: Option<&Path>,
) -> Result<PathBuf, SpawnError> {
    if program.is_empty() {
        return Err(SpawnError::Empty);
    }
    if program.contains('/') {
        let path = folder.map_or_else(|| PathBuf::from(program), |folder| folder.join(program));
        return match executable(&path) {
            ExecutableCheck::Yes => Ok(path),
            ExecutableCheck::No if path.is_dir() => Err(SpawnError::Folder { path }),
            ExecutableCheck::No => Err(SpawnError::NotExecutable { path }),
            ExecutableCheck::Missing => Err(SpawnError::NoSuchFile { path }),
        };
    }
    let mut refused = None;
    for place in search_path.unwrap_or(DEFAULT_PATH).split(':').filter(|place| !place.is_empty()) {
        let path = Path::new(place).join(program);
        match executable(&path) {
            ExecutableCheck::Yes => return Ok(path),
            // A folder of that name is skipped.
            ExecutableCheck::No if path.is_dir() => {}
            ExecutableCheck::No => refused = refused.or(Some(path)),
            ExecutableCheck::Missing => {}
        }
    }
    Err(match refused {
        Some(path) => SpawnError::NotExecutable { path },
        None => SpawnError::NotOnPath { program: program.to_owned() },
    })
}

/// Used without a `PATH`.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

enum ExecutableCheck {
    Yes,
    No,
    Missing,
}

fn executable(path: &Path) -> ExecutableCheck {
    match fs::metadata(path) {
        Ok(facts) if facts.is_file() && facts.permissions().mode() & 0o111 != 0 => {
            ExecutableCheck::Yes
        }
        Ok(_) => ExecutableCheck::No,
        Err(_) => ExecutableCheck::Missing,
    }
}
