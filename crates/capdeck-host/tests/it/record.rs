//! What a fake server wrote down, and whether processes are still there.

use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::deck::TEST_TIMEOUT;

/// The file a fake server writes every message to that it receives, and every start.
pub(crate) struct Record(PathBuf);

impl Record {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self(path)
    }

    pub(crate) fn path(&self) -> Option<PathBuf> {
        Some(self.0.clone())
    }

    pub(crate) fn messages(&self) -> Vec<Value> {
        lines(&self.0)
    }

    /// The processes that were started, oldest first.
    pub(crate) fn starts(&self) -> Vec<u64> {
        self.messages().iter().filter_map(|message| message["started"].as_u64()).collect()
    }

    /// The params of every received message with this method.
    pub(crate) fn received(&self, method: &str) -> Vec<Value> {
        let of = |message: &Value| message["method"] == method;
        self.messages().into_iter().filter(of).map(|message| message["params"].clone()).collect()
    }

    /// How many times a tool was called.
    pub(crate) fn calls(&self) -> usize {
        self.received("tools/call").len()
    }
}

/// The JSON lines of a file; half a line that is being written does not count.
pub(crate) fn lines(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let whole = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
    whole.map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Waits for a fact.
pub(crate) async fn until<T>(what: &str, mut fact: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + TEST_TIMEOUT;
    loop {
        if let Some(found) = fact() {
            return found;
        }
        assert!(Instant::now() < deadline, "waited too long for: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

pub(crate) async fn until_gone(pid: u64) {
    until(&format!("the end of process {pid}"), || (!is_alive(pid)).then_some(())).await;
}

/// A zombie waiting for its parent counts as gone: it runs no more code.
pub(crate) fn is_alive(pid: u64) -> bool {
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else { return false };
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
}
