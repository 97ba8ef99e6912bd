//! The key file: one line per key, the active key first. A line holds the key itself or says that the keyring holds
//! it.

use std::path::Path;

use zeroize::Zeroizing;

use crate::{
    KeyError, KeyLocation, KeyringStore, Secret,
    key_source::{failed, quoted_path},
    private_file,
    sealing_key::SealingKey,
};

const IN_KEYRING: &str = "capdeck-key-in-keyring-v1.";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoredKey {
    pub(crate) key: SealingKey,
    pub(crate) home: KeyLocation,
}

/// Writes keys, the active key first. Keyring keys must be in the keyring already.
pub(crate) fn write(path: &Path, keys: &[StoredKey]) -> Result<(), KeyError> {
    let mut text = Zeroizing::new(String::new());
    for StoredKey { key, home } in keys {
        match home {
            KeyLocation::File => text.push_str(&key.to_text()),
            KeyLocation::Keyring => text.extend([IN_KEYRING, key.id()]),
        }
        text.push('\n');
    }
    private_file::write(path, text.as_bytes()).map_err(|error| failed(path, &error))
}

pub(crate) fn read(
    path: &Path,
    keyring: &dyn KeyringStore,
) -> Result<Option<Vec<StoredKey>>, KeyError> {
    let bytes = private_file::read(path).map_err(|error| failed(path, &error))?;
    let Some(bytes) = bytes.map(Zeroizing::new) else { return Ok(None) };
    if private_file::is_open_to_others(path).map_err(|error| failed(path, &error))? {
        return Err(KeyError::OpenToOthers { path: path.display().to_string() });
    }
    let no_key = || KeyError::NotAKey { place: quoted_path(path) };
    let text = std::str::from_utf8(&bytes).map_err(|_| no_key())?;
    let mut keys = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        keys.push(match line.strip_prefix(IN_KEYRING) {
            Some(id) => StoredKey { key: fetch(path, keyring, id)?, home: KeyLocation::Keyring },
            None => StoredKey {
                key: SealingKey::parse(line).ok_or_else(no_key)?,
                home: KeyLocation::File,
            },
        });
    }
    if keys.is_empty() { Err(no_key()) } else { Ok(Some(keys)) }
}

/// Stores a key in the keyring and verifies that it can be read back.
pub(crate) fn entrust(
    path: &Path,
    keyring: &dyn KeyringStore,
    key: &SealingKey,
) -> Result<(), KeyError> {
    keyring.set(&entry(key.id()), &Secret::new(key.to_text().to_string()))?;
    fetch(path, keyring, key.id()).map(drop)
}

pub(crate) fn withdraw(keyring: &dyn KeyringStore, key: &SealingKey) {
    if let Err(error) = keyring.remove(&entry(key.id())) {
        tracing::warn!(%error, "an old key could not be taken out of the keyring");
    }
}

fn fetch(path: &Path, keyring: &dyn KeyringStore, id: &str) -> Result<SealingKey, KeyError> {
    let missing = || KeyError::NotInKeyring { path: path.display().to_string(), id: id.to_owned() };
    let text = keyring.get(&entry(id))?.ok_or_else(missing)?;
    // Another value under this name is not the key that the file means.
    SealingKey::parse(text.expose()).filter(|key| key.id() == id).ok_or_else(missing)
}

fn entry(id: &str) -> String {
    format!("vault key {id}")
}
