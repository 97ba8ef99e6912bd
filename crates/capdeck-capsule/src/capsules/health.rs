//! Whether the data folder can be written, and keeping its own audit short.

use std::sync::Arc;

use jiff::civil::Date;

use super::{Capsules, Inner, blocking};
use crate::{Mode, PrunedLines, RegistryError, StoreError, registry_audit::Subject};

impl Capsules {
    /// Tries whether the data folder can be written. Nothing of it stays.
    pub async fn check_writable(&self) -> Result<(), RegistryError> {
        if self.inner.options.mode == Mode::ReadOnly {
            return Err(RegistryError::ReadOnly);
        }
        if self.inner.lock.lock().is_none() {
            return Err(StoreError::Closed.into());
        }
        let inner = Arc::clone(&self.inner);
        let folder = inner.folder.display().to_string();
        let probe =
            move || inner.disk.probe().map_err(RegistryError::io(format!("write to `{folder}`")));
        blocking(probe).await
    }

    /// Removes the files of days before one from the data folder's own audit.
    pub async fn prune_registry_audit(&self, before: Date) -> Result<PrunedLines, RegistryError> {
        let prune = move |inner: &Inner| inner.audit.prune(before);
        self.change("audit.prune", Subject::default(), prune, |_| Subject::default()).await
    }
}
