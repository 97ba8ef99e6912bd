//! Where packages come from: a folder, or a commit of a git repository.

use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::PackageError;
use crate::{GitClient, GitRevision, RepoAddress};

/// A source as a person names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum PackageSource {
    /// A folder on this machine.
    Folder { path: PathBuf },
    /// A repository.
    Git {
        /// The address without what follows.
        repository: String,
        /// The tag, branch or commit; the newest release if none is named.
        #[serde(skip_serializing_if = "Option::is_none")]
        reference: Option<String>,
        /// The folder in it, with `/` between its parts.
        #[serde(skip_serializing_if = "Option::is_none")]
        subfolder: Option<String>,
    },
}

/// Where a package came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockedSource {
    #[serde(flatten)]
    pub source: PackageSource,
    /// Of a repository.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
}

/// A source whose files are on this machine now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchedSource {
    /// The folder to look for packages in.
    pub dir: PathBuf,
    /// The whole of it, which links may lead to places of.
    pub root: PathBuf,
    /// What the lock will say about it.
    pub source: LockedSource,
}

impl PackageSource {
    /// Reads what was typed. What looks like a path, or is a folder seen from `here`, is a folder.
    pub fn parse(text: &str, here: &Path) -> Result<Self, PackageError> {
        let bad = |reason| PackageError::BadSource { source_text: text.to_owned(), reason };
        if text.trim().is_empty() {
            return Err(bad("it is empty"));
        }
        let is_path = text.starts_with(['.', '/', '~']);
        let path = here.join(text);
        if is_path || path.is_dir() {
            if !path.is_dir() {
                return Err(PackageError::NoFolder { path });
            }
            let path =
                path.canonicalize().map_err(|source| PackageError::file("open", &path, source))?;
            return Ok(Self::Folder { path });
        }
        let (address, reference) = match text.rsplit_once('#') {
            Some((_, "")) => return Err(bad("nothing follows the `#`")),
            Some((address, reference)) => (address, Some(reference.to_owned())),
            None => (text, None),
        };
        if address.contains("://") || address.contains(':') {
            let repository = address.to_owned();
            return Ok(Self::Git { repository, reference, subfolder: None });
        }
        let (address, reference) = match (address.rsplit_once('@'), reference) {
            (Some(_), Some(_)) => return Err(bad("it names a `#ref` and a `@tag`")),
            (Some((_, "")), None) => return Err(bad("nothing follows the `@`")),
            (Some((address, tag)), None) => (address, Some(tag.to_owned())),
            (None, reference) => (address, reference),
        };
        let mut parts = address.splitn(3, '/');
        let (Some(owner), Some(repo)) = (parts.next(), parts.next()) else {
            return Err(bad("there is no such folder, and a repository is `owner/repo`"));
        };
        let subfolder = parts.next().filter(|rest| !rest.is_empty()).map(str::to_owned);
        Ok(Self::Git { repository: format!("{owner}/{repo}"), reference, subfolder })
    }

    /// The same source, looking in a folder of it.
    pub fn in_folder(self, below: &str) -> Result<Self, PackageError> {
        let below = below.trim_matches('/');
        check_below(below)?;
        Ok(match self {
            Self::Folder { path } => Self::Folder { path: path.join(below) },
            Self::Git { repository, reference, subfolder } => {
                let subfolder = match subfolder {
                    Some(outer) => format!("{outer}/{below}"),
                    None => below.to_owned(),
                };
                Self::Git { repository, reference, subfolder: Some(subfolder) }
            }
        })
    }

    /// Brings the files here. A folder is where it is; of a repository, the snapshot of one commit.
    pub fn fetch(&self, git: &GitClient) -> Result<FetchedSource, PackageError> {
        match self {
            Self::Folder { path } => {
                if !path.is_dir() {
                    return Err(PackageError::NoFolder { path: path.clone() });
                }
                let source = LockedSource { source: self.clone(), commit: None };
                Ok(FetchedSource { dir: path.clone(), root: path.clone(), source })
            }
            Self::Git { repository, reference, subfolder } => {
                let address = RepoAddress::parse(repository)?;
                let revision = match reference {
                    Some(text) => GitRevision::from_request(None, Some(text))?,
                    None => GitRevision::Newest,
                };
                let snapshot = git.snapshot(&address, &revision)?;
                let root = snapshot.path.clone();
                let dir = match subfolder {
                    Some(below) => {
                        check_below(below)?;
                        snapshot.path.join(below)
                    }
                    None => snapshot.path,
                };
                if !dir.is_dir() {
                    let path = PathBuf::from(subfolder.clone().unwrap_or_default());
                    return Err(PackageError::NoFolder { path });
                }
                let source = LockedSource { source: self.clone(), commit: Some(snapshot.commit) };
                Ok(FetchedSource { dir, root, source })
            }
        }
    }
}

impl LockedSource {
    /// The source as people read it.
    pub fn describe(&self) -> String {
        match &self.source {
            PackageSource::Folder { path } => path.display().to_string(),
            PackageSource::Git { repository, reference, subfolder } => {
                let below = subfolder.iter().map(|below| format!("/{below}"));
                let reference = reference.iter().map(|name| format!("#{name}"));
                let after: String = below.chain(reference).collect();
                let short: String =
                    self.commit.iter().flat_map(|hash| hash.chars()).take(12).collect();
                format!("{repository}{after} at {short}")
            }
        }
    }
}

/// A folder inside a source must not lead out of it.
fn check_below(below: &str) -> Result<(), PackageError> {
    let is_inside = Path::new(below).components().all(|part| matches!(part, Component::Normal(_)));
    if is_inside && !below.is_empty() {
        return Ok(());
    }
    Err(PackageError::BadSource {
        source_text: below.to_owned(),
        reason: "the folder must be inside the source",
    })
}
