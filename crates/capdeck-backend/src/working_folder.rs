//! The folder a child process works in.

use std::path::{Path, PathBuf};

use serde_json::json;

use crate::{CallError, ErrorCode};

/// Where a capability's processes may work.
#[derive(Debug, Clone)]
pub(crate) enum WorkingFolder {
    /// Anywhere; by default where the host was started.
    Anywhere,
    /// Only inside this project; by default at its root. The path is real, without links.
    Project { root: PathBuf },
}

impl WorkingFolder {
    /// The rule for a capability, given whether it is bound to the project.
    pub(crate) fn new(project_bound: bool, project: Option<&Path>) -> Result<Self, CallError> {
        if !project_bound {
            return Ok(Self::Anywhere);
        }
        let project = project.ok_or_else(|| {
            CallError::new(
                ErrorCode::UnsupportedCapability,
                "this capability works inside a project and there is none",
            )
            .hint("start capdeck inside the project or pass `--project DIR`")
        })?;
        let root = project.canonicalize().map_err(|source| {
            CallError::new(
                ErrorCode::ServerUnavailable,
                format!("the project folder cannot be opened: `{}`", project.display()),
            )
            .detail(source)
        })?;
        Ok(Self::Project { root })
    }

    /// The folder for a process, checked to exist. `None` means the host's own.
    pub(crate) fn resolve(&self, configured: Option<&str>) -> Result<Option<PathBuf>, CallError> {
        match (self, configured) {
            (Self::Anywhere, None) => Ok(None),
            (Self::Anywhere, Some(configured)) => existing(Path::new(configured)).map(Some),
            (Self::Project { root }, None) => Ok(Some(root.clone())),
            (Self::Project { root }, Some(configured)) => {
                // Links are followed before the check: a link inside the project may lead out of it.
                let folder = existing(&root.join(configured))?;
                if folder.starts_with(root) {
                    return Ok(Some(folder));
                }
                Err(CallError::new(
                    ErrorCode::UnsupportedCapability,
                    format!("the working folder is outside the project: `{configured}`"),
                )
                .hint("this capability is bound to its project; choose a `cwd` inside it")
                .data(json!({"reason": "invalid_cwd"})))
            }
        }
    }
}

fn existing(folder: &Path) -> Result<PathBuf, CallError> {
    let missing = |detail: String| {
        CallError::new(
            ErrorCode::ServerUnavailable,
            format!("the working folder does not exist: `{}`", folder.display()),
        )
        .hint("create it or correct `cwd`")
        .detail(detail)
    };
    let real = folder.canonicalize().map_err(|source| missing(source.to_string()))?;
    if real.is_dir() { Ok(real) } else { Err(missing("not a folder".to_owned())) }
}
