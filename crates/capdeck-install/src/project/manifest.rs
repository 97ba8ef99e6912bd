//! What was written into a project, kept in the state folder so that it can be updated and taken back.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::{Path, PathBuf},
};

use capdeck_storage::sha256_hex;
use serde::{Deserialize, Serialize};
use serde_json::Value;

const VERSION: u32 = 1;

/// The record of one project.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct InstallManifest {
    /// The agents of the last run.
    pub(crate) providers: Vec<String>,
    /// Files that are ours as a whole, by their real path.
    pub(crate) own: BTreeMap<PathBuf, OwnRecord>,
    /// Files with parts of ours.
    pub(crate) shared: BTreeMap<PathBuf, SharedRecord>,
    /// Folders that were not there before.
    pub(crate) folders: BTreeSet<PathBuf>,
    /// Whether the lock was not there before.
    #[serde(default)]
    pub(crate) has_lock: bool,
}

#[derive(Serialize, Deserialize)]
struct StoredManifest {
    version: u32,
    #[serde(flatten)]
    manifest: InstallManifest,
}

/// A file of ours as it was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct OwnRecord {
    pub(crate) sha256: String,
    pub(crate) part_of: String,
    /// The former content, by its hash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) before: Option<String>,
}

/// A shared file as it was left.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct SharedRecord {
    pub(crate) sha256: String,
    /// The file without our parts, by its hash; none if it was not there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) before: Option<String>,
    pub(crate) parts: Vec<PartRecord>,
}

/// A part of ours in a shared file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub(crate) enum PartRecord {
    Block { id: String, sha256: String },
    Entry { keys: Vec<String>, value: Value },
    Items { keys: Vec<String>, items: Vec<Value> },
}

/// The folder of one project below the state folder.
#[derive(Debug, Clone)]
pub(crate) struct ProjectState {
    pub(crate) dir: PathBuf,
}

impl ProjectState {
    /// `project` is the real path of the project.
    pub(crate) fn new(state_dir: &Path, project: &Path) -> Self {
        let name = project.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        let legal = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
        let name: String = name.chars().map(legal).take(40).collect();
        let hash = sha256_hex(project.as_os_str().as_encoded_bytes());
        let short = hash.get(..16).unwrap_or(&hash);
        let key = format!("{}-{short}", name.trim_matches('-'));
        Self { dir: state_dir.join("install").join(key) }
    }

    /// The record of the last run; an empty one if there was none.
    pub(crate) fn manifest(&self) -> io::Result<InstallManifest> {
        match fs::read(self.dir.join("manifest.json")) {
            Ok(bytes) => {
                let StoredManifest { version, manifest } = serde_json::from_slice(&bytes)
                    .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
                if version > VERSION {
                    return Err(io::Error::other("it was written by a newer capdeck"));
                }
                Ok(manifest)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(InstallManifest::default()),
            Err(error) => Err(error),
        }
    }

    /// What a file held before, by its hash.
    pub(crate) fn kept(&self, sha256: &str) -> io::Result<Vec<u8>> {
        fs::read(self.dir.join("kept").join(sha256))
    }

    pub(crate) fn plugins(&self) -> PathBuf {
        self.dir.join("plugins")
    }

    pub(crate) fn hook_script(&self, id: &str) -> PathBuf {
        self.dir.join("hooks").join(id)
    }
}

impl InstallManifest {
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let stored = StoredManifest { version: VERSION, manifest: self.clone() };
        // Paths are read as UTF-8 before they get here, so it can be written.
        serde_json::to_vec_pretty(&stored).unwrap_or_default()
    }

    /// Whether nothing of ours is left.
    pub(crate) fn is_empty(&self) -> bool {
        self.own.is_empty() && self.shared.is_empty() && !self.has_lock
    }

    /// The hashes of everything that must stay kept.
    pub(crate) fn needed(&self) -> BTreeSet<String> {
        let own = self.own.values().filter_map(|record| record.before.clone());
        own.chain(self.shared.values().filter_map(|record| record.before.clone())).collect()
    }
}
