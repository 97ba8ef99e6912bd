//! Last known tool lists on disk, so that a start needs no connection.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use capdeck_catalog::Discovery;
use capdeck_definition::Definition;

use crate::durable;

/// One file per capability and fingerprint: a changed definition never sees an old list.
#[derive(Debug, Clone)]
pub(crate) struct DiscoveryCache {
    folder: PathBuf,
}

impl DiscoveryCache {
    pub(crate) fn new(cache_dir: &Path) -> Self {
        Self { folder: cache_dir.join("discoveries") }
    }

    /// The last known discovery; a missing or unreadable one means "ask again".
    pub(crate) fn load(&self, definition: &Definition) -> Option<Discovery> {
        serde_json::from_slice(&fs::read(self.file(definition)).ok()?).ok()
    }

    pub(crate) fn save(&self, definition: &Definition, discovery: &Discovery) -> io::Result<()> {
        let bytes = serde_json::to_vec(discovery).map_err(io::Error::other)?;
        durable::save(&self.file(definition), &bytes)
    }

    fn file(&self, definition: &Definition) -> PathBuf {
        let short: String = definition.fingerprint.chars().take(16).collect();
        self.folder.join(format!("{}.{short}.json", definition.id))
    }
}
