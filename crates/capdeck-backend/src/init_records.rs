//! Which tools of which projects were prepared by their `init`, on disk.

use std::{collections::HashMap, fs, io, path::PathBuf, sync::Arc};

use capdeck_catalog::sha256_hex;
use parking_lot::Mutex;
use serde_json::json;

/// One small file per prepared tool. A changed `init` is another one and runs again.
#[derive(Debug)]
pub(crate) struct InitRecords {
    folder: PathBuf,
    /// One preparation at a time for each tool.
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

    /// Waits until nobody else in this process prepares the same tool.
    pub(crate) async fn take_turn(&self, key: &InitKey) -> tokio::sync::OwnedMutexGuard<()> {
        let turn = Arc::clone(self.turns.lock().entry(key.name()).or_default());
        turn.lock_owned().await
    }

    pub(crate) fn is_done(&self, key: &InitKey) -> bool {
        self.file(key).is_file()
    }

    /// Remembers that the tool is prepared.
    pub(crate) fn note(&self, key: &InitKey) -> io::Result<()> {
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
        sha256_hex(&json!([project, tool, command]).to_string())
    }
}
