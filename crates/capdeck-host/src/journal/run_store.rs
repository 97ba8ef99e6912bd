//! Recorded runs on disk: one private file each, so that several processes can write at once.

use std::{
    fs::{self, File, TryLockError},
    io,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use capdeck_definition::DeckConfig;
use capdeck_storage::{FileReaders, replace_file, replace_file_unsynced};
use serde::Deserialize;

use super::record::{RECORD_VERSION, RunRecord};

/// Why recorded runs cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum RunStoreError {
    #[error("there is no recorded run `{id}`")]
    Unknown { id: String },
    #[error("`{id}` matches several recorded runs")]
    Ambiguous { id: String, found: Vec<String> },
    #[error("the record of run `{id}` cannot be read: {reason}")]
    Unreadable { id: String, path: PathBuf, reason: String },
    #[error("run `{id}` is being resumed by another process")]
    Busy { id: String },
    #[error("the recorded runs in `{}` cannot be used", path.display())]
    Storage { path: PathBuf, source: io::Error },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RunLimits {
    pub(crate) max_age: Duration,
    pub(crate) max_runs: usize,
    pub(crate) max_bytes: u64,
}

impl RunLimits {
    pub(crate) fn from_config(config: &DeckConfig) -> Self {
        let runs = &config.runs;
        Self {
            max_age: Duration::from_secs(u64::from(runs.max_age_days.unwrap_or(7)) * 24 * 3600),
            max_runs: runs.max_runs.unwrap_or(500) as usize,
            max_bytes: u64::from(runs.max_megabytes.unwrap_or(64)) << 20,
        }
    }
}

/// The recorded runs of one state folder.
#[derive(Debug, Clone)]
pub struct RunStore {
    folder: PathBuf,
}

/// The contents of a folder of recorded runs.
#[derive(Debug, Default)]
pub struct RunListing {
    pub runs: Vec<RunRecord>,
    /// Files that are not records, or of another version.
    pub problems: Vec<RunStoreError>,
}

impl RunStore {
    pub fn new(state_dir: &Path) -> Self {
        Self { folder: state_dir.join("runs") }
    }

    /// Returns every stored run.
    pub fn list(&self) -> Result<RunListing, RunStoreError> {
        let mut listing = RunListing::default();
        for id in self.ids()?.into_iter().rev() {
            match self.load(&id) {
                Ok(run) => listing.runs.push(run),
                Err(RunStoreError::Unknown { .. }) => {}
                Err(problem) => listing.problems.push(problem),
            }
        }
        Ok(listing)
    }

    /// Finds a run by its id, or by a unique beginning or end of it.
    pub fn find(&self, id: &str) -> Result<RunRecord, RunStoreError> {
        let ids = self.ids()?;
        if ids.iter().any(|known| known == id) {
            return self.load(id);
        }
        let fits = |known: &&String| known.starts_with(id) || known.ends_with(id);
        let found: Vec<&String> = ids.iter().filter(fits).collect();
        match found.as_slice() {
            [] => Err(RunStoreError::Unknown { id: id.to_owned() }),
            _ if id.is_empty() => Err(RunStoreError::Unknown { id: String::new() }),
            [one] => self.load(one),
            several => Err(RunStoreError::Ambiguous {
                id: id.to_owned(),
                found: several.iter().map(|id| (*id).clone()).collect(),
            }),
        }
    }

    pub(crate) fn load(&self, id: &str) -> Result<RunRecord, RunStoreError> {
        #[derive(Deserialize)]
        struct RunRecordVersion {
            version: u32,
        }
        let path = self.path(id)?;
        let unreadable = |reason: String| RunStoreError::Unreadable {
            id: id.to_owned(),
            path: path.clone(),
            reason,
        };
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(RunStoreError::Unknown { id: id.to_owned() });
            }
            Err(source) => return Err(RunStoreError::Storage { path, source }),
        };
        let head: RunRecordVersion =
            serde_json::from_slice(&text).map_err(|error| unreadable(error.to_string()))?;
        if head.version != RECORD_VERSION {
            return Err(unreadable(format!(
                "it has version {}, and this capdeck reads {RECORD_VERSION}",
                head.version
            )));
        }
        let record: RunRecord =
            serde_json::from_slice(&text).map_err(|error| unreadable(error.to_string()))?;
        if record.id != id {
            return Err(unreadable(format!("its id is `{}`", record.id)));
        }
        Ok(record)
    }

    /// Only its owner can read the file. It survives a power cut.
    pub(crate) fn save(&self, record: &RunRecord) -> Result<(), RunStoreError> {
        self.write(record, |path, text| replace_file(path, text, FileReaders::Owner))
    }

    /// The same for a run that only its history needs: thousands in a second must not wait for the disk.
    pub(crate) fn save_history(&self, record: &RunRecord) -> Result<(), RunStoreError> {
        self.write(record, replace_file_unsynced)
    }

    fn write(
        &self,
        record: &RunRecord,
        save: fn(&Path, &[u8]) -> io::Result<()>,
    ) -> Result<(), RunStoreError> {
        let path = self.path(&record.id)?;
        let text = serde_json::to_vec(record).map_err(io::Error::from);
        // A temporary file is readable by its owner alone, and remains so under its final name.
        let saved = text.and_then(|text| save(&path, &text));
        saved.map_err(|source| RunStoreError::Storage { path, source })
    }

    /// The right to resume a run; held by one process at a time, until the file is closed.
    pub(crate) fn claim(&self, id: &str) -> Result<File, RunStoreError> {
        let path = self.path(id)?.with_extension("lock");
        let failed = |source: io::Error| RunStoreError::Storage { path: path.clone(), source };
        let file = File::create(&path).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => Ok(file),
            Err(TryLockError::WouldBlock) => Err(RunStoreError::Busy { id: id.to_owned() }),
            Err(TryLockError::Error(error)) => Err(failed(error)),
        }
    }

    /// Removes runs that exceed the limits of age, number or size; the newest always remains.
    pub(crate) fn sweep(&self, limits: RunLimits, now: SystemTime) {
        let Ok(ids) = self.ids() else { return };
        let (mut count, mut bytes) = (0, 0_u64);
        for id in ids.iter().rev() {
            let Ok(path) = self.path(id) else { continue };
            let Ok(facts) = fs::metadata(&path) else { continue };
            let age = facts.modified().ok().and_then(|at| now.duration_since(at).ok());
            count += 1;
            bytes = bytes.saturating_add(facts.len());
            let is_old = age.is_some_and(|age| age > limits.max_age);
            if is_old || count > limits.max_runs || bytes > limits.max_bytes && count > 1 {
                let _gone = fs::remove_file(&path);
                let _unlocked = fs::remove_file(path.with_extension("lock"));
            }
        }
    }

    /// Ids start with the time, so their order is that of the runs.
    fn ids(&self) -> Result<Vec<String>, RunStoreError> {
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(source) => {
                return Err(RunStoreError::Storage { path: self.folder.clone(), source });
            }
        };
        let mut ids: Vec<String> = entries
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .filter_map(|name| name.strip_suffix(".json").map(str::to_owned))
            .filter(|id| !id.starts_with('.'))
            .collect();
        ids.sort();
        Ok(ids)
    }

    /// Rejects ids that could leave the folder.
    fn path(&self, id: &str) -> Result<PathBuf, RunStoreError> {
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
        match !id.is_empty() && id.chars().all(is_plain) {
            true => Ok(self.folder.join(format!("{id}.json"))),
            false => Err(RunStoreError::Unknown { id: id.to_owned() }),
        }
    }
}
