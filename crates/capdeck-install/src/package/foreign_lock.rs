//! The lock of an existing Caplets set-up, read so that its packages can be updated from where they came.

use std::{fs, path::Path};

use serde::Deserialize;

use super::{LockedPackage, LockedSource, PackageError, PackageKind, Risk};

/// The lock's name, in the deck or beside it.
const NAME: &str = ".caplets.lock.json";

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
        #[serde(default)]
        path: Option<String>,
        #[serde(default)]
        tracked_ref: Option<String>,
        #[serde(default)]
        resolved_revision: Option<String>,
    },
    Local {
        path: std::path::PathBuf,
    },
}

/// The packages such a lock names. Its hashes are made in another way, so what was installed is not known exactly.
pub(super) fn load(deck: &Path) -> Result<Vec<LockedPackage>, PackageError> {
    let beside = deck.file_name().filter(|name| *name == ".caplets").and_then(|_| deck.parent());
    for folder in std::iter::once(deck).chain(beside) {
        let path = folder.join(NAME);
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
            LockedSource::Git {
                repository,
                reference: tracked_ref,
                subfolder: path.as_deref().and_then(above),
                commit: resolved_revision.unwrap_or_default(),
            }
        }
        ForeignSource::Local { path } => {
            let path = folder.join(path);
            LockedSource::Folder { path: path.parent().map(Path::to_owned).unwrap_or(path) }
        }
    };
    LockedPackage {
        id: entry.id,
        kind: entry.kind,
        source,
        hash: String::new(),
        risk: Risk::default(),
    }
}
