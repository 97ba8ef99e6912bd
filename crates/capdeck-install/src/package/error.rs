//! Why packages could not be fetched or written.

use std::{io, path::PathBuf};

use crate::{GitError, WriteError};

/// A request about packages that failed. Nothing half-written is left.
#[derive(Debug, thiserror::Error)]
pub enum PackageError {
    #[error("`{source_text}` is no source: {reason}")]
    BadSource { source_text: String, reason: &'static str },
    #[error("there is no folder `{}`", path.display())]
    NoFolder { path: PathBuf },
    #[error("`{}` holds no capabilities", path.display())]
    Empty { path: PathBuf },
    #[error("the source has no `{id}`; it has: {}", known.join(", "))]
    NoSuchPackage { id: String, known: Vec<String> },
    #[error("`{child}` is part of `{id}`, which is installed whole")]
    Child { child: String, id: String },
    #[error("`{id}` cannot be taken: {reason}")]
    BadContents { id: String, reason: String },
    #[error("`{id}` is not installed from anywhere")]
    NotInstalled { id: String },
    #[error("`{}` cannot be read: {reason}", path.display())]
    BadLock { path: PathBuf, reason: String },
    #[error("cannot {doing} `{}`", path.display())]
    File {
        doing: &'static str,
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error(transparent)]
    Write(#[from] WriteError),
    #[error(transparent)]
    Git(#[from] GitError),
}

impl PackageError {
    /// What to do about it, where there is something.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::BadSource { .. } => Some(
                "name a folder, a git address, or owner/repo with an optional #ref, @tag or subfolder"
                    .to_owned(),
            ),
            Self::Empty { .. } => Some(
                "capabilities are `<id>.md` or `<id>/CAPLET.md`, in the folder itself or in `caplets/`"
                    .to_owned(),
            ),
            Self::Child { id, .. } => Some(format!("name `{id}`")),
            Self::NotInstalled { .. } => {
                Some("see what is installed with: capdeck update --dry-run".to_owned())
            }
            Self::BadLock { path, .. } => Some(format!(
                "repair `{}`, or delete it and get the packages again",
                path.display()
            )),
            Self::Git(error) => error.hint().map(str::to_owned),
            Self::NoFolder { .. }
            | Self::NoSuchPackage { .. }
            | Self::BadContents { .. }
            | Self::File { .. }
            | Self::Write(_) => None,
        }
    }

    pub(super) fn file(doing: &'static str, path: &std::path::Path, source: io::Error) -> Self {
        Self::File { doing, path: path.to_owned(), source }
    }
}
