//! A folder of encrypted files. Each is bound to its purpose and name, so that files cannot be swapped.

use std::path::{Path, PathBuf};

use capdeck_storage::{
    FileLock, FileReaders, StagedFile, is_open_to_others, read_if_exists, remove_if_exists,
    stage_file,
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use zeroize::Zeroizing;

use crate::{
    KeyError,
    key_source::{ActiveKeys, KeySource},
    sealing_key::SealingKey,
};

const FORMAT: &str = "capdeck-v1";

#[derive(Debug, Clone)]
pub(crate) struct SealedFolder {
    keys: KeySource,
    folder: PathBuf,
    purpose: &'static str,
}

pub(crate) enum SealedContent {
    Sealed(Zeroizing<Vec<u8>>),
    Plain(Zeroizing<Vec<u8>>),
}

/// The reason an encrypted file cannot be used. No variant contains decrypted data.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SealedError {
    #[error(transparent)]
    Key(#[from] KeyError),
    #[error(
        "`{path}` was sealed with key {sealed_with}, but the key in force is {in_force} from {place}"
    )]
    OtherKey { path: String, sealed_with: String, in_force: String, place: String },
    #[error("`{path}` is damaged: {reason}")]
    Damaged { path: String, reason: &'static str },
    #[error("others may read or change `{path}`")]
    OpenToOthers { path: String },
    #[error("`{path}` cannot be used: {reason}")]
    File { path: String, reason: String },
}

#[derive(Serialize, Deserialize)]
struct SealedEnvelope {
    sealed: String,
    key: String,
    data: String,
}

impl SealedFolder {
    pub(crate) fn new(keys: KeySource, folder: PathBuf, purpose: &'static str) -> Self {
        Self { keys, folder, purpose }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.json"))
    }

    pub(crate) fn names(&self) -> Result<Vec<String>, SealedError> {
        let entries = match std::fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(failed(&self.folder, &error)),
        };
        let mut names = Vec::new();
        for entry in entries {
            let entry = entry.map_err(|error| failed(&self.folder, &error))?;
            let name = entry.file_name().into_string().ok();
            names.extend(
                name.as_deref().and_then(|name| name.strip_suffix(".json")).map(Into::into),
            );
        }
        names.sort();
        Ok(names)
    }

    pub(crate) fn load(&self, name: &str) -> Result<Option<SealedContent>, SealedError> {
        match self.load_once(name) {
            // A rotation may have run between reading the file and reading the key.
            Err(SealedError::OtherKey { .. }) => self.load_once(name),
            outcome => outcome,
        }
    }

    /// Loads the JSON content of a file. An unencrypted file and other content are errors.
    pub(crate) fn load_json<T: DeserializeOwned>(
        &self,
        name: &str,
        mismatch: &'static str,
    ) -> Result<Option<T>, SealedError> {
        match self.load(name)? {
            None => Ok(None),
            Some(SealedContent::Plain(_)) => Err(self.not_sealed(name)),
            Some(SealedContent::Sealed(bytes)) => {
                serde_json::from_slice(&bytes).map(Some).map_err(|_| self.damaged(name, mismatch))
            }
        }
    }

    pub(crate) fn save(&self, name: &str, bytes: &[u8]) -> Result<(), SealedError> {
        loop {
            let ring = self.keys.find_or_make()?;
            let key = in_force(&ring)?;
            self.stage(name, bytes, key)?
                .replace()
                .map_err(|error| failed(&self.path(name), &error))?;
            // A rotation that started in between may have passed this file already.
            let now = self.keys.find_or_make()?;
            if in_force(&now)?.id() == key.id() {
                return Ok(());
            }
        }
    }

    pub(crate) fn stage(
        &self,
        name: &str,
        bytes: &[u8],
        key: &SealingKey,
    ) -> Result<StagedFile, SealedError> {
        let data = key.seal(&[FORMAT, self.purpose, name], bytes).map_err(KeyError::from)?;
        let envelope = SealedEnvelope { sealed: FORMAT.to_owned(), key: key.id().to_owned(), data };
        let path = self.path(name);
        let mut text = serde_json::to_vec_pretty(&envelope)
            .map_err(|error| failed(&path, &std::io::Error::other(error)))?;
        text.push(b'\n');
        stage_file(&path, &text, FileReaders::Owner).map_err(|error| failed(&path, &error))
    }

    pub(crate) fn remove(&self, name: &str) -> Result<bool, SealedError> {
        let path = self.path(name);
        remove_if_exists(&path).map_err(|error| failed(&path, &error))
    }

    pub(crate) fn lock(&self, name: &str) -> Result<FileLock, SealedError> {
        let lock = self.path(name).with_extension("lock");
        FileLock::wait(&lock).map_err(|error| failed(&lock, &error))
    }

    pub(crate) fn try_hold(&self, name: &str) -> Option<FileLock> {
        FileLock::try_take(&self.path(name).with_extension("lock")).ok().flatten()
    }

    /// Returns the key id of a file; `None` when it is not encrypted.
    pub(crate) fn key_id(&self, name: &str) -> Result<Option<String>, SealedError> {
        let path = self.path(name);
        let bytes = read_if_exists(&path).map_err(|error| failed(&path, &error))?;
        let envelope =
            bytes.and_then(|bytes| serde_json::from_slice::<SealedEnvelope>(&bytes).ok());
        Ok(envelope.map(|envelope| envelope.key))
    }

    pub(crate) fn check_key(&self) -> Result<(), SealedError> {
        in_force(&self.keys.find_or_make()?).map(drop)
    }

    /// Fails when a file here needs a missing key, so that one vault never has two keys.
    pub(crate) fn check_keys(&self) -> Result<(), SealedError> {
        for name in self.names()? {
            let Some(id) = self.key_id(&name)? else { continue };
            let ring = self.keys.find_or_make()?;
            if ring.by_id(&id).is_none() {
                return Err(self.other_key(&name, id, &ring));
            }
        }
        Ok(())
    }

    pub(crate) fn not_sealed(&self, name: &str) -> SealedError {
        self.damaged(name, "it is not a sealed file, or only part of one")
    }

    fn damaged(&self, name: &str, reason: &'static str) -> SealedError {
        SealedError::Damaged { path: self.path(name).display().to_string(), reason }
    }

    fn load_once(&self, name: &str) -> Result<Option<SealedContent>, SealedError> {
        let path = self.path(name);
        let damaged = |reason| self.damaged(name, reason);
        let bytes = read_if_exists(&path).map_err(|error| failed(&path, &error))?;
        let Some(bytes) = bytes.map(Zeroizing::new) else { return Ok(None) };
        if is_open_to_others(&path).map_err(|error| failed(&path, &error))? {
            return Err(SealedError::OpenToOthers { path: path.display().to_string() });
        }
        let Ok(envelope) = serde_json::from_slice::<SealedEnvelope>(&bytes) else {
            return Ok(Some(SealedContent::Plain(bytes)));
        };
        if envelope.sealed != FORMAT {
            return Err(damaged("it is sealed in a format that this version does not know"));
        }
        let Some(ring) = self.keys.find()? else {
            self.keys.lost()?;
            return Err(damaged("the key it was sealed with is gone"));
        };
        let Some(key) = ring.by_id(&envelope.key) else {
            return Err(self.other_key(name, envelope.key, &ring));
        };
        let opened = key.open(&[FORMAT, self.purpose, name], &envelope.data);
        opened
            .map(|bytes| Some(SealedContent::Sealed(bytes)))
            .ok_or_else(|| damaged("it was changed after it was sealed"))
    }

    fn other_key(&self, name: &str, sealed_with: String, ring: &ActiveKeys) -> SealedError {
        SealedError::OtherKey {
            path: self.path(name).display().to_string(),
            sealed_with,
            in_force: ring.in_force().map(|key| key.id().to_owned()).unwrap_or_default(),
            place: ring.place.clone(),
        }
    }
}

pub(crate) fn in_force(ring: &ActiveKeys) -> Result<&SealingKey, SealedError> {
    ring.in_force()
        .ok_or_else(|| KeyError::NotAKey { place: ring.place.clone() })
        .map_err(SealedError::from)
}

fn failed(path: &Path, error: &std::io::Error) -> SealedError {
    SealedError::File { path: path.display().to_string(), reason: error.to_string() }
}

impl SealedError {
    pub fn hint(&self) -> String {
        match self {
            Self::Key(error) => error.hint(),
            Self::OtherKey { .. } => {
                "bring back the key it was sealed with (see docs/guide/vault.md, `Where the key is`)"
                    .to_owned()
            }
            Self::Damaged { path, .. } => {
                format!("restore `{path}` from a copy, or remove it and set it again")
            }
            Self::OpenToOthers { path } => format!("run: chmod 600 {path}"),
            Self::File { path, .. } => format!("check that you may read and write `{path}`"),
        }
    }
}
