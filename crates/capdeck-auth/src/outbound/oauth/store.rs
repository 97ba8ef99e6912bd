//! Where sign-ins are kept: one file per capability and server, readable by its owner only.
//!
//! The files hold tokens as they are. This type is the one place that reads and writes them, so that encryption can
//! be added here without a change elsewhere.

use std::{
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
    time::SystemTime,
};

use sha2::{Digest, Sha256};
use url::Url;

use super::{OAuthError, record::Record};

/// A folder of sign-ins.
#[derive(Debug, Clone)]
pub struct TokenStore {
    folder: PathBuf,
}

/// The place of one sign-in.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    path: PathBuf,
    server: String,
}

/// Tells whether a file is still the one that was read. Every write makes a new file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    modified: Option<SystemTime>,
    length: u64,
    number: u64,
}

/// Held while a sign-in is being changed, also against other processes. Ends when dropped.
pub(super) struct Held(#[expect(dead_code, reason = "the lock ends with the file")] File);

impl TokenStore {
    /// Sign-ins below this folder, which need not exist yet.
    pub fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// The place for a name at a server. The same name at another server is another sign-in.
    pub(super) fn entry(&self, name: &str, server: &Url) -> Entry {
        let server = server.to_string();
        let digest = Sha256::digest(&server);
        let mark: String = digest.iter().take(6).map(|byte| format!("{byte:02x}")).collect();
        Entry { path: self.folder.join(format!("{name}-{mark}.json")), server }
    }
}

impl Entry {
    /// What is kept, or nothing. A file that others may read, or that is for another server, is refused.
    pub(super) fn load(&self) -> Result<Option<Record>, OAuthError> {
        let bytes = match fs::read(&self.path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(self.failed(&error)),
        };
        self.check_mode()?;
        // The parser would quote the file, and with it a token.
        let record: Record = serde_json::from_slice(&bytes)
            .map_err(|error| self.unusable(format!("it is damaged (line {})", error.line())))?;
        if record.server == self.server {
            Ok(Some(record))
        } else {
            Err(self.unusable("it belongs to another server".to_owned()))
        }
    }

    /// Replaces what is kept, at once or not at all.
    pub(super) fn save(&self, mut record: Record) -> Result<(), OAuthError> {
        record.server.clone_from(&self.server);
        let write = || -> io::Result<()> {
            let folder = self.folder()?;
            let text = serde_json::to_vec_pretty(&record).map_err(io::Error::other)?;
            let mut file = tempfile::NamedTempFile::new_in(folder)?;
            file.write_all(&text)?;
            file.as_file().sync_all()?;
            file.persist(&self.path).map_err(|error| error.error)?;
            File::open(folder)?.sync_all()
        };
        write().map_err(|error| self.failed(&error))
    }

    /// Forgets everything; false when there was nothing.
    pub(super) fn remove(&self) -> Result<bool, OAuthError> {
        match fs::remove_file(&self.path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(self.failed(&error)),
        }
    }

    /// The present file, if there is one.
    pub(super) fn stamp(&self) -> Option<Stamp> {
        let facts = fs::metadata(&self.path).ok()?;
        Some(Stamp { modified: facts.modified().ok(), length: facts.len(), number: number(&facts) })
    }

    /// Waits until nobody else changes this sign-in. Blocks the thread.
    pub(super) fn hold(&self) -> Result<Held, OAuthError> {
        let lock = || -> io::Result<File> {
            self.folder()?;
            let path = self.path.with_extension("lock");
            let file = File::options().create(true).append(true).open(path)?;
            file.lock()?;
            Ok(file)
        };
        lock().map(Held).map_err(|error| self.failed(&error))
    }

    fn folder(&self) -> io::Result<&Path> {
        let folder = self.path.parent().unwrap_or_else(|| Path::new("."));
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(folder)?;
        Ok(folder)
    }

    #[cfg(unix)]
    fn check_mode(&self) -> Result<(), OAuthError> {
        use std::os::unix::fs::PermissionsExt as _;
        let facts = fs::metadata(&self.path).map_err(|error| self.failed(&error))?;
        if facts.permissions().mode() & 0o077 == 0 {
            Ok(())
        } else {
            Err(self.unusable("others may read or change it".to_owned()))
        }
    }

    #[cfg(not(unix))]
    #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "one shape on every system")]
    fn check_mode(&self) -> Result<(), OAuthError> {
        Ok(())
    }

    fn failed(&self, error: &io::Error) -> OAuthError {
        self.unusable(error.to_string())
    }

    fn unusable(&self, reason: String) -> OAuthError {
        OAuthError::Store { path: self.path.display().to_string(), reason }
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
    use super::*;

    fn entry(folder: &tempfile::TempDir) -> Entry {
        let server = Url::parse("https://a.example/mcp").unwrap();
        TokenStore::new(folder.path().join("auth")).entry("linear", &server)
    }

    #[test]
    fn a_record_is_kept_for_its_server_only() {
        let folder = tempfile::tempdir().unwrap();
        let entry = entry(&folder);
        assert!(entry.load().unwrap().is_none());
        assert!(entry.stamp().is_none());
        entry.save(Record::default()).unwrap();
        let first = entry.stamp().unwrap();
        assert_eq!(entry.load().unwrap().unwrap().server, "https://a.example/mcp");
        entry.save(Record::default()).unwrap();
        assert_ne!(entry.stamp().unwrap(), first);

        let other = Url::parse("https://b.example/mcp").unwrap();
        let store = TokenStore::new(folder.path().join("auth"));
        assert!(store.entry("linear", &other).load().unwrap().is_none());
        fs::copy(&entry.path, &store.entry("linear", &other).path).unwrap();
        let error = store.entry("linear", &other).load().unwrap_err().to_string();
        assert!(error.ends_with("it belongs to another server"), "{error}");

        assert!(entry.remove().unwrap());
        assert!(!entry.remove().unwrap());
    }

    #[cfg(unix)]
    #[test]
    fn nobody_else_may_read_it() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let entry = entry(&folder);
        entry.save(Record::default()).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&entry.path), mode(entry.path.parent().unwrap())), (0o600, 0o700));
        fs::set_permissions(&entry.path, fs::Permissions::from_mode(0o640)).unwrap();
        let error = entry.load().unwrap_err();
        assert!(error.to_string().ends_with("others may read or change it"), "{error}");
    }

    #[test]
    fn a_damaged_file_is_refused_without_quoting_it() {
        let folder = tempfile::tempdir().unwrap();
        let entry = entry(&folder);
        entry.save(Record::default()).unwrap();
        fs::write(&entry.path, "{\"server\": \"canary-1\", \"tokens\": \"canary-2\"}").unwrap();
        let error = entry.load().unwrap_err().to_string();
        assert!(error.contains("it is damaged (line 1)") && !error.contains("canary"), "{error}");
    }

    #[test]
    fn one_at_a_time_holds_it() {
        let folder = tempfile::tempdir().unwrap();
        let entry = entry(&folder);
        let held = entry.hold().unwrap();
        let second = File::options().append(true).open(entry.path.with_extension("lock")).unwrap();
        assert!(second.try_lock().is_err());
        drop(held);
        second.try_lock().unwrap();
    }
}
