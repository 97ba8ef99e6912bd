//! Whether the data folder can be written, and keeping its own audit short.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    path::Path,
    sync::Arc,
};

use jiff::civil::Date;

use super::{CapsuleRegistry, CapsuleRegistryInner, blocking};
use crate::{
    CapsuleRegistryError, PrunedLines, StoreError, StoreMode, registry_audit::AuditSubject,
};

/// Bytes written to see whether there is room. More than a journal is lengthened by: a disk that has less takes no change.
const PROBE_BYTES: usize = 320 * 1024;

/// Tries whether a folder can be written, or the nearest one above it that there is. Nothing of it stays. Blocks.
pub fn probe_folder(folder: &Path) -> io::Result<()> {
    let nearest = folder.ancestors().find(|place| place.is_dir()).unwrap_or(folder);
    let path = nearest.join(format!(".capdeck-probe-{}", std::process::id()));
    // A full disk may still take an empty file.
    let written = File::create(&path).and_then(|mut file| file.write_all(&vec![0; PROBE_BYTES]));
    // What could not be made need not go.
    fs::remove_file(&path).ok();
    written
}

impl CapsuleRegistry {
    /// Tries whether the data folder can be written. Nothing of it stays.
    pub async fn check_writable(&self) -> Result<(), CapsuleRegistryError> {
        if self.inner.options.mode == StoreMode::ReadOnly {
            return Err(CapsuleRegistryError::ReadOnly);
        }
        if self.inner.lock.lock().is_none() {
            return Err(StoreError::Closed.into());
        }
        let inner = Arc::clone(&self.inner);
        let failed = || CapsuleRegistryError::io("write to the data folder");
        blocking(move || probe_folder(&inner.folder).map_err(failed())).await
    }

    /// Removes the files of days before one from the data folder's own audit.
    pub async fn prune_registry_audit(
        &self,
        before: Date,
    ) -> Result<PrunedLines, CapsuleRegistryError> {
        let prune = move |inner: &CapsuleRegistryInner| inner.audit.prune(before);
        self.change("audit.prune", AuditSubject::default(), prune, |_| AuditSubject::default())
            .await
    }
}
