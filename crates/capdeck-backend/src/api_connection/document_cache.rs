//! Copies of fetched descriptions: for asking whether they have changed, and for when nobody answers.
//!
//! A copy is one file, replaced whole. It is named for the capability and the address, which itself is not written down: it
//! may hold a key.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use bytes::Bytes;
use capdeck_definition::{CapabilityId, sha256_hex};
use serde::{Deserialize, Serialize};
use url::Url;

/// A folder of copies.
#[derive(Debug, Clone)]
pub(crate) struct DocumentCache {
    folder: PathBuf,
}

/// The place of one copy.
#[derive(Debug, Clone)]
pub(super) struct DocumentCacheEntry {
    path: PathBuf,
}

/// A description that was fetched earlier.
#[derive(Debug, Clone)]
pub(super) struct CachedDocument {
    pub(super) marks: DocumentValidators,
    pub(super) bytes: Bytes,
    fetched: SystemTime,
}

/// What the server gave to recognise a version by.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DocumentValidators {
    pub(super) etag: Option<String>,
    pub(super) last_modified: Option<String>,
}

/// The first line of a copy; the description follows.
#[derive(Debug, Serialize, Deserialize)]
struct DocumentCacheHeader {
    #[serde(flatten)]
    marks: DocumentValidators,
    length: usize,
}

impl DocumentCache {
    /// Copies below this folder, which need not exist yet.
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// The place for what one capability reads at this address. What was read with credentials is kept apart.
    pub(super) fn entry(
        &self,
        id: &CapabilityId,
        url: &Url,
        is_trusted: bool,
    ) -> DocumentCacheEntry {
        let digest = sha256_hex(format!("{is_trusted} {url}"));
        let mark: String = digest.chars().take(24).collect();
        DocumentCacheEntry { path: self.folder.join(format!("{id}-{mark}")) }
    }
}

impl DocumentCacheEntry {
    /// The copy, if there is a whole one.
    pub(super) async fn load(&self) -> Option<CachedDocument> {
        let path = self.path.clone();
        tokio::task::spawn_blocking(move || read(&path)).await.ok()?
    }

    /// The server says that the copy is still right.
    pub(super) async fn confirm(&self) {
        let path = self.path.clone();
        let touch =
            move || File::options().append(true).open(path)?.set_modified(SystemTime::now());
        if let Ok(Err(error)) = tokio::task::spawn_blocking(touch).await {
            tracing::warn!(%error, path = %self.path.display(), "a description could not be kept");
        }
    }

    /// Keeps a copy. One that cannot be kept is only told in the log: the description itself is there.
    pub(super) async fn save(&self, marks: DocumentValidators, bytes: Bytes) {
        let path = self.path.clone();
        let saving = tokio::task::spawn_blocking(move || write(&path, marks, &bytes));
        if let Ok(Err(error)) = saving.await {
            tracing::warn!(%error, path = %self.path.display(), "a description could not be kept");
        }
    }
}

impl CachedDocument {
    /// How long ago the server last gave or confirmed it.
    pub(super) fn age(&self) -> Duration {
        self.fetched.elapsed().unwrap_or_default()
    }
}

fn read(path: &Path) -> Option<CachedDocument> {
    let fetched = fs::metadata(path).ok()?.modified().ok()?;
    let whole = Bytes::from(fs::read(path).ok()?);
    let end = whole.iter().position(|byte| *byte == b'\n')?;
    let facts: DocumentCacheHeader = serde_json::from_slice(whole.get(..end)?).ok()?;
    let bytes = whole.slice(end + 1..);
    (bytes.len() == facts.length).then_some(CachedDocument { marks: facts.marks, bytes, fetched })
}

fn write(path: &Path, marks: DocumentValidators, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or_else(|| Path::new("."));
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)?;
    // A temporary file is readable by its owner only, and stays so under its new name.
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    let facts = serde_json::to_string(&DocumentCacheHeader { marks, length: bytes.len() });
    writeln!(file, "{}", facts.map_err(io::Error::other)?)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_copy_comes_back_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let cache = DocumentCache::new(folder.path().join("documents"));
        let id = CapabilityId::new("thing").unwrap();
        let url = Url::parse("https://api.example/spec?key=canary").unwrap();
        let entry = cache.entry(&id, &url, true);
        assert!(entry.load().await.is_none());
        let marks = DocumentValidators { etag: Some("\"1\"".to_owned()), last_modified: None };
        entry.save(marks.clone(), Bytes::from_static(b"line\nline")).await;
        let copy = entry.load().await.unwrap();
        assert_eq!((copy.marks.clone(), copy.bytes.as_ref()), (marks, &b"line\nline"[..]));
        assert!(copy.age() < Duration::from_secs(60));
        let long_ago = SystemTime::now() - Duration::from_secs(5_000);
        File::options().append(true).open(&entry.path).unwrap().set_modified(long_ago).unwrap();
        assert!(entry.load().await.unwrap().age() >= Duration::from_secs(5_000));
        entry.confirm().await;
        assert!(entry.load().await.unwrap().age() < Duration::from_secs(60));
        for other in [
            cache.entry(&id, &url, false),
            cache.entry(&id, &Url::parse("https://api.example/spec").unwrap(), true),
            cache.entry(&CapabilityId::new("other").unwrap(), &url, true),
        ] {
            assert!(other.load().await.is_none());
        }
        let whole = fs::read(&entry.path).unwrap();
        assert!(!String::from_utf8_lossy(&whole).contains("canary"));
        for damaged in [&whole[..whole.len() - 1], b"{}\n", b"", b"no line"] {
            fs::write(&entry.path, damaged).unwrap();
            assert!(entry.load().await.is_none());
        }
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn nobody_else_may_read_it() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let cache = DocumentCache::new(folder.path().join("documents"));
        let id = CapabilityId::new("thing").unwrap();
        let entry = cache.entry(&id, &Url::parse("https://api.example").unwrap(), false);
        entry.save(DocumentValidators::default(), Bytes::from_static(b"{}")).await;
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&entry.path), mode(&cache.folder)), (0o600, 0o700));
    }
}
