//! Why a repository could not be had.

use std::{io, path::PathBuf, time::Duration};

/// A repository, or a commit of it, could not be had. Nothing half-made is left behind.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    #[error("`git` is not installed or not on the PATH")]
    NoGit,
    #[error("`{address}` is not a repository that can be used: {reason}")]
    BadAddress { address: String, reason: &'static str },
    #[error("`{revision}` is not a version or commit: {reason}")]
    BadRevision { revision: String, reason: &'static str },
    #[error("there is no repository `{repo}`, or it is private: {detail}")]
    NoSuchRepository { repo: String, detail: String },
    #[error("`{repo}` has no tag, branch or commit `{revision}`{}", known_names(known))]
    NoSuchRevision { repo: String, revision: String, known: Vec<String> },
    #[error("`{repo}` has no commits yet")]
    Empty { repo: String },
    #[error("`{repo}` cannot be reached: {detail}")]
    Unreachable { repo: String, detail: String },
    #[error("`{repo}` did not answer within {} s", after.as_secs())]
    TimedOut { repo: String, after: Duration },
    #[error("`{repo}` holds a path that must not be written: `{path}`")]
    BadPath { repo: String, path: String },
    #[error("`{repo}` is larger than is taken: {what}")]
    TooLarge { repo: String, what: String },
    #[error("git failed on `{repo}`: {detail}")]
    Failed { repo: String, detail: String },
    #[error("cannot use `{}`", path.display())]
    Cache {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

impl GitError {
    /// What to do about it, where there is something.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NoGit => Some("install git, or take the source from a local folder"),
            Self::NoSuchRepository { .. } => Some(
                "check the name; for a private repository set up git's credential helper, or use its ssh address",
            ),
            Self::Unreachable { .. } | Self::TimedOut { .. } => {
                Some("check the network; what the lock pins and was fetched before works offline")
            }
            Self::BadAddress { .. }
            | Self::BadRevision { .. }
            | Self::NoSuchRevision { .. }
            | Self::Empty { .. }
            | Self::BadPath { .. }
            | Self::TooLarge { .. }
            | Self::Failed { .. }
            | Self::Cache { .. } => None,
        }
    }
}

fn known_names(known: &[String]) -> String {
    match known {
        [] => String::new(),
        names => format!("; it has: {}", names.join(", ")),
    }
}
