//! The record of all capsules: `boxes.json`.

use std::{
    io,
    path::{Path, PathBuf},
};

use capdeck_storage::read_if_exists;
use jiff::Timestamp;
use parking_lot::Mutex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{StoreError, StoreResult, file_store::StoreDisk, trust::is_line};

const MAX_NAME: usize = 100;
const MAX_DESCRIPTION: usize = 1_000;
const MAX_ID: usize = 40;

/// A capsule as the registry knows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CapsuleInfo {
    /// Made from the first name and never changed: it is part of addresses. A later capsule may have it again.
    pub id: String,
    /// Made with the capsule and never used again: everything that gives access names it. Empty only in a data folder of
    /// version 0.1 that is opened for reading.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub uid: String,
    pub name: String,
    #[serde(default)]
    pub description: String,
    #[serde(default)]
    pub visibility: CapsuleVisibility,
    pub created_at: Timestamp,
}

impl CapsuleInfo {
    /// What grants and other records name: the id and the uid together, since a later capsule may have the id again.
    pub fn key(&self) -> String {
        capdeck_access::capsule_key(&self.id, &self.uid)
    }

    pub fn has_key(&self, key: &str) -> bool {
        capdeck_access::is_capsule_key(key, &self.id, &self.uid)
    }
}

/// Who may learn that a capsule exists without a grant.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "Visibility")]
pub enum CapsuleVisibility {
    #[default]
    Private,
    /// Listed for the people of the registry.
    Team,
    /// Agents can find its name and description, too.
    Discoverable,
}

/// What to change about a capsule.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CapsuleUpdate {
    #[serde(default)]
    pub name: Option<String>,
    #[serde(default)]
    pub description: Option<String>,
    #[serde(default)]
    pub visibility: Option<CapsuleVisibility>,
}

/// Which names a new name must differ from.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NameScope {
    /// Those of all capsules, for callers that may know of every one.
    #[default]
    All,
    /// Those of the capsules with these ids, for callers that may know of no other. The id of a capsule that is made like
    /// this has a random part, so that neither a refusal nor the id reveals whether there is a capsule beside them.
    Among(Vec<String>),
}

impl NameScope {
    fn holds(&self, capsule: &CapsuleInfo) -> bool {
        match self {
            Self::All => true,
            Self::Among(ids) => ids.contains(&capsule.id),
        }
    }
}

/// A list of records in one file, rewritten whole.
#[derive(Debug)]
pub(crate) struct RecordFile<T> {
    path: PathBuf,
    records: Mutex<Vec<T>>,
}

impl<T: Clone + Serialize + DeserializeOwned> RecordFile<T> {
    pub(crate) fn load(path: &Path) -> StoreResult<Self> {
        let failed = || StoreError::io(format!("read `{}`", path.display()));
        let records = match read_if_exists(path).map_err(failed())? {
            Some(text) => {
                serde_json::from_slice(&text).map_err(io::Error::other).map_err(failed())?
            }
            None => Vec::new(),
        };
        Ok(Self { path: path.to_owned(), records: Mutex::new(records) })
    }

    pub(crate) fn all(&self) -> Vec<T> {
        self.records.lock().clone()
    }

    /// Changes the records and saves them; what fails changes nothing. Blocks.
    pub(crate) fn change<R>(
        &self,
        disk: &StoreDisk,
        change: impl FnOnce(&mut Vec<T>) -> StoreResult<R>,
    ) -> StoreResult<R> {
        let mut records = self.records.lock();
        let mut changed = records.clone();
        let result = change(&mut changed)?;
        let text = serde_json::to_vec_pretty(&changed).map_err(io::Error::other);
        text.and_then(|text| disk.replace(&self.path, &text))
            .map_err(StoreError::io(format!("save `{}`", self.path.display())))?;
        *records = changed;
        Ok(result)
    }
}

/// Finds a capsule by id, else by name.
pub(crate) fn find<'a>(capsules: &'a [CapsuleInfo], name: &str) -> Option<&'a CapsuleInfo> {
    let by_id = capsules.iter().find(|capsule| capsule.id == name);
    by_id.or_else(|| capsules.iter().find(|capsule| capsule.name.eq_ignore_ascii_case(name)))
}

/// Names whose addresses a host uses for something else, so that a capsule could not be reached under them.
const RESERVED: [&str; 1] = ["server-card"];

/// Checks what a capsule is to be called.
pub(crate) fn check_text(
    update: &CapsuleUpdate,
    id: Option<&str>,
    capsules: &[CapsuleInfo],
    names: &NameScope,
) -> StoreResult<()> {
    let invalid = |what, reason: String| Err(StoreError::InvalidInput { what, reason });
    if let Some(name) = &update.name {
        if !is_line(name, MAX_NAME) {
            return invalid("name", format!("1 to {MAX_NAME} characters on one line"));
        }
        if RESERVED.iter().any(|reserved| name.eq_ignore_ascii_case(reserved)) {
            return invalid(
                "name",
                format!("`{name}` is kept for the host's own use; choose another name"),
            );
        }
        let is_taken = |other: &&CapsuleInfo| {
            Some(other.id.as_str()) != id
                && (other.id == *name || other.name.eq_ignore_ascii_case(name))
                && names.holds(other)
        };
        if let Some(taken) = capsules.iter().find(is_taken) {
            return Err(StoreError::NameTaken { name: name.clone(), id: taken.id.clone() });
        }
    }
    if update.description.as_ref().is_some_and(|text| text.chars().count() > MAX_DESCRIPTION) {
        return invalid("description", format!("at most {MAX_DESCRIPTION} characters"));
    }
    Ok(())
}

/// An id for a new capsule, made of its name where that gives one.
pub(crate) fn new_id(
    name: &str,
    capsules: &[CapsuleInfo],
    names: &NameScope,
) -> StoreResult<String> {
    let mut slug = String::new();
    for letter in name.chars().take(MAX_ID) {
        match letter.to_ascii_lowercase() {
            letter if letter.is_ascii_alphanumeric() => slug.push(letter),
            _ if !slug.is_empty() && !slug.ends_with('-') => slug.push('-'),
            _ => {}
        }
    }
    let slug = slug.trim_end_matches('-');
    let slug = if slug.is_empty() { "capsule" } else { slug };
    let is_free =
        |id: &str| !RESERVED.contains(&id) && capsules.iter().all(|capsule| capsule.id != id);
    match names {
        NameScope::All if is_free(slug) => Ok(slug.to_owned()),
        NameScope::All => {
            let mut numbered = (2..).map(|number| format!("{slug}-{number}"));
            Ok(numbered.find(|id| is_free(id)).unwrap_or_default())
        }
        NameScope::Among(_) => loop {
            let mut random = [0_u8; 3];
            getrandom::fill(&mut random)
                .map_err(|error| StoreError::io("make an id")(io::Error::other(error)))?;
            let id = format!("{slug}-{}", capdeck_storage::to_hex(random));
            if is_free(&id) {
                return Ok(id);
            }
        },
    }
}

/// An identity that no capsule had before.
pub(crate) fn new_uid() -> String {
    uuid::Uuid::now_v7().to_string()
}
