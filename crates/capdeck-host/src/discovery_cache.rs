//! Last known lists on disk, so that a start needs no connection.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::SystemTime,
};

use capdeck_catalog::Discovery;
use capdeck_definition::Definition;

use crate::{audience::AudienceKey, durable};

/// Per capability.
const MAX_AUDIENCES: usize = 8;

/// One file per capability, fingerprint and audience: a changed definition never gets an old list.
#[derive(Debug, Clone)]
pub(crate) struct DiscoveryCache {
    folder: PathBuf,
}

impl DiscoveryCache {
    pub(crate) fn new(cache_dir: &Path) -> Self {
        Self { folder: cache_dir.join("discoveries") }
    }

    /// A missing or unreadable list means "ask again".
    pub(crate) fn load(
        &self,
        definition: &Definition,
        audience: &AudienceKey,
    ) -> Option<Discovery> {
        serde_json::from_slice(&fs::read(self.file(definition, audience)).ok()?).ok()
    }

    pub(crate) fn save(
        &self,
        definition: &Definition,
        audience: &AudienceKey,
        discovery: &Discovery,
    ) -> io::Result<()> {
        let bytes = serde_json::to_vec(discovery).map_err(io::Error::other)?;
        durable::save(&self.file(definition, audience), &bytes)?;
        if !audience.is_bare() {
            self.prune(definition);
        }
        Ok(())
    }

    pub(crate) fn load_others(&self, definition: &Definition) -> Vec<Discovery> {
        let read = |path: PathBuf| serde_json::from_slice(&fs::read(path).ok()?).ok();
        self.others(definition).into_iter().filter_map(|(_, path)| read(path)).collect()
    }

    /// Oldest first.
    fn others(&self, definition: &Definition) -> Vec<(SystemTime, PathBuf)> {
        let start = format!("{}.", stem(definition));
        let bare = format!("{}.json", stem(definition));
        let Ok(entries) = fs::read_dir(&self.folder) else { return Vec::new() };
        let mut lists: Vec<_> = entries
            .filter_map(Result::ok)
            .filter(|entry| {
                let name = entry.file_name();
                let name = name.to_string_lossy();
                name.starts_with(&start) && *name != bare
            })
            .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
            .collect();
        lists.sort();
        lists
    }

    fn prune(&self, definition: &Definition) {
        let lists = self.others(definition);
        let surplus = lists.len().saturating_sub(MAX_AUDIENCES);
        for (_, path) in lists.into_iter().take(surplus) {
            if let Err(error) = fs::remove_file(&path) {
                tracing::debug!(path = %path.display(), %error, "an old list could not be deleted");
            }
        }
    }

    fn file(&self, definition: &Definition, audience: &AudienceKey) -> PathBuf {
        let stem = stem(definition);
        self.folder.join(if audience.is_bare() {
            format!("{stem}.json")
        } else {
            format!("{stem}.{audience}.json")
        })
    }
}

fn stem(definition: &Definition) -> String {
    let short: String = definition.fingerprint.chars().take(16).collect();
    format!("{}.{short}", definition.id)
}
