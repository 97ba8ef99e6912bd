//! Packages: capabilities from another source, copied into a deck with a record of where they came from.
//!
//! Everything is read, checked and shown before anything is written. What a package can do on this machine is computed
//! from its definition and kept in the lock, so that an update that can do more is noticed and not slipped in.

mod contents;
mod deck;
mod lock;
mod risk;
mod source;
#[cfg(test)]
mod tests;

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use capdeck_definition::CapabilityId;
use serde::Serialize;

use self::contents::{MAIN_FILE, real_inside};
use crate::{GitError, WriteError};

pub use contents::{CapabilityPackage, PackageKind};
pub use deck::PackageDeck;
pub use lock::{LockedPackage, PackageLock};
pub use risk::{PackageRisk, RiskChange};
pub use source::{FetchedSource, LockedSource, PackageSource};

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
    #[error("`{id}` is not a package")]
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
                Some("delete its file by hand; packages are listed by: capdeck update --dry-run".to_owned())
            }
            Self::BadLock { path, .. } => Some(format!(
                "repair `{}`, or delete it and get the packages again",
                path.display()
            )),
            Self::Git(error) => error.hint().map(str::to_owned),
            _ => None,
        }
    }

    fn file(doing: &'static str, path: &std::path::Path, source: io::Error) -> Self {
        Self::File { doing, path: path.to_owned(), source }
    }
}

/// A package to be written into a deck.
#[derive(Debug, Clone, PartialEq)]
pub struct PackageChange {
    pub package: CapabilityPackage,
    pub source: LockedSource,
    pub action: PackageAction,
    /// Where it goes.
    pub path: PathBuf,
    /// What it can do that it could not before, and the other way round; everything, for a new one.
    pub risk_changes: Vec<RiskChange>,
    /// The texts that change.
    pub diff: String,
    /// Whether its source has something else than what was installed.
    pub has_news: bool,
    /// Whether the deck holds exactly this already, so that only the record is written.
    is_there: bool,
    /// Why it is not written as it is.
    pub obstacle: Option<PackageObstacle>,
}

/// What happens to a package.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PackageAction {
    Install,
    Update,
    /// It is there as it should be.
    Nothing,
}

/// Why a package is not written as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(rename_all = "kebab-case")]
pub enum PackageObstacle {
    #[error("its definition has errors")]
    Broken,
    #[error("something else of that id is already in the deck")]
    Foreign,
    #[error("it was edited after it was installed")]
    Edited,
    #[error("another program installed it, and whether it was edited since is unknown")]
    Unknown,
}

/// A package to be removed from a deck.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackageRemoval {
    pub id: String,
    pub path: PathBuf,
    /// False when its files are gone already and only the record is left.
    pub is_there: bool,
    pub obstacle: Option<PackageObstacle>,
}

impl PackageChange {
    /// Whether it can do anything new. A package that is new itself was asked for as it is.
    pub fn widens(&self) -> bool {
        self.action == PackageAction::Update && self.risk_changes.iter().any(|change| change.is_new)
    }
}

impl PackageObstacle {
    /// Whether a person may decide to go on all the same.
    pub fn yields_to_force(self) -> bool {
        self != Self::Broken
    }
}

/// A package that a source has, not yet read.
#[derive(Debug, Clone)]
struct PackageLocation {
    id: String,
    kind: PackageKind,
    path: PathBuf,
}

/// The packages of a fetched source: in its `caplets` folder if there is one, else in itself, else itself. With ids, those only.
pub fn find_packages(
    source: &FetchedSource,
    ids: &[String],
) -> Result<Vec<CapabilityPackage>, PackageError> {
    let FetchedSource { dir, root, .. } = source;
    let inner = dir.join("caplets");
    let place = if is_real_folder(&inner) { inner } else { dir.clone() };
    let mut found = list(&place, root)?;
    if found.is_empty() && place.join(MAIN_FILE).is_file() {
        found.extend(itself(&place));
    }
    if found.is_empty() {
        return Err(PackageError::Empty { path: place });
    }
    let chosen: Vec<PackageLocation> = if ids.is_empty() {
        found
    } else {
        ids.iter().map(|id| choose(id, &found)).collect::<Result<_, _>>()?
    };
    let read =
        |found: &PackageLocation| CapabilityPackage::read(&found.id, found.kind, &found.path, root);
    chosen.iter().map(read).collect()
}

fn list(dir: &Path, root: &Path) -> Result<Vec<PackageLocation>, PackageError> {
    let failed = |source| PackageError::file("read", dir, source);
    let mut found: Vec<PackageLocation> = Vec::new();
    for entry in fs::read_dir(dir).map_err(failed)? {
        let entry = entry.map_err(failed)?.path();
        let Some(name) = entry.file_name().and_then(|name| name.to_str()) else { continue };
        // A link that leaves the source, or leads nowhere, is not one of its capabilities.
        let path = match entry.is_symlink() {
            true => match real_inside(&entry, root) {
                Some(real) => real,
                None => continue,
            },
            false => entry.clone(),
        };
        let facts = fs::symlink_metadata(&path)
            .map_err(|source| PackageError::file("read", &path, source))?;
        let (id, kind) = match name.strip_suffix(".md") {
            Some(stem) if facts.is_file() && declares(&path) => (stem, PackageKind::File),
            _ if facts.is_dir() && path.join(MAIN_FILE).is_file() => (name, PackageKind::Directory),
            _ => continue,
        };
        // A name that is no id could not be installed under it.
        if CapabilityId::new(id).is_ok() {
            found.push(PackageLocation { id: id.to_owned(), kind, path: path.clone() });
        }
    }
    // A folder wins over a file of the same id, as it does in a deck.
    found.sort_by(|one, other| {
        let is_file = |found: &PackageLocation| found.kind == PackageKind::File;
        (&one.id, is_file(one)).cmp(&(&other.id, is_file(other)))
    });
    found.dedup_by(|later, earlier| later.id == earlier.id);
    Ok(found)
}

/// A folder that is one capability, under its own name.
fn itself(dir: &Path) -> Option<PackageLocation> {
    let real = dir.canonicalize().ok()?;
    let id = real.file_name()?.to_str()?;
    CapabilityId::new(id).ok()?;
    Some(PackageLocation { id: id.to_owned(), kind: PackageKind::Directory, path: dir.to_owned() })
}

fn choose(id: &str, found: &[PackageLocation]) -> Result<PackageLocation, PackageError> {
    if let Some(one) = found.iter().find(|one| one.id == id) {
        return Ok(one.clone());
    }
    // The unit is the file; its children come with it.
    let parent = id.split_once("__").map(|(parent, _)| parent);
    if let Some(one) = found.iter().find(|one| Some(one.id.as_str()) == parent) {
        return Err(PackageError::Child { child: id.to_owned(), id: one.id.clone() });
    }
    let known = found.iter().take(20).map(|one| one.id.clone()).collect();
    Err(PackageError::NoSuchPackage { id: id.to_owned(), known })
}

/// A README is for people, unless it declares something.
fn declares(path: &Path) -> bool {
    fs::read(path)
        .is_ok_and(|text| text.starts_with(b"---") || text.starts_with(b"\xef\xbb\xbf---"))
}

fn is_real_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|facts| facts.is_dir())
}
