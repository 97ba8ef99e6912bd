//! Where a chain begins and ends, kept outside its log: `audit-head.json` beside the log's folder.
//!
//! Lines are written first, then the head. So a process that is killed in between leaves a head that is behind the log,
//! never ahead of it: a log that ends before its head was cut.

use std::{
    fs::{self, File},
    io::{self, Seek as _, Write as _},
    path::{Path, PathBuf},
};

use capdeck_storage::{private_options, read_if_exists};
use serde::{Deserialize, Serialize};

use crate::machine::boot_id;

/// The file is always this long, so that it is overwritten in one piece and never grows.
const RECORD_BYTES: usize = 512;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct HeadRecord {
    /// The number of the first line that was not pruned.
    pub(super) first: u64,
    /// The number of the last line; 0 when there is none yet.
    pub(super) seq: u64,
    /// The hash of the last line.
    pub(super) hash: String,
    /// The last line that the disk has for sure.
    pub(super) synced: u64,
    /// The run of the machine in which the last line was written: a machine that goes down may lose lines that were not
    /// synced.
    pub(super) boot: Option<String>,
}

#[derive(Debug)]
pub(super) struct HeadFile {
    path: PathBuf,
    file: Option<File>,
    pub(super) record: HeadRecord,
}

impl HeadRecord {
    /// Whether the machine went down since.
    pub(super) fn is_of_another_boot(&self) -> bool {
        self.boot.is_none() || self.boot != boot_id()
    }
}

pub(super) fn head_path(folder: &Path, prefix: &str) -> PathBuf {
    folder.parent().unwrap_or(folder).join(format!("{prefix}audit-head.json"))
}

/// What the head of a log says; `None` when there is none.
pub(super) fn read_head(folder: &Path, prefix: &str) -> io::Result<Option<HeadRecord>> {
    let text = read_if_exists(&head_path(folder, prefix))?;
    text.map(|text| serde_json::from_slice(&text)).transpose().map_err(io::Error::other)
}

impl HeadFile {
    pub(super) fn new(folder: &Path, prefix: &str, record: HeadRecord) -> Self {
        Self { path: head_path(folder, prefix), file: None, record }
    }

    /// Writes the record down. A head that cannot be written stays behind its log, which shows nothing wrong: the calls
    /// whose lines are in the log are not refused for it.
    pub(super) fn write(&mut self) {
        self.record.boot = boot_id();
        if let Err(error) = self.try_write() {
            self.file = None;
            tracing::warn!(%error, "the head of the audit could not be written");
        }
    }

    /// Waits until the disk has it.
    pub(super) fn sync(&self) -> io::Result<()> {
        self.file.as_ref().map_or(Ok(()), File::sync_data)
    }

    fn try_write(&mut self) -> io::Result<()> {
        let mut text = serde_json::to_vec(&self.record).map_err(io::Error::other)?;
        text.resize(RECORD_BYTES - 1, b' ');
        text.push(b'\n');
        let file = match self.file.take() {
            Some(file) => self.file.insert(file),
            None => {
                if fs::symlink_metadata(&self.path).is_ok_and(|known| !known.is_file()) {
                    return Err(io::Error::other("it is not an ordinary file"));
                }
                let mut options = private_options();
                options.write(true).create(true).truncate(false);
                self.file.insert(options.open(&self.path)?)
            }
        };
        file.rewind()?;
        file.write_all(&text)
    }
}
