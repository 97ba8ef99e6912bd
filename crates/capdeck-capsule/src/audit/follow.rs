//! Follows the audits of a data folder, whichever process has it open.

use std::{
    collections::{HashMap, hash_map::Entry},
    io,
    path::{Path, PathBuf},
};

use capdeck_storage::LogFollower;

use super::{AuditLogLine, REGISTRY_LOG};
use crate::FileStoreFactory;

/// The lines that are written from now on: of each capsule, and of capsules as a whole.
#[derive(Debug)]
pub struct AuditFollower {
    data_dir: PathBuf,
    registry: LogFollower,
    capsules: HashMap<String, LogFollower>,
}

impl AuditFollower {
    /// Follows from the present end. The data folder may be made later.
    pub fn new(data_dir: &Path) -> io::Result<Self> {
        let registry = LogFollower::from_end(data_dir.join("logs"), REGISTRY_LOG)?;
        let mut capsules = HashMap::new();
        for id in FileStoreFactory::ids(data_dir)? {
            let logs = FileStoreFactory::logs(data_dir, &id);
            capsules.insert(id, LogFollower::from_end(logs, "")?);
        }
        Ok(Self { data_dir: data_dir.to_owned(), registry, capsules })
    }

    /// Returns the lines that were written since the last time, each with its capsule. Blocks, but does not wait for lines.
    pub fn news(&mut self) -> io::Result<Vec<AuditLogLine>> {
        let mut found = parsed(&self.registry.new_lines()?);
        for id in FileStoreFactory::ids(&self.data_dir)? {
            let follower = match self.capsules.entry(id.clone()) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(new) => {
                    let logs = FileStoreFactory::logs(&self.data_dir, &id);
                    new.insert(LogFollower::from_start(logs, ""))
                }
            };
            let lines = parsed(&follower.new_lines()?).into_iter();
            found.extend(lines.map(|line| AuditLogLine { capsule: Some(id.clone()), ..line }));
        }
        found.sort_by_key(|line| line.ts);
        Ok(found)
    }
}

fn parsed(lines: &[Vec<u8>]) -> Vec<AuditLogLine> {
    lines.iter().filter_map(|line| serde_json::from_slice(line).ok()).collect()
}
