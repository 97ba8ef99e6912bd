//! The key in a keyring: moved there and back, changed there, and what a keyring can do wrong.

use std::{collections::BTreeMap, fs, path::Path, sync::Arc};

use capdeck_auth::{
    KeyLocation, KeySettings, KeyringError, KeyringStore, Secret, Vault, VaultError,
};
use parking_lot::Mutex;

/// A keyring that can be looked into, locked and made forgetful.
#[derive(Debug, Default)]
struct Fake {
    entries: Mutex<BTreeMap<String, String>>,
    locked: Mutex<bool>,
    /// Takes everything and keeps nothing.
    forgetful: Mutex<bool>,
}

impl Fake {
    fn open(&self) -> Result<(), KeyringError> {
        if *self.locked.lock() {
            return Err(KeyringError { reason: "it is locked".to_owned() });
        }
        Ok(())
    }

    fn names(&self) -> Vec<String> {
        self.entries.lock().keys().cloned().collect()
    }
}

impl KeyringStore for Fake {
    fn get(&self, name: &str) -> Result<Option<Secret>, KeyringError> {
        self.open()?;
        Ok(self.entries.lock().get(name).cloned().map(Secret::new))
    }

    fn set(&self, name: &str, value: &Secret) -> Result<(), KeyringError> {
        self.open()?;
        if !*self.forgetful.lock() {
            self.entries.lock().insert(name.to_owned(), value.expose().to_owned());
        }
        Ok(())
    }

    fn remove(&self, name: &str) -> Result<(), KeyringError> {
        self.open()?;
        self.entries.lock().remove(name);
        Ok(())
    }
}

struct Place {
    folder: tempfile::TempDir,
    keyring: Arc<Fake>,
}

impl Place {
    /// A vault with one entry, whose key is in a file.
    fn new() -> Self {
        let place = Self { folder: tempfile::tempdir().unwrap(), keyring: Arc::default() };
        place.vault().set("TOKEN", &Secret::new("canary-1")).unwrap();
        place
    }

    fn vault(&self) -> Vault {
        let keyring: Arc<dyn KeyringStore> = Arc::<Fake>::clone(&self.keyring);
        let settings = KeySettings { keyring: Some(keyring), ..KeySettings::default() };
        Vault::new(self.folder.path(), settings)
    }

    fn file(&self) -> String {
        fs::read_to_string(self.folder.path().join("vault/key")).unwrap()
    }

    fn show(&self) -> Result<String, VaultError> {
        self.vault().value("TOKEN").map(|value| value.expose().to_owned())
    }
}

#[test]
fn a_key_moves_into_the_keyring_changes_there_and_comes_back() {
    let place = Place::new();
    let in_file = place.file();
    let moved = place.vault().rekey(Some(KeyLocation::Keyring)).unwrap();
    assert_eq!((moved.files, moved.home), (1, KeyLocation::Keyring));
    // The file names the key, which tells nothing about it, and the old key is nowhere.
    assert_eq!(place.file(), format!("capdeck-key-in-keyring-v1.{}\n", moved.key));
    assert_eq!(place.keyring.names(), [format!("vault key {}", moved.key)]);
    assert_eq!(place.show().as_deref(), Ok("canary-1"));
    place.vault().set("OTHER", &Secret::new("canary-2")).unwrap();

    // By default it stays there, and the old one goes.
    let changed = place.vault().rekey(None).unwrap();
    assert_eq!((changed.files, changed.home), (2, KeyLocation::Keyring));
    assert_ne!(changed.key, moved.key);
    assert_eq!(place.keyring.names(), [format!("vault key {}", changed.key)]);
    assert_eq!(place.show().as_deref(), Ok("canary-1"));

    let back = place.vault().rekey(Some(KeyLocation::File)).unwrap();
    assert_eq!((back.files, back.home), (2, KeyLocation::File));
    assert!(place.file().starts_with("capdeck-vault-key-v1.") && place.file() != in_file);
    assert!(place.keyring.names().is_empty());
    assert_eq!(place.show().as_deref(), Ok("canary-1"));
}

#[test]
fn a_move_that_was_cut_off_loses_nothing() {
    let place = Place::new();
    let (old, values) = (place.file(), place.folder.path().join("vault/values/TOKEN.json"));
    let sealed = fs::read_to_string(&values).unwrap();
    place.vault().rekey(Some(KeyLocation::Keyring)).unwrap();
    // As it is while files are being replaced: both keys are known, and files are under either.
    fs::write(place.folder.path().join("vault/key"), format!("{}{old}", place.file())).unwrap();
    assert_eq!(place.show().as_deref(), Ok("canary-1"));
    fs::write(&values, sealed).unwrap();
    assert_eq!(place.show().as_deref(), Ok("canary-1"));
    place.vault().rekey(None).unwrap();
    assert_eq!(place.file().lines().count(), 1);
    assert_eq!(place.keyring.names().len(), 1);
    assert_eq!(place.show().as_deref(), Ok("canary-1"));
}

#[test]
fn a_keyring_that_cannot_be_used_changes_nothing_and_is_named() {
    let place = Place::new();
    let before = place.file();
    *place.keyring.locked.lock() = true;
    let error = place.vault().rekey(Some(KeyLocation::Keyring)).unwrap_err();
    let message = "the system's keyring cannot be used: it is locked";
    assert_eq!(error.to_string(), message);
    *place.keyring.locked.lock() = false;
    *place.keyring.forgetful.lock() = true;
    let error = place.vault().rekey(Some(KeyLocation::Keyring)).unwrap_err();
    assert!(error.to_string().contains("which has no key"), "{error}");
    assert_eq!(place.file(), before);
    assert_eq!(place.show().as_deref(), Ok("canary-1"));

    *place.keyring.forgetful.lock() = false;
    place.vault().rekey(Some(KeyLocation::Keyring)).unwrap();
    *place.keyring.locked.lock() = true;
    for error in [
        place.show().unwrap_err(),
        place.vault().set("NEW", &Secret::new("canary-3")).unwrap_err(),
        place.vault().rekey(Some(KeyLocation::File)).unwrap_err(),
    ] {
        assert_eq!(error.to_string(), message);
        assert!(error.hint().starts_with("unlock the keyring"), "{}", error.hint());
        assert!(error.is_about_the_key());
    }
    *place.keyring.locked.lock() = false;
    assert_eq!(place.show().as_deref(), Ok("canary-1"));
}

#[test]
fn a_key_that_is_not_in_the_keyring_any_more_is_not_replaced() {
    let place = Place::new();
    let moved = place.vault().rekey(Some(KeyLocation::Keyring)).unwrap();
    let name = format!("vault key {}", moved.key);
    let key = place.keyring.entries.lock()[&name].clone();
    // Gone, something else, and another key under its name.
    let other = "capdeck-vault-key-v1.AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8";
    for value in [None, Some("canary"), Some(other)] {
        place.keyring.entries.lock().clear();
        if let Some(value) = value {
            place.keyring.entries.lock().insert(name.clone(), value.to_owned());
        }
        let error = place.show().unwrap_err();
        let file = place.folder.path().join("vault/key").display().to_string();
        assert_eq!(
            error.to_string(),
            format!(
                "`{file}` says that the key is in the system's keyring, which has no key `{}`",
                moved.key
            )
        );
        assert!(error.hint().contains(&file) && error.hint().contains("rm -r"), "{}", error.hint());
        assert!(place.vault().set("NEW", &Secret::new("x")).is_err());
    }
    // With a copy of the key the file can take its place, as the hint says.
    write_key(&place.folder.path().join("vault/key"), &key);
    assert_eq!(place.show().as_deref(), Ok("canary-1"));
}

fn write_key(path: &Path, text: &str) {
    fs::write(path, format!("{text}\n")).unwrap();
}
