//! Small state files that survive a kill at any instant: old or new, never a mix.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::SystemTime,
};

use capdeck_backend::CallError;
use capdeck_storage::{FileLock, FileReaders, replace_file, replace_file_unsynced, stage_file};
use serde::{Serialize, de::DeserializeOwned};

use crate::Host;

/// A random key. Only its owner can read the file.
pub(crate) type KeyBytes = [u8; 32];

/// Loads a key, or creates it. Of several processes that create it, the first one wins.
pub(crate) fn load_or_create_key(path: &Path) -> io::Result<KeyBytes> {
    match fs::read(path).map(KeyBytes::try_from) {
        Ok(Ok(key)) => Ok(key),
        Ok(Err(_)) => {
            let path = path.display();
            let message =
                format!("`{path}` is not a valid key; delete the file to create a new one");
            Err(io::Error::new(io::ErrorKind::InvalidData, message))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            create_key(path)?;
            load_or_create_key(path)
        }
        Err(error) => Err(error),
    }
}

fn create_key(path: &Path) -> io::Result<()> {
    let mut key = KeyBytes::default();
    getrandom::fill(&mut key).map_err(io::Error::other)?;
    stage_file(path, &key, FileReaders::Owner)?.create().map(drop)
}

/// The host's key for state that clients store, the same across restarts. A damaged one is
/// replaced.
pub fn seal_key(host: &Host) -> io::Result<[u8; 32]> {
    let path = host.settings().state_dir.join("seal.key");
    load_or_create_key(&path).or_else(|error| {
        if error.kind() != io::ErrorKind::InvalidData {
            return Err(error);
        }
        tracing::warn!(path = %path.display(), "the key is damaged; a new one is created");
        fs::remove_file(&path)?;
        load_or_create_key(&path)
    })
}

/// Works with files beside the other calls, which must not wait for the disk.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, CallError> {
    tokio::task::spawn_blocking(work).await.map_err(CallError::internal)
}

/// Saves what can be made again. A kill leaves the file whole; a power cut may lose it, and readers ignore a damaged one.
pub(crate) fn save_json_unsynced(path: &Path, value: &impl Serialize) -> io::Result<()> {
    replace_file_unsynced(path, &serde_json::to_vec(value)?)
}

/// The files of a folder with such names, oldest first.
pub(crate) fn by_age(folder: &Path, is_meant: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut files: Vec<(SystemTime, PathBuf)> = entries
        .filter_map(Result::ok)
        .filter(|entry| is_meant(&entry.file_name().to_string_lossy()))
        .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
        .collect();
    files.sort();
    files.into_iter().map(|(_, path)| path).collect()
}

/// Deletes the first of these files until at most so many remain.
pub(crate) fn keep_newest(files: Vec<PathBuf>, most: usize) {
    let surplus = files.len().saturating_sub(most);
    for path in files.into_iter().take(surplus) {
        if let Err(error) = fs::remove_file(&path) {
            tracing::debug!(path = %path.display(), %error, "an old file could not be deleted");
        }
    }
}

pub(crate) fn load_json<T: DeserializeOwned + Default>(path: &Path) -> io::Result<T> {
    match fs::read(path) {
        Ok(bytes) => serde_json::from_slice(&bytes)
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(T::default()),
        Err(error) => Err(error),
    }
}

/// Changes the file under a lock, so that two processes never lose each other's update.
pub(crate) fn update_json<T, R>(path: &Path, change: impl FnOnce(&mut T) -> R) -> io::Result<R>
where
    T: Serialize + DeserializeOwned + Default,
{
    let _held = FileLock::wait(&path.with_extension("lock"))?;
    let mut value = load_json(path)?;
    let answer = change(&mut value);
    let mut text = serde_json::to_vec_pretty(&value).map_err(io::Error::other)?;
    text.push(b'\n');
    replace_file(path, &text, FileReaders::Owner)?;
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn updates_from_many_threads_are_all_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state.json");
        std::thread::scope(|scope| {
            for index in 0..8 {
                let path = &path;
                scope.spawn(move || {
                    update_json(path, |map: &mut BTreeMap<String, u32>| {
                        map.insert(index.to_string(), index);
                    })
                    .unwrap();
                });
            }
        });
        let loaded: BTreeMap<String, u32> = load_json(&path).unwrap();
        assert_eq!(loaded.len(), 8);
    }

    #[test]
    fn a_key_is_made_once_and_only_its_owner_reads_it() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("approvals/key");
        let first = load_or_create_key(&path).unwrap();
        assert_eq!(first, load_or_create_key(&path).unwrap());
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o077, 0);
        fs::write(&path, "short").unwrap();
        assert!(load_or_create_key(&path).is_err());
    }

    #[test]
    fn a_broken_state_file_is_an_error_and_stays_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state.json");
        fs::write(&path, "{ not json").unwrap();
        let outcome = update_json(&path, |map: &mut BTreeMap<String, u32>| map.clear());
        assert_eq!(outcome.unwrap_err().kind(), io::ErrorKind::InvalidData);
        assert_eq!(fs::read_to_string(&path).unwrap(), "{ not json");
    }
}
