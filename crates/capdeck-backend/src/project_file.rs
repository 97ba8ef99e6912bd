//! A file that a caller names by its path, to be sent along with a request.
//!
//! One rule for every kind of API: a path is read inside the project and nowhere else. Callers are programs that read texts of
//! strangers; what else is on the machine is not theirs to send away. Artifacts and content in the arguments need no path.

use std::path::{Path, PathBuf};

/// The file a path means, relative to the project, with links followed. Why it is not used, as the end of a sentence.
pub(crate) fn project_file(named: &str, project: Option<&Path>) -> Result<PathBuf, String> {
    let project = project.ok_or("is a path, and there is no project to read it from")?;
    let project = project.canonicalize().map_err(|error| format!("cannot be read: {error}"))?;
    let file = project
        .join(named)
        .canonicalize()
        .map_err(|error| format!("cannot be read: `{named}`: {error}"))?;
    // Links were followed before the check: one inside the project may lead out of it.
    if !file.starts_with(&project) {
        return Err(format!("is outside of the project: `{named}`"));
    }
    if !file.is_file() {
        return Err("is no file".to_owned());
    }
    Ok(file)
}

/// What to do instead of naming such a path.
pub(crate) const HINT: &str = "give a path inside the project (`--project DIR` says which), an artifact, or the content itself";
