//! The admin key: made once, kept in a file of its owner's, or given from outside.
//!
//! A key that is made here ends with its checksum, so the one line of its file is the key and can be pasted as it is. Files
//! of earlier versions have the checksum behind a space; their line is taken for the key as well.

use std::path::Path;

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use capdeck_storage::{
    FileLock, FileReaders, is_open_to_others, read_if_exists, replace_file, to_hex,
};
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use super::{TokenHash, random};
use crate::Secret;

const MIN_KEY_LENGTH: usize = 16;
/// A key with this many bytes and this many different characters cannot be guessed over a network. Generated keys are longer.
const UNGUESSABLE_BYTES: usize = 32;
const UNGUESSABLE_LETTERS: usize = 10;
const PREFIX: &str = "cap_ad_";
const CHECKSUM_LENGTH: usize = 8;

/// The key that opens everything. Shows nothing of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdminKey {
    key: Secret,
    hash: TokenHash,
    is_guessable: bool,
}

/// A key, and whether it was made just now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadedAdminKey {
    pub key: AdminKey,
    /// Whether it was not shown yet.
    pub is_new: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AdminKeyError {
    #[error("the admin key is too short: it needs {MIN_KEY_LENGTH} bytes or more")]
    TooShort,
    #[error("the admin key holds a space or a control character, so it cannot be sent")]
    NotSendable,
    #[error(
        "`{path}` may be read by others; take their rights away, or remove the file to have a new key"
    )]
    OpenToOthers { path: String },
    #[error(
        "`{path}` holds no admin key, or a part of one; put the copy of it back, or remove the file to have a new key"
    )]
    Broken { path: String },
    #[error("`{path}`: {reason}")]
    Disk { path: String, reason: String },
    #[error("the system gives no random numbers")]
    NoRandomness,
}

impl AdminKey {
    pub fn new(key: Secret) -> Result<Self, AdminKeyError> {
        let key = Secret::new(pasted(key.expose()));
        if key.expose().len() < MIN_KEY_LENGTH {
            return Err(AdminKeyError::TooShort);
        }
        if key.expose().contains(|letter: char| letter.is_control() || letter.is_whitespace()) {
            return Err(AdminKeyError::NotSendable);
        }
        let hash = TokenHash::of(key.expose());
        let letters: std::collections::HashSet<u8> = key.expose().bytes().collect();
        let is_guessable =
            key.expose().len() < UNGUESSABLE_BYTES || letters.len() < UNGUESSABLE_LETTERS;
        Ok(Self { key, hash, is_guessable })
    }

    /// The key in a file. If there is no file, one is made that only its owner may read.
    pub fn load_or_create(path: &Path) -> Result<LoadedAdminKey, AdminKeyError> {
        let _held = FileLock::wait(&path.with_extension("lock")).map_err(disk(path))?;
        if let Some(key) = Self::load(path)? {
            return Ok(LoadedAdminKey { key, is_new: false });
        }
        let bytes = Zeroizing::new(random::<32>().map_err(|_| AdminKeyError::NoRandomness)?);
        let random =
            Zeroizing::new(format!("{PREFIX}{}", *Zeroizing::new(URL_SAFE_NO_PAD.encode(*bytes))));
        let key = Secret::new(format!("{}{}", *random, checksum(&random)));
        let text = Zeroizing::new(format!("{}\n", key.expose()));
        replace_file(path, text.as_bytes(), FileReaders::Owner).map_err(disk(path))?;
        Ok(LoadedAdminKey { key: Self::new(key)?, is_new: true })
    }

    /// The key in a file; `None` when there is no file.
    pub fn load(path: &Path) -> Result<Option<Self>, AdminKeyError> {
        let bytes = read_if_exists(path).map_err(disk(path))?;
        let Some(bytes) = bytes.map(Zeroizing::new) else { return Ok(None) };
        if is_open_to_others(path).map_err(disk(path))? {
            return Err(AdminKeyError::OpenToOthers { path: shown(path) });
        }
        let broken = || AdminKeyError::Broken { path: shown(path) };
        let text = std::str::from_utf8(&bytes).map_err(|_| broken())?;
        let line = text.trim_end();
        let (random, sum) = match line.split_once(' ') {
            Some(earlier) => earlier,
            None => {
                let end = line.len().checked_sub(CHECKSUM_LENGTH).ok_or_else(broken)?;
                line.split_at_checked(end).ok_or_else(broken)?
            }
        };
        if checksum(random) != sum {
            return Err(broken());
        }
        Self::new(Secret::new(line)).map(Some)
    }

    /// Whether this is the key, or the line of its file. Compares in constant time.
    pub fn is(&self, given: &str) -> bool {
        self.hash.is(&TokenHash::of(pasted(given)))
    }

    /// Whether the key is so short, or of so few different characters, that it could be found by trying.
    pub fn is_guessable(&self) -> bool {
        self.is_guessable
    }

    /// Says that a session was started with this key, to the holder of the session's token. Without that token nothing can be
    /// tried against it, so a key that a person thought up is not to be guessed from the file.
    pub(super) fn proof_for(&self, session: &str) -> TokenHash {
        let text = Zeroizing::new(format!("capdeck admin session\0{session}\0{}", self.reveal()));
        TokenHash::of_bytes(text.as_bytes())
    }

    /// The key itself, to be shown once to the person it is for.
    pub fn reveal(&self) -> &str {
        self.key.expose()
    }
}

/// A key as it was pasted: without the space and the line end around it, and without the checksum behind it in files of
/// earlier versions.
fn pasted(text: &str) -> &str {
    let line = text.trim();
    match line.split_once(' ') {
        Some((key, sum)) if checksum(key) == sum => key,
        _ => line,
    }
}

/// Enough to notice a key that was cut or mistyped.
fn checksum(key: &str) -> String {
    let digest = Sha256::new().chain_update(b"capdeck admin key\0").chain_update(key).finalize();
    to_hex(digest).chars().take(8).collect()
}

fn disk(path: &Path) -> impl Fn(std::io::Error) -> AdminKeyError {
    move |error| AdminKeyError::Disk { path: shown(path), reason: error.to_string() }
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_key_is_made_once_and_kept_for_its_owner() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state/admin.key");
        let first = AdminKey::load_or_create(&path).unwrap();
        assert!(first.is_new);
        assert!(first.key.reveal().starts_with(PREFIX));
        let again = AdminKey::load_or_create(&path).unwrap();
        assert_eq!((again.key.clone(), again.is_new), (first.key.clone(), false));
        assert!(again.key.is(first.key.reveal()) && !again.key.is("something else"));
        assert!(!format!("{again:?}").contains(first.key.reveal()));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
            fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
            let error = AdminKey::load(&path).unwrap_err();
            assert!(matches!(error, AdminKeyError::OpenToOthers { .. }), "{error}");
        }
    }

    #[test]
    fn a_file_that_was_cut_is_refused_and_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("admin.key");
        AdminKey::load_or_create(&path).unwrap();
        let whole = fs::read_to_string(&path).unwrap();
        for broken in ["", "\n", whole.split_at(20).0, &whole.replace("cap_ad_", "cap_ax_")] {
            replace_file(&path, broken.as_bytes(), FileReaders::Owner).unwrap();
            let error = AdminKey::load_or_create(&path).unwrap_err();
            assert!(matches!(error, AdminKeyError::Broken { .. }), "{error}");
            assert_eq!(fs::read_to_string(&path).unwrap(), broken);
        }
    }

    #[test]
    fn the_line_of_the_file_is_the_key() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("admin.key");
        let made = AdminKey::load_or_create(&path).unwrap().key;
        let line = fs::read_to_string(&path).unwrap();
        assert_eq!(line, format!("{}\n", made.reveal()));
        assert!(made.is(&line) && made.is(line.trim()) && made.is(&format!("  {line}")));
        assert_eq!(AdminKey::new(Secret::new(line.as_str())), Ok(made.clone()));
        assert!(!made.is(line.trim().split_at(20).0));
        // A file of an earlier version.
        let earlier = format!("{PREFIX}earlier-earlier {}\n", checksum("cap_ad_earlier-earlier"));
        replace_file(&path, earlier.as_bytes(), FileReaders::Owner).unwrap();
        let kept = AdminKey::load(&path).unwrap().unwrap();
        assert_eq!(kept.reveal(), "cap_ad_earlier-earlier");
        assert!(kept.is(&earlier) && kept.is(kept.reveal()));
        assert!(!kept.is("cap_ad_earlier-earlier 00000000"));
    }

    #[test]
    fn short_and_unsendable_keys_are_refused() {
        assert_eq!(AdminKey::new(Secret::new("123456789012345")), Err(AdminKeyError::TooShort));
        let spaced = AdminKey::new(Secret::new("1234567890 123456"));
        assert_eq!(spaced, Err(AdminKeyError::NotSendable));
        assert!(AdminKey::new(Secret::new("1234567890123456")).is_ok());
    }

    #[test]
    fn short_keys_and_those_of_few_characters_can_be_guessed() {
        let is_guessable = |text: &str| AdminKey::new(Secret::new(text)).unwrap().is_guessable();
        assert!(is_guessable("1234567890123456"));
        assert!(is_guessable(&"ab".repeat(40)));
        assert!(!is_guessable("0123456789abcdef0123456789abcdef"));
        let folder = tempfile::tempdir().unwrap();
        let made = AdminKey::load_or_create(&folder.path().join("admin.key")).unwrap();
        assert!(!made.key.is_guessable());
    }
}
