//! The project folders that the person has trusted, each in one state of its files.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::{Path, PathBuf},
};

use capdeck_catalog::ProjectTrust;
use serde::{Deserialize, Serialize};

use crate::durable;

/// By real path, each with the hash of the definition files that the person reviewed.
#[derive(Debug, Clone)]
pub struct TrustStore {
    path: PathBuf,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct TrustFile {
    #[serde(default)]
    projects: BTreeMap<PathBuf, String>,
    /// The projects whose APIs may be in private networks.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    private_networks: BTreeSet<PathBuf>,
}

impl TrustStore {
    pub fn new(state_dir: &Path) -> Self {
        Self { path: state_dir.join("trust.json") }
    }

    /// Trusts `project` in its current state; any later change to its files needs trust again.
    ///
    /// The networks of its APIs stay as they were decided before.
    pub fn trust(&self, project: &Path, hash: &str) -> io::Result<()> {
        let real = fs::canonicalize(project)?;
        durable::update_json(&self.path, |file: &mut TrustFile| {
            file.projects.insert(real, hash.to_owned());
        })
    }

    /// Lets the APIs of `project` be in private networks, for as long as the project is trusted.
    pub fn open_private_networks(&self, project: &Path) -> io::Result<()> {
        let real = fs::canonicalize(project)?;
        durable::update_json(&self.path, |file: &mut TrustFile| {
            file.private_networks.insert(real);
        })
    }

    /// Whether the APIs of `project` may be in private networks. An unreadable store opens nothing.
    pub fn has_private_networks(&self, project: &Path) -> bool {
        let real = fs::canonicalize(project).unwrap_or_else(|_| project.to_owned());
        durable::load_json::<TrustFile>(&self.path)
            .is_ok_and(|file| file.private_networks.contains(&real))
    }

    /// Removes the trust. True when `project` was trusted.
    pub fn untrust(&self, project: &Path) -> io::Result<bool> {
        let real = fs::canonicalize(project).unwrap_or_else(|_| project.to_owned());
        durable::update_json(&self.path, |file: &mut TrustFile| {
            file.private_networks.remove(&real);
            file.projects.remove(&real).is_some()
        })
    }

    /// Whether `project` is trusted with files of this hash. An unreadable store trusts nothing.
    pub fn state(&self, project: &Path, hash: &str) -> ProjectTrust {
        let real = fs::canonicalize(project).unwrap_or_else(|_| project.to_owned());
        let untrusted = |reason: &str| ProjectTrust::Untrusted { reason: reason.to_owned() };
        match durable::load_json::<TrustFile>(&self.path) {
            Ok(file) => match file.projects.get(&real) {
                Some(trusted) if trusted == hash => ProjectTrust::Trusted,
                Some(_) => untrusted("its files changed since they were trusted"),
                None => untrusted("this project has not been trusted yet"),
            },
            Err(_) => untrusted("the list of trusted projects cannot be read"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trust_holds_for_one_folder_in_one_state() {
        let folder = tempfile::tempdir().unwrap();
        let (project, other) = (folder.path().join("a"), folder.path().join("b"));
        fs::create_dir_all(&project).unwrap();
        fs::create_dir_all(&other).unwrap();
        let store = TrustStore::new(&folder.path().join("state"));
        assert!(matches!(store.state(&project, "h1"), ProjectTrust::Untrusted { .. }));

        store.trust(&project, "h1").unwrap();
        assert_eq!(store.state(&project, "h1"), ProjectTrust::Trusted);
        assert!(matches!(store.state(&project, "h2"), ProjectTrust::Untrusted { .. }));
        assert!(matches!(store.state(&other, "h1"), ProjectTrust::Untrusted { .. }));

        assert!(!store.has_private_networks(&project));
        store.open_private_networks(&project).unwrap();
        assert!(store.has_private_networks(&project));
        assert!(!store.has_private_networks(&other));
        store.trust(&project, "h2").unwrap();
        assert!(store.has_private_networks(&project), "a person does not decide twice");

        assert!(store.untrust(&project).unwrap());
        assert!(!store.has_private_networks(&project));
        assert!(!store.untrust(&project).unwrap());
        assert!(matches!(store.state(&project, "h1"), ProjectTrust::Untrusted { .. }));
    }
}
