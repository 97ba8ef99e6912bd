//! Which tools of which projects were prepared by their `init`, on disk.

use std::{collections::HashMap, io, path::PathBuf, sync::Arc, time::Duration};

use capdeck_storage::{FileLock, replace_file_unsynced, sha256_hex};
use parking_lot::Mutex;
use serde_json::json;
use tokio::sync::OwnedMutexGuard;

const LOCK_POLL_INTERVAL: Duration = Duration::from_millis(20);

/// One small file per prepared tool. A changed `init` is another one and runs again.
#[derive(Debug)]
pub(crate) struct InitRecords {
    folder: PathBuf,
    /// One preparation at a time for each tool in this process; a lock file holds the others back.
    turns: Mutex<HashMap<String, Arc<tokio::sync::Mutex<()>>>>,
}

/// What was prepared: the project, the tool and the command, so that a change of either counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct InitKey {
    pub(crate) project: PathBuf,
    pub(crate) tool: String,
    pub(crate) command: String,
}

impl InitRecords {
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self { folder, turns: Mutex::default() }
    }

    /// Waits while another call prepares the same tool, in this process or another one.
    /// The right to prepare it lasts until both locks are dropped or the process ends.
    pub(crate) async fn lock(&self, key: &InitKey) -> io::Result<(OwnedMutexGuard<()>, FileLock)> {
        let turn = Arc::clone(self.turns.lock().entry(key.name()).or_default());
        let in_process = turn.lock_owned().await;
        let path = self.folder.join(format!("{}.lock", key.name()));
        loop {
            if let Some(across_processes) = FileLock::try_take(&path)? {
                return Ok((in_process, across_processes));
            }
            // A blocking wait could not be given up when the caller cancels.
            tokio::time::sleep(LOCK_POLL_INTERVAL).await;
        }
    }

    pub(crate) fn is_done(&self, key: &InitKey) -> bool {
        self.file(key).is_file()
    }

    pub(crate) fn mark_done(&self, key: &InitKey) -> io::Result<()> {
        let text = json!({ "project": key.project, "tool": key.tool }).to_string();
        replace_file_unsynced(&self.file(key), text.as_bytes())
    }

    fn file(&self, key: &InitKey) -> PathBuf {
        self.folder.join(format!("{}.json", key.name()))
    }
}

impl InitKey {
    fn name(&self) -> String {
        let InitKey { project, tool, command } = self;
        sha256_hex(json!([project, tool, command]).to_string())
    }
}
