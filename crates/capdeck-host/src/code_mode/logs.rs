//! Logs too long for a response, stored for an hour for the client whose run wrote them.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime},
};

use capdeck_backend::{CallError, ErrorCode};
use capdeck_sandbox::LogEntry;
use capdeck_storage::to_hex;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{durable, page::OffsetPage, redact::redacted};

const LOG_LIFETIME: Duration = Duration::from_secs(3600);

/// Default and max entries of one page.
const DEFAULT_PAGE_SIZE: usize = 100;
const MAX_PAGE_SIZE: usize = 500;

#[derive(Debug, Clone)]
pub(super) struct LogStore {
    folder: Arc<PathBuf>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct StoredLogs {
    owner: String,
    pub(super) expires_at: Timestamp,
    pub(super) entries: Vec<LogEntry>,
}

impl LogStore {
    pub(super) fn new(state_dir: &Path) -> Self {
        Self { folder: Arc::new(state_dir.join("code-mode/logs")) }
    }

    /// Stores entries for an owner, without credentials, and returns their reference. `None` when
    /// writing fails.
    pub(super) async fn store(
        &self,
        owner: &str,
        mut entries: Vec<LogEntry>,
    ) -> Option<(String, StoredLogs)> {
        let mut bytes = [0; 24];
        getrandom::fill(&mut bytes).ok()?;
        let reference = to_hex(bytes);
        let lifetime = SignedDuration::try_from(LOG_LIFETIME).ok()?;
        let expires_at = Timestamp::now().checked_add(lifetime).ok()?;
        for entry in &mut entries {
            entry.message = redacted(&entry.message);
        }
        let stored = StoredLogs { owner: owner.to_owned(), expires_at, entries };
        let (store, path) = (self.clone(), self.path(&reference)?);
        let writing = durable::blocking(move || {
            store.sweep();
            durable::save_json_unsynced(&path, &stored).map(|()| stored)
        });
        let stored = match writing.await {
            Ok(Ok(stored)) => stored,
            Ok(Err(error)) => {
                tracing::warn!(%error, "the logs of a run could not be saved");
                return None;
            }
            Err(_) => return None,
        };
        self.sweep_later();
        Some((reference, stored))
    }

    pub(super) async fn read(
        &self,
        owner: &str,
        reference: &str,
        page: &OffsetPage,
    ) -> Result<Value, CallError> {
        let gone = || {
            CallError::new(ErrorCode::ResourceNotFound, format!("there are no logs `{reference}`"))
                .hint("logs expire one hour after their run")
        };
        let path = self.path(reference).ok_or_else(gone)?;
        let loading = durable::blocking(move || durable::load_json::<Option<StoredLogs>>(&path));
        let stored = loading.await.ok().and_then(|loaded| loaded.ok()?);
        let is_theirs =
            |stored: &StoredLogs| stored.owner == owner && stored.expires_at > Timestamp::now();
        let stored = stored.filter(is_theirs).ok_or_else(gone)?;
        page.of(stored.entries, (DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE), "these logs")
    }

    fn path(&self, reference: &str) -> Option<PathBuf> {
        let is_reference =
            reference.len() == 48 && reference.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_reference.then(|| self.folder.join(format!("{reference}.json")))
    }

    fn sweep(&self) {
        let Ok(entries) = fs::read_dir(&*self.folder) else { return };
        for entry in entries.filter_map(Result::ok) {
            let written = entry.metadata().and_then(|metadata| metadata.modified());
            let age = written.ok().and_then(|at| SystemTime::now().duration_since(at).ok());
            if age.is_some_and(|age| age >= LOG_LIFETIME) {
                fs::remove_file(entry.path()).ok();
            }
        }
    }

    /// Deletes the log when it expires, if this process still runs; else a later process does.
    fn sweep_later(&self) {
        let store = self.clone();
        tokio::spawn(async move {
            tokio::time::sleep(LOG_LIFETIME + Duration::from_secs(1)).await;
            tokio::task::spawn_blocking(move || store.sweep()).await.ok();
        });
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    fn page(cursor: Option<&str>, limit: Option<usize>) -> OffsetPage {
        OffsetPage { cursor: cursor.map(str::to_owned), limit }
    }

    fn entry(message: String) -> LogEntry {
        LogEntry { level: "log".to_owned(), message, timestamp: None }
    }

    fn entries(count: usize) -> Vec<LogEntry> {
        (0..count).map(|number| entry(format!("line {number}"))).collect()
    }

    #[tokio::test]
    async fn logs_are_read_in_pages_by_their_owner_only() {
        let folder = tempfile::tempdir().unwrap();
        let store = LogStore::new(folder.path());
        let (reference, _) = store.store("me", entries(7)).await.unwrap();
        let first = store.read("me", &reference, &page(None, Some(5))).await.unwrap();
        assert_eq!(first["entries"].as_array().unwrap().len(), 5);
        let cursor = first["nextCursor"].as_str();
        let second = store.read("me", &reference, &page(cursor, None)).await.unwrap();
        assert_eq!(second["entries"][0]["message"], "line 5");
        assert!(second.get("nextCursor").is_none());
        for (owner, reference) in [("you", reference.as_str()), ("me", "../../x"), ("me", "")] {
            let error = store.read(owner, reference, &page(None, None)).await.unwrap_err();
            assert_eq!(error.code, ErrorCode::ResourceNotFound);
        }
        let error = store.read("me", &reference, &page(Some("9"), None)).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::RequestInvalid);
    }

    #[tokio::test]
    async fn credentials_are_not_written_down() {
        let folder = tempfile::tempdir().unwrap();
        let store = LogStore::new(folder.path());
        let entries = vec![entry("sent Authorization: Bearer abc.def.ghi".to_owned())];
        let (reference, _) = store.store("me", entries).await.unwrap();
        let text = fs::read_to_string(store.path(&reference).unwrap()).unwrap();
        assert!(!text.contains("abc.def.ghi"), "{text}");
    }

    #[tokio::test]
    async fn what_has_expired_is_deleted() {
        let folder = tempfile::tempdir().unwrap();
        let store = LogStore::new(folder.path());
        let (old, _) = store.store("me", entries(1)).await.unwrap();
        let path = store.path(&old).unwrap();
        let file = File::options().write(true).open(&path).unwrap();
        file.set_modified(SystemTime::now() - LOG_LIFETIME).unwrap();
        store.store("me", entries(1)).await.unwrap();
        assert!(!path.exists());
    }
}
