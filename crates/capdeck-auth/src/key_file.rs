//! The file of the key: a line per key, the one in force first. A line holds the key itself, or says that the keyring does.

use std::path::Path;

use zeroize::Zeroizing;

use crate::{
    KeyError, KeyHome, Keyring, Secret,
    key::Key,
    keys::{failed, shown},
    private_file,
};

/// What stands before the id of a key that is in the keyring.
const IN_KEYRING: &str = "capdeck-key-in-keyring-v1.";

/// A key, and where it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KeptKey {
    pub(crate) key: Key,
    pub(crate) home: KeyHome,
}

/// Writes keys, the one in force first. Those of the keyring have to be there already.
pub(crate) fn write(path: &Path, keys: &[KeptKey]) -> Result<(), KeyError> {
    let mut text = Zeroizing::new(String::new());
    for KeptKey { key, home } in keys {
        match home {
            KeyHome::File => text.push_str(&key.to_text()),
            KeyHome::Keyring => text.extend([IN_KEYRING, key.id()]),
        }
        text.push('\n');
    }
    private_file::write(path, text.as_bytes()).map_err(|error| failed(path, &error))
}

/// The keys of a file; `None` when there is no file.
pub(crate) fn read(path: &Path, keyring: &dyn Keyring) -> Result<Option<Vec<KeptKey>>, KeyError> {
    let bytes = private_file::read(path).map_err(|error| failed(path, &error))?;
    let Some(bytes) = bytes.map(Zeroizing::new) else { return Ok(None) };
    if private_file::is_open_to_others(path).map_err(|error| failed(path, &error))? {
        return Err(KeyError::OpenToOthers { path: path.display().to_string() });
    }
    let no_key = || KeyError::NotAKey { place: shown(path) };
    let text = std::str::from_utf8(&bytes).map_err(|_| no_key())?;
    let mut keys = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        keys.push(match line.strip_prefix(IN_KEYRING) {
            Some(id) => KeptKey { key: fetch(path, keyring, id)?, home: KeyHome::Keyring },
            None => KeptKey { key: Key::parse(line).ok_or_else(no_key)?, home: KeyHome::File },
        });
    }
    if keys.is_empty() { Err(no_key()) } else { Ok(Some(keys)) }
}

/// Puts a key into the keyring, and makes sure that it can be had back.
pub(crate) fn entrust(path: &Path, keyring: &dyn Keyring, key: &Key) -> Result<(), KeyError> {
    keyring.set(&entry(key.id()), &Secret::new(key.to_text().to_string()))?;
    fetch(path, keyring, key.id()).map(drop)
}

/// Takes a key out of the keyring that nothing is sealed with any more.
pub(crate) fn withdraw(keyring: &dyn Keyring, key: &Key) {
    if let Err(error) = keyring.remove(&entry(key.id())) {
        tracing::warn!(%error, "an old key could not be taken out of the keyring");
    }
}

fn fetch(path: &Path, keyring: &dyn Keyring, id: &str) -> Result<Key, KeyError> {
    let missing = || KeyError::NotInKeyring { path: path.display().to_string(), id: id.to_owned() };
    let text = keyring.get(&entry(id))?.ok_or_else(missing)?;
    // Whatever else is there under this name, it is not the key that the file means.
    Key::parse(text.expose()).filter(|key| key.id() == id).ok_or_else(missing)
}

fn entry(id: &str) -> String {
    format!("vault key {id}")
}
