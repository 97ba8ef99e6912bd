//! The folder of a registry: one file for each collection, changed together or not at all.
//!
//! A change of one file replaces it. A change of several is first written whole into `change.json`; a process that ends in
//! between leaves that file behind, and the next one finishes it. So a grant is never there without its decision.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use capdeck_storage::{
    FileLock, FileReaders, TEMPORARY_PREFIX, read_if_exists, remove_if_exists, replace_file,
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::records::each_collection;
use super::{
    OpenRegistryError, RecordCollection, RegistryError, RegistryRecord, RegistryRecords,
    RegistryResult, RegistryStore,
};

/// The form of the files. A file of a later form may hold restrictions that this version does not know, and leaving one out
/// would open what it closes; so later forms and unknown fields are refused, never skipped.
/// Form 2 names capsules by keys.
const FORMAT_VERSION: u64 = 2;

const LOCK_FILE: &str = "lock";
const CHANGE_FILE: &str = "change.json";
const SERVING_FILE: &str = "serving";

/// A registry's folder. A lock keeps other processes out.
#[derive(Debug)]
pub(super) struct RegistryFileStore {
    folder: PathBuf,
    lock: Option<FileLock>,
    /// Whether `change.json` is there.
    has_change: bool,
    /// What `change.json` holds and is not in its place yet.
    pending_files: FileTexts,
    /// Where this process serves, once it said so.
    place: Option<String>,
}

type FileTexts = BTreeMap<&'static str, String>;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CollectionFile<T> {
    form: u64,
    items: T,
}

#[derive(Deserialize)]
struct FormatVersion {
    form: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PendingChange<N: Ord> {
    form: u64,
    files: BTreeMap<N, String>,
}

/// The file of a collection.
macro_rules! file_of {
    ($field:ident) => {
        concat!(stringify!($field), ".json")
    };
}

macro_rules! file_names {
    ($($field:ident: $record:ty[$id:ident] = $name:literal),*) => {
        [$(file_of!($field),)* file_of!(policy)]
    };
}
const FILES: [&str; 11] = each_collection!(file_names);

impl RegistryStore for RegistryFileStore {
    fn refresh(&mut self) -> Result<Option<RegistryRecords>, OpenRegistryError> {
        if self.lock.is_some() || !self.folder.is_dir() {
            return Ok(None);
        }
        self.lock_folder()?;
        self.load().map(Some)
    }

    fn commit(&mut self, before: &RegistryRecords, after: &RegistryRecords) -> RegistryResult<()> {
        let texts = changed_texts(before, after)?;
        if self.lock.is_none() {
            self.lock_new_folder()?;
        }
        self.write(texts)
    }

    fn save_last_used(&mut self, records: &RegistryRecords) -> RegistryResult<()> {
        if self.lock.is_none() {
            return Ok(());
        }
        let without = RegistryRecords {
            credentials: RecordCollection::default(),
            operators: RecordCollection::default(),
            sessions: RecordCollection::default(),
            ..records.clone()
        };
        self.write(changed_texts(&without, records)?)
    }

    fn announce(&mut self, place: String) -> RegistryResult<()> {
        self.place = Some(place);
        let path = self.folder.join(SERVING_FILE);
        if self.lock.is_some() { self.write_place().map_err(failed(&path)) } else { Ok(()) }
    }
}

impl RegistryFileStore {
    pub(super) fn new(folder: PathBuf) -> Self {
        let pending_files = FileTexts::new();
        Self { folder, lock: None, has_change: false, pending_files, place: None }
    }

    /// Takes the folder, and finishes what an earlier process began.
    fn lock_folder(&mut self) -> Result<(), OpenRegistryError> {
        let lock = self.folder.join(LOCK_FILE);
        let held = FileLock::try_take(&lock).map_err(|error| disk(&lock, &error))?;
        let Some(held) = held else {
            let at = fs::read_to_string(self.folder.join(SERVING_FILE)).ok();
            let at = at.map(|text| text.chars().filter(|c| !c.is_control()).take(200).collect());
            return Err(OpenRegistryError::InUse { folder: shown(&self.folder), at });
        };
        self.write_place().map_err(|error| disk(&self.folder, &error))?;
        self.finish_change()?;
        self.lock = Some(held);
        Ok(())
    }

    /// Takes a folder that was not there before. One that another process filled in the meantime is not taken.
    fn lock_new_folder(&mut self) -> Result<(), OpenRegistryError> {
        self.lock_folder()?;
        if FILES.iter().any(|name| self.folder.join(name).exists()) {
            self.lock = None;
            return Err(OpenRegistryError::InUse { folder: shown(&self.folder), at: None });
        }
        Ok(())
    }

    fn load(&self) -> Result<RegistryRecords, OpenRegistryError> {
        macro_rules! load {
            ($($field:ident: $record:ty[$id:ident] = $name:literal),*) => {
                RegistryRecords {
                    $($field: self.load_collection(file_of!($field))?,)*
                    policy: self.load_file(file_of!(policy))?,
                }
            };
        }
        Ok(each_collection!(load))
    }

    fn load_collection<T: RegistryRecord>(
        &self,
        name: &str,
    ) -> Result<RecordCollection<T>, OpenRegistryError> {
        RecordCollection::new(self.load_file(name)?).map_err(|id| OpenRegistryError::Broken {
            path: shown(&self.folder.join(name)),
            reason: format!("`{id}` is in it twice"),
        })
    }

    /// The content of a file, or the value for a missing one.
    fn load_file<T: DeserializeOwned + Default>(&self, name: &str) -> Result<T, OpenRegistryError> {
        let path = self.folder.join(name);
        let bytes = read_if_exists(&path).map_err(|error| disk(&path, &error))?;
        let Some(bytes) = bytes else { return Ok(T::default()) };
        Ok(parse::<CollectionFile<T>>(&path, &bytes)?.items)
    }

    /// Replaces files, all or none. Once this succeeded the change stays, even after a crash.
    fn write(&mut self, texts: FileTexts) -> RegistryResult<()> {
        if let [(name, text)] = &Vec::from_iter(&texts)[..]
            && !self.has_change
        {
            let path = self.folder.join(name);
            return replace_file(&path, text.as_bytes(), FileReaders::Owner).map_err(failed(&path));
        }
        // What an earlier change could not put in its place goes along with this one.
        let mut files = self.pending_files.clone();
        files.extend(texts);
        let path = self.folder.join(CHANGE_FILE);
        let change =
            serde_json::to_vec(&PendingChange { form: FORMAT_VERSION, files: files.clone() })
                .map_err(|error| failed(&path)(error.into()))?;
        replace_file(&path, &change, FileReaders::Owner).map_err(failed(&path))?;
        self.has_change = true;
        files.retain(|name, text| {
            let file = self.folder.join(name);
            let placed = replace_file(&file, text.as_bytes(), FileReaders::Owner);
            if let Err(error) = &placed {
                tracing::error!(%error, file = %file.display(), "a file of the registry is put in its place with the next change");
            }
            placed.is_err()
        });
        self.pending_files = files;
        if self.pending_files.is_empty() && remove_if_exists(&path).is_ok() {
            self.has_change = false;
        }
        Ok(())
    }

    /// Writes the place of this process over that of an earlier one.
    fn write_place(&self) -> io::Result<()> {
        let path = self.folder.join(SERVING_FILE);
        match &self.place {
            Some(place) => replace_file(&path, place.as_bytes(), FileReaders::Owner),
            None => remove_if_exists(&path).map(drop),
        }
    }

    /// Puts files in their places that an earlier process had no time for, and removes what it had begun to write.
    fn finish_change(&self) -> Result<(), OpenRegistryError> {
        let failed = |error| disk(&self.folder, &error);
        for entry in fs::read_dir(&self.folder).map_err(failed)?.flatten() {
            if entry.file_name().to_string_lossy().starts_with(TEMPORARY_PREFIX) {
                remove_if_exists(&entry.path()).map_err(failed)?;
            }
        }
        let path = self.folder.join(CHANGE_FILE);
        let Some(bytes) = read_if_exists(&path).map_err(failed)? else { return Ok(()) };
        let change: PendingChange<String> = parse(&path, &bytes)?;
        if let Some(name) = change.files.keys().find(|name| !FILES.contains(&name.as_str())) {
            let reason =
                format!("it is about `{}`, which is no file of a registry", name.escape_debug());
            return Err(OpenRegistryError::Broken { path: shown(&path), reason });
        }
        for (name, text) in &change.files {
            replace_file(&self.folder.join(name), text.as_bytes(), FileReaders::Owner)
                .map_err(failed)?;
        }
        remove_if_exists(&path).map_err(failed).map(drop)
    }
}

fn changed_texts(before: &RegistryRecords, after: &RegistryRecords) -> RegistryResult<FileTexts> {
    let mut texts = FileTexts::new();
    macro_rules! texts {
        ($($field:ident: $record:ty[$id:ident] = $name:literal),*) => {
            $(if !after.$field.is_same(&before.$field) {
                let records: Vec<_> = after.$field.values().collect();
                texts.insert(file_of!($field), text(&records)?);
            })*
        };
    }
    each_collection!(texts);
    if after.policy != before.policy {
        texts.insert(file_of!(policy), text(&*after.policy)?);
    }
    Ok(texts)
}

fn text(items: &impl Serialize) -> RegistryResult<String> {
    let failed = |error: serde_json::Error| RegistryError::Disk {
        path: "a file".to_owned(),
        reason: error.to_string(),
    };
    let mut text = serde_json::to_string_pretty(&CollectionFile { form: FORMAT_VERSION, items })
        .map_err(failed)?;
    text.push('\n');
    Ok(text)
}

fn parse<T: DeserializeOwned>(path: &Path, bytes: &[u8]) -> Result<T, OpenRegistryError> {
    // The parser's words are about the form of the file; values are quoted by none of the types in it but names.
    let broken = |error: serde_json::Error| OpenRegistryError::Broken {
        path: shown(path),
        reason: error.to_string(),
    };
    let FormatVersion { form } = serde_json::from_slice(bytes).map_err(broken)?;
    if form > FORMAT_VERSION {
        return Err(OpenRegistryError::TooNew {
            path: shown(path),
            found: form,
            known: FORMAT_VERSION,
        });
    }
    serde_json::from_slice(bytes).map_err(broken)
}

fn disk(path: &Path, error: &io::Error) -> OpenRegistryError {
    OpenRegistryError::Disk { path: shown(path), reason: error.to_string() }
}

fn failed(path: &Path) -> impl Fn(io::Error) -> RegistryError {
    move |error| match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            RegistryError::DiskFull { path: shown(path) }
        }
        _ => RegistryError::Disk { path: shown(path), reason: error.to_string() },
    }
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}
