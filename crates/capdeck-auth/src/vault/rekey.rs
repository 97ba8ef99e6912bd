//! Key rotation: encrypts everything with a new key, or changes nothing.

use super::{Vault, VaultError};
use crate::{
    KeyError, KeyHome,
    key::Key,
    key_file::{self, KeptKey},
    private_file::{Held, Staged},
    sealed_folder::{Content, SealedFolder},
};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rekeyed {
    pub files: usize,
    pub key: String,
    pub place: String,
    pub home: KeyHome,
}

struct Waiting {
    staged: Staged,
    _held: Option<Held>,
}

impl Vault {
    /// Creates a new key and encrypts everything with it.
    ///
    /// All files are opened and staged first, so that an unreadable file or a full disk changes nothing. From then on
    /// the key file holds both keys until the last file is replaced: a crash loses nothing, and the next rotation
    /// finishes the work. Without a `home` the new key stays where the old one was.
    pub fn rekey(&self, home: Option<KeyHome>) -> Result<Rekeyed, VaultError> {
        let _held = self.hold()?;
        let old = self.keys.find_or_make()?;
        let place = old.file.clone()?;
        let earlier = old.keys().first().map_or(KeyHome::File, |kept| kept.home);
        let home = home.unwrap_or(earlier);
        let new = Key::random().map_err(KeyError::from)?;
        let mut waiting = Vec::new();
        for (folder, locked) in self.folders() {
            for name in folder.names()? {
                waiting.extend(prepare(&folder, &name, &new, locked)?);
            }
        }
        let files = waiting.len();
        if home == KeyHome::Keyring {
            key_file::entrust(&place, self.keys.keyring(), &new)?;
        }
        let kept = KeptKey { key: new.clone(), home };
        let both: Vec<KeptKey> = std::iter::once(&kept).chain(old.keys()).cloned().collect();
        key_file::write(&place, &both)?;
        for one in waiting {
            one.staged.put().map_err(|error| KeyError::File {
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
                    late.staged.put().map_err(|error| KeyError::File {
                        path: place.display().to_string(),
                        reason: error.to_string(),
                    })?;
                }
            }
        }
        key_file::write(&place, std::slice::from_ref(&kept))?;
        for former in old.keys().iter().filter(|kept| kept.home == KeyHome::Keyring) {
            key_file::withdraw(self.keys.keyring(), &former.key);
        }
        Ok(Rekeyed { files, key: new.id().to_owned(), place: place.display().to_string(), home })
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
    key: &Key,
    locked: bool,
) -> Result<Option<Waiting>, VaultError> {
    let held = if locked { Some(folder.hold(name)?) } else { None };
    let bytes = match folder.load(name)? {
        Some(Content::Sealed(bytes)) => bytes,
        Some(Content::Plain(_)) if !locked => return Err(folder.not_sealed(name).into()),
        Some(Content::Plain(_)) | None => return Ok(None),
    };
    let staged = folder.stage(name, &bytes, key)?;
    Ok(Some(Waiting { staged, _held: held }))
}
