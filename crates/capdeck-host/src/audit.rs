//! One JSON line per call, denied ones too: who, what, how it ended, how long it took. No arguments, no results.

use std::{
    fs::{self, File, OpenOptions},
    io::Write,
    path::{Path, PathBuf},
    sync::mpsc,
    thread,
    time::Duration,
};

use jiff::Timestamp;
use serde::Serialize;

/// Appends to `audit/<day>.jsonl` from a thread of its own, so that no call waits for the disk.
#[derive(Debug)]
pub(crate) struct AuditLog {
    lines: Option<mpsc::SyncSender<String>>,
    writer: Option<thread::JoinHandle<()>>,
}

/// One call as the audit trail keeps it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AuditLine<'a> {
    pub(crate) at: Timestamp,
    /// The session the call came through.
    pub(crate) session: &'a str,
    /// What the client calls itself; not an identity.
    pub(crate) client: &'a str,
    pub(crate) capability: &'a str,
    pub(crate) tool: &'a str,
    /// `ok`, `tool_error`, or the error code of a call that gave no result.
    pub(crate) outcome: &'a str,
    pub(crate) elapsed_ms: u64,
}

impl AuditLog {
    /// Starts the writer. It ends, with everything written, when the log is dropped.
    pub(crate) fn open(state_dir: &Path) -> Self {
        let (lines, incoming) = mpsc::sync_channel(4096);
        let folder = state_dir.join("audit");
        let writer = thread::spawn(move || write_lines(&folder, &incoming));
        Self { lines: Some(lines), writer: Some(writer) }
    }

    pub(crate) fn record(&self, line: &AuditLine<'_>) {
        let Ok(text) = serde_json::to_string(line) else { return };
        if self.lines.as_ref().is_none_or(|lines| lines.send(text).is_err()) {
            tracing::error!("the audit trail cannot be written any more");
        }
    }
}

impl Drop for AuditLog {
    /// Waits for the last lines to be on disk: a one-shot command exits right after its call.
    fn drop(&mut self) {
        drop(self.lines.take());
        if let Some(writer) = self.writer.take() {
            drop(writer.join());
        }
    }
}

fn write_lines(folder: &Path, incoming: &mpsc::Receiver<String>) {
    let mut open: Option<(PathBuf, File)> = None;
    while let Ok(first) = incoming.recv() {
        let path = folder.join(format!("{}.jsonl", Timestamp::now().strftime("%Y-%m-%d")));
        if open.as_ref().is_none_or(|(current, _)| *current != path) {
            open = open_for_append(&path).map(|file| (path, file));
        }
        let Some((path, file)) = &mut open else { continue };
        let mut text = first;
        text.push('\n');
        while let Ok(more) = incoming.recv_timeout(Duration::ZERO) {
            text.push_str(&more);
            text.push('\n');
        }
        if let Err(error) = file.write_all(text.as_bytes()) {
            tracing::error!(path = %path.display(), %error, "the audit trail could not be written");
            open = None;
        }
    }
}

fn open_for_append(path: &Path) -> Option<File> {
    let outcome = path
        .parent()
        .map_or(Ok(()), fs::create_dir_all)
        .and_then(|()| OpenOptions::new().create(true).append(true).open(path));
    outcome
        .inspect_err(|error| {
            tracing::error!(path = %path.display(), %error, "the audit trail could not be opened");
        })
        .ok()
}
