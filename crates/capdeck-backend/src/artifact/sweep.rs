//! Removes old artifacts.

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

/// What may stay.
#[derive(Debug)]
pub(super) struct Limits {
    pub(super) max_age: Duration,
    pub(super) max_bytes: u64,
    /// Younger calls may still be writing, in this or another process, and are never touched.
    pub(super) min_age: Duration,
}

struct Call {
    folder: PathBuf,
    age: Duration,
    bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_age: Duration::from_secs(7 * 24 * 3600),
            max_bytes: 1 << 30,
            min_age: Duration::from_secs(3600),
        }
    }
}

/// Removes calls that are too old, then the oldest until the rest fits. Failures leave things as they are.
pub(super) fn sweep(root: &Path, limits: &Limits) {
    let now = SystemTime::now();
    let mut calls: Vec<Call> = folders(root)
        .flat_map(|capability| folders(&capability).collect::<Vec<_>>())
        .filter_map(|folder| measure(folder, now))
        .collect();
    calls.sort_by_key(|call| call.age);
    let mut kept_bytes = 0;
    for call in calls {
        let fits = kept_bytes + call.bytes <= limits.max_bytes;
        if call.age < limits.min_age || (call.age <= limits.max_age && fits) {
            kept_bytes += call.bytes;
        } else if let Err(error) = fs::remove_dir_all(&call.folder) {
            tracing::debug!(%error, folder = %call.folder.display(), "an old artifact stays");
        }
    }
}

fn folders(folder: &Path) -> impl Iterator<Item = PathBuf> {
    fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        // A link's file type is a link, so nothing outside is ever visited.
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .map(|entry| entry.path())
}

fn measure(folder: PathBuf, now: SystemTime) -> Option<Call> {
    let changed = fs::metadata(&folder).ok()?.modified().ok()?;
    let bytes = fs::read_dir(&folder)
        .ok()?
        .flatten()
        .filter_map(|entry| entry.metadata().ok())
        .map(|facts| facts.len())
        .sum();
    Some(Call { folder, age: now.duration_since(changed).unwrap_or_default(), bytes })
}
