//! Key rotation: encrypts everything with a new key, or changes nothing.

use capdeck_storage::{FileLock, StagedFile};

use super::{Vault, VaultResult};
use crate::{
    KeyError, KeyLocation,
    key_source::{StoredKey, remove_from_keyring, store_in_keyring, write_keys},
    sealed_folder::{SealedContent, SealedFolder},
    sealing_key::SealingKey,
};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RekeyReport {
    pub files: usize,
    pub key: String,
    pub place: String,
    pub home: KeyLocation,
}

struct PendingRekey {
    staged: StagedFile,
    _held: Option<FileLock>,
}

impl Vault {
    /// Creates a new key and encrypts everything with it.
    ///
    /// All files are opened and staged first, so that an unreadable file or a full disk changes nothing. From then on
    /// the key file holds both keys until the last file is replaced: a crash loses nothing, and the next rotation
    /// finishes the work. Without a `home` the new key stays where the old one was.
    pub fn rekey(&self, home: Option<KeyLocation>) -> VaultResult<RekeyReport> {
        let _held = self.lock()?;
        let old = self.keys.find_or_make()?;
        let place = old.file.clone()?;
        let earlier = old.keys().first().map_or(KeyLocation::File, |kept| kept.home);
        let home = home.unwrap_or(earlier);
        let new = SealingKey::random().map_err(KeyError::from)?;
        let mut waiting = Vec::new();
        for (folder, locked) in self.folders() {
            for name in folder.names()? {
                waiting.extend(prepare(&folder, &name, &new, locked)?);
            }
        }
        let files = waiting.len();
        if home == KeyLocation::Keyring {
            store_in_keyring(&place, self.keys.keyring(), &new)?;
        }
        let kept = StoredKey { key: new.clone(), home };
        let both: Vec<StoredKey> = std::iter::once(&kept).chain(old.keys()).cloned().collect();
        write_keys(&place, &both)?;
        for one in waiting {
            one.staged.replace().map_err(|error| KeyError::File {
                path: place.display().to_string(),
                reason: format!(
                    "a file could not be replaced ({error}); the key file has both keys; run the command again"
                ),
            })?;
        }
        // Sign-ins created in the meantime may still use the old key.
        for (folder, locked) in self.folders() {
            for name in folder.names()? {
                if folder.key_id(&name)?.is_some_and(|id| id != new.id())
                    && let Some(late) = prepare(&folder, &name, &new, locked)?
                {
                    late.staged.replace().map_err(|error| KeyError::File {
                        path: place.display().to_string(),
                        reason: error.to_string(),
                    })?;
                }
            }
        }
        write_keys(&place, std::slice::from_ref(&kept))?;
        for former in old.keys().iter().filter(|kept| kept.home == KeyLocation::Keyring) {
            remove_from_keyring(self.keys.keyring(), &former.key);
        }
        Ok(RekeyReport {
            files,
            key: new.id().to_owned(),
            place: place.display().to_string(),
            home,
        })
    }

    /// Every folder with encrypted files. Each sign-in is locked separately, because they change one by one.
    fn folders(&self) -> [(SealedFolder, bool); 3] {
        [(self.values(), false), (self.grants_folder(), false), (self.sign_ins(), true)]
    }
}

/// Opens a file and encrypts it again. An unencrypted sign-in of an older version stays as it is.
fn prepare(
    folder: &SealedFolder,
    name: &str,
    key: &SealingKey,
    locked: bool,
) -> VaultResult<Option<PendingRekey>> {
    let held = if locked { Some(folder.lock(name)?) } else { None };
    let bytes = match folder.load(name)? {
        Some(SealedContent::Sealed(bytes)) => bytes,
        Some(SealedContent::Plain(_)) if !locked => return Err(folder.not_sealed(name).into()),
        Some(SealedContent::Plain(_)) | None => return Ok(None),
    };
    let staged = folder.stage(name, &bytes, key)?;
    Ok(Some(PendingRekey { staged, _held: held }))
}
