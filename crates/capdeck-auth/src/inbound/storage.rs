//! The folder of a registry: one file for each collection, changed together or not at all.
//!
//! A change of one file replaces it. A change of several is first written whole into `change.json`; a process that ends in
//! between leaves that file behind, and the next one finishes it. So a grant is never there without its decision.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::{OpenRegistryError, RegistryError, state::State};
use crate::private_file::{self, Held};

/// The form of the files. A file of a later form may hold restrictions that this version does not know, and leaving one out
/// would open what it closes; so later forms and unknown fields are refused, never skipped.
/// Form 2 names capsules by keys.
const FORM: u64 = 2;

const LOCK: &str = "lock";
const CHANGE: &str = "change.json";
const SERVING: &str = "serving";
/// What the names of files that are being written start with.
const TEMPORARY: &str = ".tmp";

/// A registry's folder.
#[derive(Debug)]
pub(super) struct Storage {
    folder: PathBuf,
    held: Option<Held>,
    /// Whether `change.json` is there.
    has_change: bool,
    /// What `change.json` holds and is not in its place yet.
    unplaced: Texts,
    /// Where this process serves, once it said so.
    place: Option<String>,
}

/// New texts of files, by name.
pub(super) type Texts = BTreeMap<&'static str, String>;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Kept<T> {
    form: u64,
    items: T,
}

#[derive(Deserialize)]
struct Form {
    form: u64,
}

/// A change of several files.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Change<N: Ord> {
    form: u64,
    files: BTreeMap<N, String>,
}

impl Storage {
    /// The folder, taken if it is there. One that is not there is made and taken with the first change.
    pub(super) fn open(folder: PathBuf) -> Result<Self, OpenRegistryError> {
        let mut storage =
            Self { folder, held: None, has_change: false, unplaced: Texts::new(), place: None };
        if storage.is_there() {
            storage.take()?;
        }
        Ok(storage)
    }

    /// Whether this process has the folder.
    pub(super) fn is_held(&self) -> bool {
        self.held.is_some()
    }

    /// Whether there is a folder at all.
    pub(super) fn is_there(&self) -> bool {
        self.folder.is_dir()
    }

    /// Takes the folder, and finishes what an earlier process began.
    pub(super) fn take(&mut self) -> Result<(), OpenRegistryError> {
        let lock = self.folder.join(LOCK);
        let held = private_file::try_hold(&lock).map_err(|error| disk(&lock, &error))?;
        let Some(held) = held else {
            let at = fs::read_to_string(self.folder.join(SERVING)).ok();
            let at = at.map(|text| text.chars().filter(|c| !c.is_control()).take(200).collect());
            return Err(OpenRegistryError::InUse { folder: shown(&self.folder), at });
        };
        self.write_place().map_err(|error| disk(&self.folder, &error))?;
        self.finish_change()?;
        self.held = Some(held);
        Ok(())
    }

    /// Takes a folder that was not there before. One that somebody else filled in the meantime is not taken.
    pub(super) fn take_new(&mut self) -> Result<(), OpenRegistryError> {
        self.take()?;
        if State::FILES.iter().any(|name| self.folder.join(name).exists()) {
            self.held = None;
            return Err(OpenRegistryError::InUse { folder: shown(&self.folder), at: None });
        }
        Ok(())
    }

    /// The content of a file, or what stands for a missing one.
    pub(super) fn load<T: DeserializeOwned + Default>(
        &self,
        name: &'static str,
    ) -> Result<T, OpenRegistryError> {
        let path = self.folder.join(name);
        let bytes = private_file::read(&path).map_err(|error| disk(&path, &error))?;
        let Some(bytes) = bytes else { return Ok(T::default()) };
        Ok(parse::<Kept<T>>(&path, &bytes)?.items)
    }

    /// What is wrong with a file.
    pub(super) fn broken(&self, name: &'static str, reason: String) -> OpenRegistryError {
        OpenRegistryError::Broken { path: shown(&self.folder.join(name)), reason }
    }

    /// The text of a file with this content.
    pub(super) fn text(items: &impl Serialize) -> Result<String, RegistryError> {
        let failed = |error: serde_json::Error| RegistryError::Disk {
            path: "a file".to_owned(),
            reason: error.to_string(),
        };
        let mut text = serde_json::to_string_pretty(&Kept { form: FORM, items }).map_err(failed)?;
        text.push('\n');
        Ok(text)
    }

    /// Replaces files, all or none. Once this succeeded the change stays, whatever happens to the process.
    pub(super) fn write(&mut self, texts: Texts) -> Result<(), RegistryError> {
        if let [(name, text)] = &Vec::from_iter(&texts)[..]
            && !self.has_change
        {
            let path = self.folder.join(name);
            return private_file::write(&path, text.as_bytes()).map_err(failed(&path));
        }
        // What an earlier change could not put in its place goes along with this one.
        let mut files = self.unplaced.clone();
        files.extend(texts);
        let path = self.folder.join(CHANGE);
        let change = serde_json::to_vec(&Change { form: FORM, files: files.clone() })
            .map_err(|error| failed(&path)(error.into()))?;
        private_file::write(&path, &change).map_err(failed(&path))?;
        self.has_change = true;
        files.retain(|name, text| {
            let file = self.folder.join(name);
            let placed = private_file::write(&file, text.as_bytes());
            if let Err(error) = &placed {
                tracing::error!(%error, file = %file.display(), "a file of the registry is put in its place with the next change");
            }
            placed.is_err()
        });
        self.unplaced = files;
        if self.unplaced.is_empty() && private_file::remove(&path).is_ok() {
            self.has_change = false;
        }
        Ok(())
    }

    /// Says where this process serves, for those that find the folder in use.
    pub(super) fn announce(&mut self, place: String) -> Result<(), RegistryError> {
        self.place = Some(place);
        let path = self.folder.join(SERVING);
        if self.is_held() { self.write_place().map_err(failed(&path)) } else { Ok(()) }
    }

    /// Writes the place of this process over that of an earlier one.
    fn write_place(&self) -> io::Result<()> {
        let path = self.folder.join(SERVING);
        match &self.place {
            Some(place) => private_file::write(&path, place.as_bytes()),
            None => private_file::remove(&path).map(drop),
        }
    }

    /// Puts files in their places that an earlier process had no time for, and removes what it had begun to write.
    fn finish_change(&self) -> Result<(), OpenRegistryError> {
        let failed = |error| disk(&self.folder, &error);
        for entry in fs::read_dir(&self.folder).map_err(failed)?.flatten() {
            if entry.file_name().to_string_lossy().starts_with(TEMPORARY) {
                private_file::remove(&entry.path()).map_err(failed)?;
            }
        }
        let path = self.folder.join(CHANGE);
        let Some(bytes) = private_file::read(&path).map_err(failed)? else { return Ok(()) };
        let change: Change<String> = parse(&path, &bytes)?;
        if let Some(name) = change.files.keys().find(|name| !State::FILES.contains(&name.as_str()))
        {
            let reason =
                format!("it is about `{}`, which is no file of a registry", name.escape_debug());
            return Err(OpenRegistryError::Broken { path: shown(&path), reason });
        }
        for (name, text) in &change.files {
            private_file::write(&self.folder.join(name), text.as_bytes()).map_err(failed)?;
        }
        private_file::remove(&path).map_err(failed).map(drop)
    }
}

fn parse<T: DeserializeOwned>(path: &Path, bytes: &[u8]) -> Result<T, OpenRegistryError> {
    // The parser's words are about the form of the file; values are quoted by none of the types in it but names.
    let broken = |error: serde_json::Error| OpenRegistryError::Broken {
        path: shown(path),
        reason: error.to_string(),
    };
    let Form { form } = serde_json::from_slice(bytes).map_err(broken)?;
    if form > FORM {
        return Err(OpenRegistryError::TooNew { path: shown(path), found: form, known: FORM });
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
