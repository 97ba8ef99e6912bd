//! Which tools of which projects were prepared by their `init`, on disk.

use std::{
    collections::HashMap,
    fs::{self, File, TryLockError},
    io,
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use capdeck_catalog::sha256_hex;
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
    pub(crate) async fn lock(&self, key: &InitKey) -> io::Result<(OwnedMutexGuard<()>, File)> {
        let turn = Arc::clone(self.turns.lock().entry(key.name()).or_default());
        let in_process = turn.lock_owned().await;
        fs::create_dir_all(&self.folder)?;
        let path = self.folder.join(format!("{}.lock", key.name()));
        let file = File::options().create(true).truncate(false).write(true).open(path)?;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok((in_process, file)),
                // A blocking wait could not be given up when the caller cancels.
                Err(TryLockError::WouldBlock) => tokio::time::sleep(LOCK_POLL_INTERVAL).await,
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
    }

    pub(crate) fn is_done(&self, key: &InitKey) -> bool {
        self.file(key).is_file()
    }

    pub(crate) fn mark_done(&self, key: &InitKey) -> io::Result<()> {
        fs::create_dir_all(&self.folder)?;
        let text = json!({ "project": key.project, "tool": key.tool }).to_string();
        // A name of its own first, so that a file that is there is whole.
        let unfinished = self.folder.join(format!("{}.{}.new", key.name(), std::process::id()));
        fs::write(&unfinished, text)?;
        fs::rename(&unfinished, self.file(key))
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
