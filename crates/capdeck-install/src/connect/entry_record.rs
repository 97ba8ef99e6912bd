//! The entry that is meant, a client's file and a name in it, and what was written there, kept to take it back byte for
//! byte.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use capdeck_storage::{FileLock, remove_if_exists, sha256_hex};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::ConnectError;
use crate::{
    atomic_file::{WriteError, replace_private_file},
    client::{AgentClient, ClientFolders, ClientScope},
    edit::{ConfigDocument, DocumentStep, EditError, TextSplice},
};

/// One entry that was written. An entry of another program that it replaced may hold secrets, so only the person may read it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ClientEntryRecord {
    pub(super) client: String,
    pub(super) scope: String,
    pub(super) file: PathBuf,
    pub(super) name: String,
    pub(super) entry: Value,
    /// The entries it replaced, by name.
    pub(super) former: Map<String, Value>,
    /// How many of the maps around the entry were made for it.
    pub(super) made_maps: usize,
    pub(super) made_file: bool,
    /// Folders that were made for the file, the deepest first.
    pub(super) made_folders: Vec<PathBuf>,
    #[serde(flatten)]
    pub(super) splice: TextSplice,
    pub(super) before: String,
    pub(super) after: String,
}

impl ClientEntryRecord {
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec_pretty(self).unwrap_or_default()
    }
}

/// The folder of records, one file per entry.
#[derive(Debug, Clone)]
pub struct ClientEntryRecords {
    folder: PathBuf,
}

impl ClientEntryRecords {
    /// The records below the state folder.
    pub fn new(state_dir: &Path) -> Self {
        Self { folder: state_dir.join("connections") }
    }

    /// Waits until no other command changes agents' files. Held from before the first plan to behind the last write, so
    /// that of two commands the second finds what the first wrote.
    pub fn hold(&self) -> Result<FileLock, ConnectError> {
        let path = self.folder.join("lock");
        FileLock::wait(&path).map_err(|source| WriteError { path, source }.into())
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

    /// Every entry that was written, in whichever project. Those whose agent is no longer known are passed over.
    pub fn targets(&self) -> Result<Vec<ClientEntryTarget>, ConnectError> {
        let failed = |source| ConnectError::Read { file: self.folder.clone(), source };
        let mut targets = Vec::new();
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(targets),
            Err(source) => return Err(failed(source)),
        };
        for entry in entries {
            let path = entry.map_err(failed)?.path();
            let record = fs::read(&path).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
            targets.extend(record.and_then(|record| ClientEntryTarget::of_record(&record)));
        }
        targets.sort_by(|one, other| (&one.file, &one.name).cmp(&(&other.file, &other.name)));
        Ok(targets)
    }

    pub(super) fn save(
        &self,
        target: &ClientEntryTarget,
        record: &ClientEntryRecord,
    ) -> Result<(), ConnectError> {
        Ok(replace_private_file(&self.file(target), &record.to_bytes())?)
    }

    pub(super) fn forget(&self, target: &ClientEntryTarget) -> Result<(), ConnectError> {
        let file = self.file(target);
        remove_if_exists(&file).map(drop).map_err(|source| ConnectError::Delete { file, source })
    }

    pub(super) fn file(&self, target: &ClientEntryTarget) -> PathBuf {
        let key = format!("{}\0{}", target.file.display(), target.name);
        let short: String = sha256_hex(&key).chars().take(16).collect();
        self.folder.join(format!("{}-{short}.json", target.client.id))
    }
}

/// The folders that writing a file would make, the deepest first.
pub(super) fn missing_folders(file: &Path) -> Vec<PathBuf> {
    let folders = file.ancestors().skip(1).take_while(|folder| !folder.exists());
    folders.filter(|folder| !folder.as_os_str().is_empty()).map(Path::to_owned).collect()
}

/// One entry of one file.
#[derive(Debug, Clone)]
pub struct ClientEntryTarget {
    pub client: &'static AgentClient,
    pub scope: ClientScope,
    pub file: PathBuf,
    pub name: String,
    /// The folder that the file must not lead out of.
    fence: Option<PathBuf>,
}

/// The file as it is now. No text when there is no file.
#[derive(Debug, Clone)]
pub(super) struct FoundEntry {
    pub(super) text: Option<String>,
    pub(super) document: ConfigDocument,
}

/// More than any configuration has.
const MAX_CONFIG_BYTES: u64 = 32 << 20;

impl ClientEntryTarget {
    /// The entry `name` in the client's file of this scope.
    pub fn new(
        client: &'static AgentClient,
        scope: ClientScope,
        name: &str,
        folders: &ClientFolders,
    ) -> Result<Self, ConnectError> {
        if !client.scopes().contains(&scope) {
            return Err(ConnectError::NoSuchScope { client: client.id, scope: scope.as_str() });
        }
        let file =
            client.file(scope, folders).ok_or(ConnectError::NoProject { client: client.id })?;
        let fence = folders.project.clone().filter(|_| scope == ClientScope::Project);
        Ok(Self { client, scope, file, name: name.to_owned(), fence })
    }

    fn of_record(record: &ClientEntryRecord) -> Option<Self> {
        let client = AgentClient::find(&record.client)?;
        let scopes = [ClientScope::User, ClientScope::Project];
        let scope = scopes.into_iter().find(|scope| scope.as_str() == record.scope)?;
        let (file, name) = (record.file.clone(), record.name.clone());
        let fence = client.project_of(scope, &file);
        Some(Self { client, scope, file, name, fence })
    }

    /// The keys that lead to the entry in this document.
    pub(super) fn path_in(&self, document: &ConfigDocument) -> Vec<DocumentStep> {
        self.beside(&self.name, document)
    }

    /// The keys that lead to another entry of the same file.
    pub(super) fn beside(&self, name: &str, document: &ConfigDocument) -> Vec<DocumentStep> {
        self.client.server_path(document, name)
    }

    /// The file as it is now.
    pub fn document(&self) -> Result<ConfigDocument, ConnectError> {
        self.read().map(|found| found.document)
    }

    pub(super) fn read(&self) -> Result<FoundEntry, ConnectError> {
        self.check_place()?;
        let text = read_text(&self.file)?;
        let document = self.parse(text.as_deref().unwrap_or_default())?;
        Ok(FoundEntry { text, document })
    }

    pub(super) fn parse(&self, text: &str) -> Result<ConfigDocument, ConnectError> {
        ConfigDocument::parse(text, self.client.format)
            .map_err(|source| ConnectError::Unreadable { file: self.file.clone(), source })
    }

    pub(super) fn cannot_edit(&self, source: EditError) -> ConnectError {
        ConnectError::Uneditable { file: self.file.clone(), source }
    }

    /// A project's files are other people's: a link in one must not make us write somewhere else.
    pub(super) fn check_place(&self) -> Result<(), ConnectError> {
        let Some(fence) = &self.fence else { return Ok(()) };
        let outside = || ConnectError::LeadsOutside { file: self.file.clone() };
        let real = |path: &Path| fs::canonicalize(path).map_err(|_| outside());
        let fence = real(fence)?;
        // A link that leads nowhere yet would be followed when the file is read later.
        let is_link = |path: &&Path| fs::symlink_metadata(path).is_ok();
        let deepest = self.file.ancestors().find(is_link).ok_or_else(outside)?;
        if real(deepest)?.starts_with(&fence) { Ok(()) } else { Err(outside()) }
    }
}

/// The text of a file, or none when there is no file.
pub(super) fn read_text(file: &Path) -> Result<Option<String>, ConnectError> {
    let failed = |source| ConnectError::Read { file: file.to_owned(), source };
    match fs::metadata(file) {
        Ok(facts) if facts.is_dir() => {
            return Err(ConnectError::IsFolder { file: file.to_owned() });
        }
        Ok(facts) if facts.len() > MAX_CONFIG_BYTES => {
            return Err(failed(io::Error::other("it is too large for a configuration file")));
        }
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            // Something that leads nowhere is there all the same.
            return match fs::symlink_metadata(file) {
                Ok(_) => Err(failed(io::Error::other("it is a link that leads nowhere"))),
                Err(_) => Ok(None),
            };
        }
        Err(error) => return Err(failed(error)),
    }
    let bytes = fs::read(file).map_err(failed)?;
    let text =
        String::from_utf8(bytes).map_err(|_| ConnectError::NotText { file: file.to_owned() })?;
    Ok(Some(text))
}
