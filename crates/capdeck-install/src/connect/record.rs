//! What was written into an agent's file, kept to take it back byte for byte.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{ClientEntryTarget, ConnectError};
use crate::{
    atomic_file::{FolderLock, WriteError, replace_private_file, sha256_hex},
    edit::TextSplice,
};

/// One entry that was written. An entry of another program that it replaced may hold secrets, so only the person may read it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ClientEntryRecord {
    pub(super) client: String,
    pub(super) scope: String,
    pub(super) file: PathBuf,
    pub(super) name: String,
    /// The entry as it was written.
    pub(super) entry: Value,
    /// The entries it replaced, by name.
    pub(super) former: Map<String, Value>,
    /// How many of the maps around the entry were made for it.
    pub(super) made_maps: usize,
    /// Whether there was no file before.
    pub(super) made_file: bool,
    /// Folders that were made for the file, the deepest first.
    pub(super) made_folders: Vec<PathBuf>,
    pub(super) start: usize,
    pub(super) removed: String,
    pub(super) inserted: String,
    pub(super) before: String,
    pub(super) after: String,
}

impl ClientEntryRecord {
    pub(super) fn new(
        target: &ClientEntryTarget,
        before: Option<&str>,
        after: &str,
        entry: &Value,
        former: Map<String, Value>,
        made_maps: usize,
    ) -> Self {
        let TextSplice { start, removed, inserted } =
            TextSplice::between(before.unwrap_or_default(), after);
        Self {
            client: target.client.id.to_owned(),
            scope: target.scope.as_str().to_owned(),
            file: target.file.clone(),
            name: target.name.clone(),
            entry: entry.clone(),
            former,
            made_maps,
            made_file: before.is_none(),
            made_folders: if before.is_none() { missing_folders(&target.file) } else { Vec::new() },
            start,
            removed,
            inserted,
            before: sha256_hex(before.unwrap_or_default()),
            after: sha256_hex(after),
        }
    }

    pub(super) fn splice(&self) -> TextSplice {
        TextSplice {
            start: self.start,
            removed: self.removed.clone(),
            inserted: self.inserted.clone(),
        }
    }
}

/// The folder of records, one file per entry.
#[derive(Debug, Clone)]
pub struct ClientEntryRecords {
    folder: PathBuf,
}

/// Held from before the first plan to behind the last write, so that of two commands the second finds what the first wrote.
#[derive(Debug)]
pub struct ClientRecordsLock(#[expect(dead_code, reason = "held for its lock")] FolderLock);

impl ClientEntryRecords {
    /// The records below the state folder.
    pub fn new(state_dir: &Path) -> Self {
        Self { folder: state_dir.join("connections") }
    }

    /// Waits until no other command changes agents' files.
    pub fn hold(&self) -> Result<ClientRecordsLock, ConnectError> {
        let path = self.folder.join("lock");
        match FolderLock::take(&path) {
            Ok(lock) => Ok(ClientRecordsLock(lock)),
            Err(source) => Err(WriteError { path, source }.into()),
        }
    }

    /// A record that cannot be read is as good as none: the entry is then found by what it says.
    pub(super) fn load(
        &self,
        target: &ClientEntryTarget,
    ) -> Result<Option<ClientEntryRecord>, ConnectError> {
        let file = self.file(target);
        match fs::read(&file) {
            Ok(bytes) => Ok(serde_json::from_slice(&bytes).ok()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(ConnectError::Read { file, source }),
        }
    }

    pub(super) fn save(
        &self,
        target: &ClientEntryTarget,
        record: &ClientEntryRecord,
    ) -> Result<(), ConnectError> {
        let text = serde_json::to_vec_pretty(record).unwrap_or_default();
        Ok(replace_private_file(&self.file(target), &text)?)
    }

    pub(super) fn forget(&self, target: &ClientEntryTarget) -> Result<(), ConnectError> {
        let file = self.file(target);
        match fs::remove_file(&file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(source) => Err(ConnectError::Delete { file, source }),
            Ok(()) => Ok(()),
        }
    }

    fn file(&self, target: &ClientEntryTarget) -> PathBuf {
        let key = format!("{}\0{}", target.file.display(), target.name);
        let short: String = sha256_hex(&key).chars().take(16).collect();
        self.folder.join(format!("{}-{short}.json", target.client.id))
    }
}

/// The folders that writing a file would make, the deepest first.
fn missing_folders(file: &Path) -> Vec<PathBuf> {
    let folders = file.ancestors().skip(1).take_while(|folder| !folder.exists());
    folders.filter(|folder| !folder.as_os_str().is_empty()).map(Path::to_owned).collect()
}
