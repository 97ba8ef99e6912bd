//! Finds the key: the environment, a Caplets file, or Capdeck's own file, which is created on first use. The file has one line
//! per key, the active key first. A line holds the key itself or says that the system keyring holds it.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use capdeck_storage::{FileLock, FileReaders, is_open_to_others, read_if_exists, replace_file};
use zeroize::Zeroizing;

use crate::{
    KeyringStore, Secret,
    keyring::{KeyringError, SystemKeyring},
    sealing_key::{RandomnessError, SealingKey},
};

const CAPLETS_KEY: &str = "CAPLETS_ENCRYPTION_KEY";
const CAPLETS_KEY_FILE: &str = "CAPLETS_ENCRYPTION_KEY_FILE";
const KEY_FILE: &str = "CAPDECK_KEY_FILE";

/// The configured sources of the key; the first one present is used.
#[derive(Debug, Clone, Default)]
pub struct KeySettings {
    pub key_file: Option<PathBuf>,
    pub caplets_key: Option<Secret>,
    pub caplets_key_file: Option<PathBuf>,
    /// Possible locations of a Caplets key, used when Capdeck has no key file.
    pub caplets_places: Vec<PathBuf>,
    /// The keyring that a key file may refer to; the system keyring when absent.
    pub keyring: Option<Arc<dyn KeyringStore>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyLocation {
    File,
    /// In the system keyring; the key file refers to it.
    Keyring,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    #[error("{place} holds no key")]
    NotAKey { place: String },
    #[error("others may read the key file `{path}`")]
    OpenToOthers { path: String },
    #[error("`{variable}` names the key file `{path}`, which does not exist")]
    NoSuchFile { variable: &'static str, path: String },
    #[error("`{CAPLETS_KEY}` and `{CAPLETS_KEY_FILE}` hold two different keys")]
    TwoKeys,
    #[error("the vault has entries, but its key `{path}` is gone")]
    Lost { path: String },
    #[error("the key comes from `{variable}`, which Capdeck does not change")]
    NotOurs { variable: &'static str, own: String },
    #[error("the system's keyring cannot be used: {0}")]
    Keyring(KeyringError),
    #[error("`{path}` says that the key is in the system's keyring, which has no key `{id}`")]
    NotInKeyring { path: String, id: String },
    #[error("the key file `{path}` cannot be used: {reason}")]
    File { path: String, reason: String },
    #[error("no key can be made: {reason}")]
    NotMade { reason: String },
}

#[derive(Debug, Clone)]
pub(crate) struct KeySource {
    settings: KeySettings,
    own: PathBuf,
    /// No new key is created while this folder has files, because a new key could not decrypt them.
    guarded: PathBuf,
}

#[derive(Debug)]
pub(crate) struct ActiveKeys {
    keys: Vec<StoredKey>,
    pub(crate) place: String,
    /// The file a new key is written to, unless another program owns the key.
    pub(crate) file: Result<PathBuf, KeyError>,
}

impl KeyError {
    pub fn hint(&self) -> String {
        match self {
            Self::NotAKey { .. } => {
                "a key is 32 bytes in base64url, such as `head -c 32 /dev/urandom | basenc --base64url` prints"
                    .to_owned()
            }
            Self::OpenToOthers { path } => format!("run: chmod 600 {}", shell_word(path)),
            Self::NoSuchFile { variable, .. } => {
                format!("put the key there, or unset {variable} to use the key of this machine")
            }
            Self::TwoKeys => format!("unset {CAPLETS_KEY} or {CAPLETS_KEY_FILE}"),
            Self::Lost { path } => format!("put the key back, or {}", start_over_hint(path)),
            Self::Keyring(_) => {
                "unlock the keyring of your session and try again; `capdeck vault rekey --to file`, run \
                 where it is open, moves the key to a file"
                    .to_owned()
            }
            Self::NotInKeyring { path, .. } => format!(
                "log in as the person whose keyring it is, write the key itself to {} if you have a copy, or {}",
                shell_word(path),
                start_over_hint(path)
            ),
            Self::NotOurs { variable, own } => format!(
                "write that key to {}, unset {variable} and run: capdeck vault rekey",
                shell_word(own)
            ),
            Self::File { .. } | Self::NotMade { .. } => {
                "check that the folder exists and that you may write to it".to_owned()
            }
        }
    }
}

impl KeySource {
    pub(crate) fn new(settings: KeySettings, folder: &Path, guarded: PathBuf) -> Self {
        Self { settings, own: folder.join("key"), guarded }
    }

    pub(crate) fn settings(&self) -> &KeySettings {
        &self.settings
    }

    /// Returns the keys; `None` when none was created yet.
    pub(crate) fn find(&self) -> Result<Option<ActiveKeys>, KeyError> {
        let KeySettings { key_file, caplets_key, caplets_key_file, caplets_places, .. } =
            &self.settings;
        if let Some(path) = key_file {
            let keys = self.named_file(KEY_FILE, path)?;
            return Ok(Some(ActiveKeys { keys, place: quoted_path(path), file: Ok(path.clone()) }));
        }
        let from_text = caplets_key.as_ref().map(key_from_variable).transpose()?;
        let from_file =
            caplets_key_file.as_ref().map(|path| self.named_file(CAPLETS_KEY_FILE, path));
        let from_file = from_file.transpose()?;
        if let (Some(one), Some(other)) = (&from_text, &from_file)
            && one != other
        {
            return Err(KeyError::TwoKeys);
        }
        let variable = if from_text.is_some() { CAPLETS_KEY } else { CAPLETS_KEY_FILE };
        if let Some(keys) = from_text.or(from_file) {
            let file = Err(KeyError::NotOurs { variable, own: self.own.display().to_string() });
            return Ok(Some(ActiveKeys { keys, place: format!("`{variable}`"), file }));
        }
        for path in std::iter::once(&self.own).chain(caplets_places) {
            if let Some(keys) = read_keys(path, self.keyring())? {
                let place = quoted_path(path);
                return Ok(Some(ActiveKeys { keys, place, file: Ok(self.own.clone()) }));
            }
        }
        Ok(None)
    }

    pub(crate) fn find_or_make(&self) -> Result<ActiveKeys, KeyError> {
        if let Some(found) = self.find()? {
            return Ok(found);
        }
        // Two processes that start at the same time must not create two keys.
        let _held = FileLock::wait(&self.own.with_extension("lock"))
            .map_err(|error| failed(&self.own, &error))?;
        if let Some(found) = self.find()? {
            return Ok(found);
        }
        self.lost()?;
        let kept = StoredKey { key: SealingKey::random()?, home: KeyLocation::File };
        write_keys(&self.own, std::slice::from_ref(&kept))?;
        let place = quoted_path(&self.own);
        Ok(ActiveKeys { keys: vec![kept], place, file: Ok(self.own.clone()) })
    }

    /// Fails when there are entries but no key to decrypt them.
    pub(crate) fn lost(&self) -> Result<(), KeyError> {
        let mut entries = std::fs::read_dir(&self.guarded).into_iter().flatten().flatten();
        let is_entry = |path: PathBuf| path.extension().is_some_and(|end| end == "json");
        if entries.any(|entry| is_entry(entry.path())) {
            return Err(KeyError::Lost { path: self.own.display().to_string() });
        }
        Ok(())
    }

    pub(crate) fn keyring(&self) -> &dyn KeyringStore {
        self.settings.keyring.as_deref().unwrap_or(&SystemKeyring)
    }

    fn named_file(&self, variable: &'static str, path: &Path) -> Result<Vec<StoredKey>, KeyError> {
        let missing = || KeyError::NoSuchFile { variable, path: path.display().to_string() };
        read_keys(path, self.keyring())?.ok_or_else(missing)
    }
}

impl ActiveKeys {
    pub(crate) fn in_force(&self) -> Option<&SealingKey> {
        self.keys.first().map(|kept| &kept.key)
    }

    pub(crate) fn by_id(&self, id: &str) -> Option<&SealingKey> {
        self.keys.iter().map(|kept| &kept.key).find(|key| key.id() == id)
    }

    pub(crate) fn keys(&self) -> &[StoredKey] {
        &self.keys
    }
}

fn key_from_variable(text: &Secret) -> Result<Vec<StoredKey>, KeyError> {
    let no_key = || KeyError::NotAKey { place: format!("`{CAPLETS_KEY}`") };
    let kept = |key| vec![StoredKey { key, home: KeyLocation::File }];
    SealingKey::parse(text.expose()).map(kept).ok_or_else(no_key)
}

fn start_over_hint(path: &str) -> String {
    let folder = Path::new(path).parent().unwrap_or_else(|| Path::new("."));
    format!("start over with: rm -r {}", shell_word(&folder.display().to_string()))
}

fn quoted_path(path: &Path) -> String {
    format!("`{}`", path.display())
}

fn failed(path: &Path, error: &std::io::Error) -> KeyError {
    KeyError::File { path: path.display().to_string(), reason: error.to_string() }
}

fn shell_word(text: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./:@%+,".contains(letter);
    if text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

impl From<KeyringError> for KeyError {
    fn from(error: KeyringError) -> Self {
        Self::Keyring(error)
    }
}

impl From<RandomnessError> for KeyError {
    fn from(error: RandomnessError) -> Self {
        Self::NotMade { reason: error.to_string() }
    }
}

const IN_KEYRING: &str = "capdeck-key-in-keyring-v1.";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoredKey {
    pub(crate) key: SealingKey,
    pub(crate) home: KeyLocation,
}

/// Writes keys, the active key first. Keyring keys must be in the keyring already.
pub(crate) fn write_keys(path: &Path, keys: &[StoredKey]) -> Result<(), KeyError> {
    let mut text = Zeroizing::new(String::new());
    for StoredKey { key, home } in keys {
        match home {
            KeyLocation::File => text.push_str(&key.to_text()),
            KeyLocation::Keyring => text.extend([IN_KEYRING, key.id()]),
        }
        text.push('\n');
    }
    replace_file(path, text.as_bytes(), FileReaders::Owner).map_err(|error| failed(path, &error))
}

fn read_keys(path: &Path, keyring: &dyn KeyringStore) -> Result<Option<Vec<StoredKey>>, KeyError> {
    let bytes = read_if_exists(path).map_err(|error| failed(path, &error))?;
    let Some(bytes) = bytes.map(Zeroizing::new) else { return Ok(None) };
    if is_open_to_others(path).map_err(|error| failed(path, &error))? {
        return Err(KeyError::OpenToOthers { path: path.display().to_string() });
    }
    let no_key = || KeyError::NotAKey { place: quoted_path(path) };
    let text = std::str::from_utf8(&bytes).map_err(|_| no_key())?;
    let mut keys = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        keys.push(match line.strip_prefix(IN_KEYRING) {
            Some(id) => {
                StoredKey { key: load_from_keyring(path, keyring, id)?, home: KeyLocation::Keyring }
            }
            None => StoredKey {
                key: SealingKey::parse(line).ok_or_else(no_key)?,
                home: KeyLocation::File,
            },
        });
    }
    if keys.is_empty() { Err(no_key()) } else { Ok(Some(keys)) }
}

/// Stores a key in the keyring and verifies that it can be read back.
pub(crate) fn store_in_keyring(
    path: &Path,
    keyring: &dyn KeyringStore,
    key: &SealingKey,
) -> Result<(), KeyError> {
    keyring.set(&keyring_entry(key.id()), &Secret::new(key.to_text().to_string()))?;
    load_from_keyring(path, keyring, key.id()).map(drop)
}

pub(crate) fn remove_from_keyring(keyring: &dyn KeyringStore, key: &SealingKey) {
    if let Err(error) = keyring.remove(&keyring_entry(key.id())) {
        tracing::warn!(%error, "an old key could not be taken out of the keyring");
    }
}

fn load_from_keyring(
    path: &Path,
    keyring: &dyn KeyringStore,
    id: &str,
) -> Result<SealingKey, KeyError> {
    let missing = || KeyError::NotInKeyring { path: path.display().to_string(), id: id.to_owned() };
    let text = keyring.get(&keyring_entry(id))?.ok_or_else(missing)?;
    // Another value under this name is not the key that the file means.
    SealingKey::parse(text.expose()).filter(|key| key.id() == id).ok_or_else(missing)
}

fn keyring_entry(id: &str) -> String {
    format!("vault key {id}")
}
