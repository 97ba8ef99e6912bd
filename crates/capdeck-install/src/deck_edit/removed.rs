//! What was taken out of a deck, kept so that it can be put back.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use capdeck_storage::{make_private_folder, remove_if_exists, sha256_hex};
use serde::{Deserialize, Serialize};

use super::{DeckEditError, DefinitionPlace, place::is_link, read};
use crate::{
    atomic_file::{WriteError, replace_file, replace_private_file},
    edit::RecordedSplice,
};

/// The last removal of each id. What was removed may hold secrets, so only the person may read it.
#[derive(Debug, Clone)]
pub struct RemovedDefinitions {
    folder: PathBuf,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RemovedDefinition {
    id: String,
    /// What is gone, or the file that an entry was taken out of.
    path: PathBuf,
    /// None where the whole file or folder is gone.
    #[serde(skip_serializing_if = "Option::is_none")]
    entry: Option<RecordedSplice>,
}

/// A removal that was taken back.
#[derive(Debug, PartialEq, Eq)]
pub struct UndoneRemoval {
    pub path: PathBuf,
}

impl RemovedDefinitions {
    /// The records below the state folder.
    pub fn new(state_dir: &Path) -> Self {
        Self { folder: state_dir.join("removed") }
    }

    /// Takes a definition out of its deck. The record is first: without it nothing could be put back.
    pub fn remove(&self, id: &str, place: &DefinitionPlace) -> Result<(), DeckEditError> {
        let path = place.path().to_owned();
        if is_link(&path) {
            return Err(DeckEditError::Link { file: path });
        }
        if matches!(place, DefinitionPlace::Entry { .. }) {
            let before = read(&path)?;
            let after = place.without(&before)?.unwrap_or_default();
            let entry = RecordedSplice::between(&before, &after);
            self.save(&RemovedDefinition {
                id: id.to_owned(),
                path: path.clone(),
                entry: Some(entry),
            })?;
            replace_file(&path, after.as_bytes())?;
            return Ok(());
        }
        let content = self.content(id);
        let failed = |source| DeckEditError::Move { file: path.clone(), source };
        make_private_folder(&self.folder).map_err(failed)?;
        delete(&content).map_err(failed)?;
        self.save(&RemovedDefinition { id: id.to_owned(), path: path.clone(), entry: None })?;
        relocate(&path, &content).map_err(failed)
    }

    /// Puts the last removal of an id back.
    pub fn undo(&self, id: &str) -> Result<UndoneRemoval, DeckEditError> {
        let missing = || DeckEditError::NotRemoved { id: id.to_owned() };
        let record = fs::read(self.record(id)).map_err(|_| missing())?;
        let record: RemovedDefinition = serde_json::from_slice(&record).map_err(|_| missing())?;
        let path = record.path;
        match record.entry {
            Some(entry) => {
                let text = read(&path)?;
                let before = entry.put_back(&text).ok_or_else(|| DeckEditError::Changed {
                    file: path.clone(),
                    removed: entry.splice.removed.clone(),
                })?;
                replace_file(&path, before.as_bytes())?;
            }
            None => {
                if fs::symlink_metadata(&path).is_ok() {
                    return Err(DeckEditError::Occupied { file: path });
                }
                let failed = |source| DeckEditError::Move { file: path.clone(), source };
                if let Some(parent) = path.parent() {
                    fs::create_dir_all(parent).map_err(failed)?;
                }
                relocate(&self.content(id), &path).map_err(failed)?;
            }
        }
        let file = self.record(id);
        remove_if_exists(&file).map_err(|source| WriteError { path: file, source })?;
        Ok(UndoneRemoval { path })
    }

    fn save(&self, record: &RemovedDefinition) -> Result<(), DeckEditError> {
        let text = serde_json::to_vec_pretty(record).unwrap_or_default();
        Ok(replace_private_file(&self.record(&record.id), &text)?)
    }

    fn record(&self, id: &str) -> PathBuf {
        self.folder.join(format!("{}.json", file_name(id)))
    }

    fn content(&self, id: &str) -> PathBuf {
        self.folder.join(file_name(id))
    }
}

/// Ids of broken files may hold anything.
fn file_name(id: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if id.chars().all(is_plain) { id.to_owned() } else { sha256_hex(id) }
}

/// Moves a file or a folder, to another file system as well.
fn relocate(from: &Path, to: &Path) -> io::Result<()> {
    match fs::rename(from, to) {
        Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
            copy(from, to)?;
            delete(from)
        }
        moved => moved,
    }
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    if !fs::symlink_metadata(from)?.is_dir() {
        return fs::copy(from, to).map(drop);
    }
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        copy(&entry.path(), &to.join(entry.file_name()))?;
    }
    Ok(())
}

fn delete(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(facts) if facts.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}
