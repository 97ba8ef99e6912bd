//! The record of what was installed in a deck: where from, what exactly, and what it can do.

use std::{fs, path::Path};

use capdeck_storage::remove_if_exists;
use serde::{Deserialize, Serialize};

use super::{LockedSource, PackageError, PackageKind, PackageRisk, PackageSource};
use crate::replace_file;

const NAME: &str = "capdeck.lock.json";
/// The form of the file that this version reads and writes.
const VERSION: u32 = 1;
/// A lock larger than this is none.
const MAX_BYTES: u64 = 16 << 20;

/// What was installed in one deck, by id.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PackageLock {
    version: u32,
    pub packages: Vec<LockedPackage>,
}

/// One installed package.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LockedPackage {
    pub id: String,
    pub kind: PackageKind,
    pub source: LockedSource,
    /// SHA-256 over what was installed.
    pub hash: String,
    /// What was approved.
    pub risk: PackageRisk,
}

impl PackageLock {
    /// Reads the lock of a deck. No file is an empty lock.
    pub(super) fn load(deck: &Path) -> Result<Self, PackageError> {
        let path = deck.join(NAME);
        let bad = |reason: String| PackageError::BadLock { path: path.clone(), reason };
        let bytes = match fs::metadata(&path) {
            Ok(facts) if facts.len() > MAX_BYTES => return Err(bad("it is too large".to_owned())),
            Ok(_) => fs::read(&path).map_err(|error| bad(error.to_string()))?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Self { version: VERSION, packages: Vec::new() });
            }
            Err(error) => return Err(bad(error.to_string())),
        };
        let lock: Self = serde_json::from_slice(&bytes).map_err(|error| bad(error.to_string()))?;
        if lock.version != VERSION {
            return Err(bad(format!("it is of version {}, not {VERSION}", lock.version)));
        }
        Ok(lock)
    }

    /// Writes the lock, or takes it away when nothing is installed.
    pub(super) fn save(&mut self, deck: &Path) -> Result<(), PackageError> {
        let path = deck.join(NAME);
        if self.packages.is_empty() {
            return remove_if_exists(&path)
                .map(drop)
                .map_err(|source| PackageError::file("remove", &path, source));
        }
        self.packages.sort_by(|one, other| one.id.cmp(&other.id));
        let text = serde_json::to_string_pretty(self).map_err(|error| PackageError::BadLock {
            path: path.clone(),
            reason: error.to_string(),
        })?;
        replace_file(&path, format!("{text}\n").as_bytes())?;
        Ok(())
    }

    /// The record of a package.
    pub fn get(&self, id: &str) -> Option<&LockedPackage> {
        self.packages.iter().find(|package| package.id == id)
    }

    pub(super) fn put(&mut self, package: LockedPackage) {
        self.take(&package.id);
        self.packages.push(package);
    }

    pub(super) fn take(&mut self, id: &str) {
        self.packages.retain(|package| package.id != id);
    }
}

/// The name of a lock that Caplets wrote, in the deck or beside it.
const CAPLETS_LOCK_NAME: &str = ".caplets.lock.json";

#[derive(Debug, Deserialize)]
struct ForeignLock {
    version: u32,
    #[serde(default)]
    entries: Vec<ForeignEntry>,
}

#[derive(Debug, Deserialize)]
struct ForeignEntry {
    id: String,
    kind: PackageKind,
    source: ForeignSource,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase", rename_all_fields = "camelCase")]
enum ForeignSource {
    Git {
        repository: String,
        path: Option<String>,
        tracked_ref: Option<String>,
        resolved_revision: Option<String>,
    },
    Local {
        path: std::path::PathBuf,
    },
}

/// The packages such a lock names. Its hashes are computed differently, so what was installed is not known exactly.
pub(super) fn load_caplets_lock(deck: &Path) -> Result<Vec<LockedPackage>, PackageError> {
    let beside = deck.file_name().filter(|name| *name == ".caplets").and_then(|_| deck.parent());
    for folder in std::iter::once(deck).chain(beside) {
        let path = folder.join(CAPLETS_LOCK_NAME);
        let Ok(bytes) = fs::read(&path) else { continue };
        let bad = |reason: String| PackageError::BadLock { path: path.clone(), reason };
        let lock: ForeignLock =
            serde_json::from_slice(&bytes).map_err(|error| bad(error.to_string()))?;
        if lock.version != 1 {
            return Err(bad(format!("it is of version {}, not 1", lock.version)));
        }
        return Ok(lock.entries.into_iter().map(|entry| adopt(entry, folder)).collect());
    }
    Ok(Vec::new())
}

fn adopt(entry: ForeignEntry, folder: &Path) -> LockedPackage {
    // The path names the package itself; packages are looked for in the folder it is in.
    let above = |path: &str| {
        let parent = path.trim_matches('/').rsplit_once('/').map(|(parent, _)| parent.to_owned());
        parent.filter(|parent| parent != "caplets")
    };
    let source = match entry.source {
        ForeignSource::Git { repository, path, tracked_ref, resolved_revision } => {
            let subfolder = path.as_deref().and_then(above);
            let source = PackageSource::Git { repository, reference: tracked_ref, subfolder };
            LockedSource { source, commit: Some(resolved_revision.unwrap_or_default()) }
        }
        ForeignSource::Local { path } => {
            let path = folder.join(path);
            let path = path.parent().map(Path::to_owned).unwrap_or(path);
            LockedSource { source: PackageSource::Folder { path }, commit: None }
        }
    };
    LockedPackage {
        id: entry.id,
        kind: entry.kind,
        source,
        hash: String::new(),
        risk: PackageRisk::default(),
    }
}
