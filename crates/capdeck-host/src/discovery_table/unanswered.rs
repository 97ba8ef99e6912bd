//! Notes for later hosts about lists that callers waited for in vain.

use std::{fs, path::PathBuf, time::Duration};

use capdeck_definition::Definition;
use capdeck_storage::replace_file_unsynced;

use super::{DiscoveryTable, stem};

/// How long later hosts ask a capability only in the background that let a caller wait in vain.
const UNANSWERED_LIFETIME: Duration = Duration::from_secs(24 * 60 * 60);

impl DiscoveryTable {
    /// Remembers for later hosts that callers waited this long in vain.
    pub(crate) fn note_unanswered(&self, definition: &Definition, limit: Duration) {
        let waited = self.unanswered_after(definition).unwrap_or_default().max(limit);
        let text = waited.as_millis().to_string();
        let path = self.unanswered_file(definition);
        if let Err(error) = replace_file_unsynced(&path, text.as_bytes()) {
            tracing::debug!(capability = %definition.id, %error, "the missing answer was not noted");
        }
    }

    /// How long callers of earlier hosts waited for this list in vain.
    pub(super) fn unanswered_after(&self, definition: &Definition) -> Option<Duration> {
        let path = self.unanswered_file(definition);
        let noted = fs::metadata(&path).and_then(|file| file.modified()).ok()?;
        let is_recent = noted.elapsed().is_ok_and(|age| age < UNANSWERED_LIFETIME);
        let milliseconds = fs::read_to_string(path).ok().filter(|_| is_recent)?.parse().ok()?;
        Some(Duration::from_millis(milliseconds))
    }

    pub(super) fn forget_unanswered(&self, definition: &Definition) {
        // Most lists were answered before: there is nothing to remove.
        drop(fs::remove_file(self.unanswered_file(definition)));
    }

    fn unanswered_file(&self, definition: &Definition) -> PathBuf {
        self.folder.with_file_name("unanswered").join(stem(definition))
    }
}
