//! The sign-in store: one encrypted file per capability and server, with a sign-in for each issuer.
//!
//! Unencrypted files of older versions are encrypted when they are read.

use std::{fs, time::SystemTime};

use sha2::{Digest, Sha256};
use url::Url;
use zeroize::Zeroizing;

use super::{OAuthError, sign_in_record::SignInRecord};
use crate::{
    Vault,
    private_file::FileLock,
    sealed_folder::{SealedContent, SealedError, SealedFolder},
};

#[derive(Debug, Clone)]
pub struct TokenStore {
    folder: SealedFolder,
}

#[derive(Debug, Clone)]
pub(super) struct SignInFile {
    folder: SealedFolder,
    name: String,
    server: String,
}

/// Identifies a version of a file. Every write creates a new file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileStamp {
    modified: Option<SystemTime>,
    length: u64,
    number: u64,
}

impl TokenStore {
    /// Opens the sign-ins beside a vault; both use the same key.
    pub fn new(vault: &Vault) -> Self {
        Self { folder: vault.sign_ins() }
    }

    /// Returns the entry of a name at a server. The same name at another server is a different sign-in.
    pub(super) fn entry(&self, name: &str, server: &Url) -> SignInFile {
        let server = server.to_string();
        let digest = Sha256::digest(&server);
        let mark: String = digest.iter().take(6).map(|byte| format!("{byte:02x}")).collect();
        SignInFile { folder: self.folder.clone(), name: format!("{name}-{mark}"), server }
    }
}

impl SignInFile {
    /// Loads the record. Rejects a file that others may read or that is for another server.
    pub(super) fn load(&self) -> Result<Option<SignInRecord>, OAuthError> {
        let (bytes, is_sealed) = match self.folder.load(&self.name)? {
            None => return Ok(None),
            Some(SealedContent::Sealed(bytes)) => (bytes, true),
            Some(SealedContent::Plain(bytes)) => (bytes, false),
        };
        // The parser's message would quote the file, including a token.
        let record = SignInRecord::parse(&bytes)
            .map_err(|error| self.unusable(format!("it is damaged (line {})", error.line())))?;
        if record.server != self.server {
            return Err(self.unusable("it belongs to another server".to_owned()));
        }
        if !is_sealed {
            self.seal(&bytes);
        }
        Ok(Some(record))
    }

    pub(super) fn save(&self, mut record: SignInRecord) -> Result<(), OAuthError> {
        record.server.clone_from(&self.server);
        let text = serde_json::to_vec(&record).map_err(|error| self.unusable(error.to_string()))?;
        Ok(self.folder.save(&self.name, &Zeroizing::new(text))?)
    }

    pub(super) fn remove(&self) -> Result<bool, OAuthError> {
        Ok(self.folder.remove(&self.name)?)
    }

    pub(super) fn stamp(&self) -> Option<FileStamp> {
        let facts = fs::metadata(self.folder.path(&self.name)).ok()?;
        Some(FileStamp {
            modified: facts.modified().ok(),
            length: facts.len(),
            number: number(&facts),
        })
    }

    /// Locks this sign-in. Blocks the thread.
    pub(super) fn lock(&self) -> Result<FileLock, OAuthError> {
        Ok(self.folder.lock(&self.name)?)
    }

    /// Checks that a record can be saved before a person is asked for anything.
    pub(super) fn check(&self) -> Result<(), OAuthError> {
        Ok(self.folder.check_key()?)
    }

    /// Encrypts a plain file. The holder of the lock, if any, writes it encrypted anyway.
    fn seal(&self, bytes: &[u8]) {
        let Some(_held) = self.folder.try_hold(&self.name) else { return };
        if let Err(error) = self.folder.save(&self.name, bytes) {
            tracing::warn!(%error, "a sign-in could not be encrypted");
        }
    }

    fn unusable(&self, reason: String) -> OAuthError {
        let path = self.folder.path(&self.name).display().to_string();
        OAuthError::Store { path, reason }
    }
}

impl From<SealedError> for OAuthError {
    fn from(error: SealedError) -> Self {
        let (path, reason) = match error {
            SealedError::Key(error) => return Self::Key(error),
            SealedError::OtherKey { path, .. } => {
                (path, "it was sealed with another key".to_owned())
            }
            SealedError::Damaged { path, reason } => (path, reason.to_owned()),
            SealedError::OpenToOthers { path } => (path, "others may read or change it".to_owned()),
            SealedError::File { path, reason } => (path, reason),
        };
        Self::Store { path, reason }
    }
}

#[cfg(unix)]
fn number(facts: &fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(facts)
}

#[cfg(not(unix))]
fn number(_facts: &fs::Metadata) -> u64 {
    0
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::KeySettings;

    fn store(folder: &tempfile::TempDir) -> TokenStore {
        TokenStore::new(&Vault::new(folder.path(), KeySettings::default()))
    }

    fn entry(folder: &tempfile::TempDir) -> SignInFile {
        store(folder).entry("linear", &Url::parse("https://a.example/mcp").unwrap())
    }

    fn path(entry: &SignInFile) -> std::path::PathBuf {
        entry.folder.path(&entry.name)
    }

    #[test]
    fn a_record_is_kept_for_its_server_only() {
        let folder = tempfile::tempdir().unwrap();
        let entry = entry(&folder);
        assert!(entry.load().unwrap().is_none());
        assert!(entry.stamp().is_none());
        entry.save(SignInRecord::default()).unwrap();
        let first = entry.stamp().unwrap();
        assert_eq!(entry.load().unwrap().unwrap().server, "https://a.example/mcp");
        assert!(!fs::read_to_string(path(&entry)).unwrap().contains("a.example"));
        entry.save(SignInRecord::default()).unwrap();
        assert_ne!(entry.stamp().unwrap(), first);

        let other = Url::parse("https://b.example/mcp").unwrap();
        let other = store(&folder).entry("linear", &other);
        assert!(other.load().unwrap().is_none());
        fs::copy(path(&entry), path(&other)).unwrap();
        let error = other.load().unwrap_err().to_string();
        assert!(error.ends_with("it was changed after it was sealed"), "{error}");

        assert!(entry.remove().unwrap());
        assert!(!entry.remove().unwrap());
    }

    #[cfg(unix)]
    #[test]
    fn nobody_else_may_read_it() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let entry = entry(&folder);
        entry.save(SignInRecord::default()).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let file = path(&entry);
        assert_eq!((mode(&file), mode(file.parent().unwrap())), (0o600, 0o700));
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        let error = entry.load().unwrap_err();
        assert!(error.to_string().ends_with("others may read or change it"), "{error}");
    }

    #[test]
    fn a_plain_file_is_read_once_and_sealed() {
        let folder = tempfile::tempdir().unwrap();
        let entry = entry(&folder);
        entry.save(SignInRecord::default()).unwrap();
        let plain = r#"{"server": "https://a.example/mcp", "registrations": {"https://canary.example":
            {"id": "canary-1", "method": "none"}}}"#;
        fs::write(path(&entry), plain).unwrap();
        let held = entry.lock().unwrap();
        assert_eq!(entry.load().unwrap().unwrap().registrations.len(), 1);
        assert_eq!(fs::read_to_string(path(&entry)).unwrap(), plain, "the lock is held");
        drop(held);
        assert_eq!(entry.load().unwrap().unwrap().registrations.len(), 1);
        assert!(!fs::read_to_string(path(&entry)).unwrap().contains("canary"));
        assert_eq!(entry.load().unwrap().unwrap().registrations.len(), 1);

        let elsewhere = plain.replace("a.example", "b.example");
        fs::write(path(&entry), &elsewhere).unwrap();
        let error = entry.load().unwrap_err().to_string();
        assert!(error.ends_with("it belongs to another server"), "{error}");
    }

    #[test]
    fn a_damaged_file_is_refused_without_quoting_it() {
        let folder = tempfile::tempdir().unwrap();
        let entry = entry(&folder);
        entry.save(SignInRecord::default()).unwrap();
        fs::write(path(&entry), "{\"server\": \"canary-1\", \"tokens\": \"canary-2\"}").unwrap();
        let error = entry.load().unwrap_err().to_string();
        assert!(error.contains("it is damaged (line 1)") && !error.contains("canary"), "{error}");
    }

    #[test]
    fn one_at_a_time_holds_it() {
        let folder = tempfile::tempdir().unwrap();
        let entry = entry(&folder);
        let held = entry.lock().unwrap();
        assert!(entry.folder.try_hold(&entry.name).is_none());
        drop(held);
        assert!(entry.folder.try_hold(&entry.name).is_some());
    }
}
