//! Removes old artifacts.

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use super::lock::ArtifactLock;

/// An unlocked folder of a call that is older than this is left from a killed process.
const MAX_UNMARKED_AGE: Duration = Duration::from_secs(3600);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArtifactLimits {
    pub max_age: Duration,
    pub max_bytes: u64,
    /// Younger artifacts stay, however large: a client has just received their URI.
    pub(super) min_age: Duration,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ArtifactSweepReport {
    pub removed: usize,
    pub removed_bytes: u64,
    pub kept: usize,
    pub kept_bytes: u64,
}

struct ArtifactFolder {
    folder: PathBuf,
    age: Duration,
    bytes: u64,
}

impl ArtifactLimits {
    pub(super) const NOTHING: Self =
        Self { max_age: Duration::ZERO, max_bytes: 0, min_age: Duration::ZERO };

    const MIN_AGE: Duration = Duration::from_secs(600);

    pub fn new(max_age: Duration, max_bytes: u64) -> Self {
        Self { max_age, max_bytes, min_age: Self::MIN_AGE.min(max_age) }
    }
}

impl Default for ArtifactLimits {
    fn default() -> Self {
        Self::new(Duration::from_secs(7 * 24 * 3600), 1 << 30)
    }
}

/// Removes calls that are too old, then the oldest until the rest is within the limit. Artifacts in use, and those
/// that cannot be removed, stay.
pub(super) fn sweep(root: &Path, limits: &ArtifactLimits) -> ArtifactSweepReport {
    let now = SystemTime::now();
    let mut calls: Vec<ArtifactFolder> = folders(root)
        .flat_map(|capability| folders(&capability).collect::<Vec<_>>())
        .filter_map(|folder| measure(folder, now))
        .collect();
    calls.sort_by_key(|call| call.age);
    let mut swept = ArtifactSweepReport::default();
    for call in calls {
        let fits = swept.kept_bytes + call.bytes <= limits.max_bytes;
        let is_unmarked = is_hidden(&call.folder) && call.age < MAX_UNMARKED_AGE;
        let stays = is_unmarked || call.age < limits.min_age || (call.age < limits.max_age && fits);
        if !stays && remove(&call.folder) {
            swept.removed += 1;
            swept.removed_bytes += call.bytes;
        } else {
            swept.kept += 1;
            swept.kept_bytes += call.bytes;
        }
    }
    swept
}

fn is_hidden(folder: &Path) -> bool {
    folder.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."))
}

fn remove(folder: &Path) -> bool {
    let outcome = match ArtifactLock::claim(folder) {
        Ok(Some(_claim)) => fs::remove_dir_all(folder),
        Ok(None) => return false,
        Err(error) => Err(error),
    };
    outcome
        .inspect_err(|error| {
            tracing::debug!(%error, folder = %folder.display(), "an old artifact could not be removed");
        })
        .is_ok()
}

pub(super) fn folders(folder: &Path) -> impl Iterator<Item = PathBuf> {
    fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        // A link has the file type of a link, so nothing outside is visited.
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .map(|entry| entry.path())
}

fn measure(folder: PathBuf, now: SystemTime) -> Option<ArtifactFolder> {
    let changed = fs::metadata(&folder).ok()?.modified().ok()?;
    let bytes = fs::read_dir(&folder)
        .ok()?
        .flatten()
        .filter_map(|entry| entry.metadata().ok())
        .map(|facts| facts.len())
        .sum();
    Some(ArtifactFolder { folder, age: now.duration_since(changed).unwrap_or_default(), bytes })
}
