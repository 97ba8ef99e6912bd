//! How much a capsule holds, and whether there is room for more.

use std::{
    fs, io,
    path::Path,
    sync::atomic::{AtomicU64, Ordering},
};

use super::engine::StoreEngine;
use crate::{EntryMeta, StoreError};

impl StoreEngine {
    pub(super) fn check_quota(
        &self,
        meta: &EntryMeta,
        exists: bool,
        blob: usize,
    ) -> Result<(), StoreError> {
        let limits = &self.options.limits;
        let state = self.state.read();
        if !exists && state.entries.len() as u64 >= limits.entries {
            return Err(StoreError::QuotaExceeded { what: "entries", most: limits.entries });
        }
        drop(state);
        let used = self.used()?.load(Ordering::Relaxed);
        if used + meta.bytes + blob as u64 > limits.bytes {
            return Err(StoreError::QuotaExceeded { what: "bytes", most: limits.bytes });
        }
        Ok(())
    }

    pub(super) fn add_used(&self, bytes: u64) {
        if let Some(used) = self.used.get() {
            used.fetch_add(bytes, Ordering::Relaxed);
        }
    }

    pub(super) fn sub_used(&self, bytes: u64) {
        if let Some(used) = self.used.get() {
            let _ = used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
                Some(used.saturating_sub(bytes))
            });
        }
    }

    /// Bytes of bodies, old versions and blobs. Counted once; then every write adds its own.
    pub(super) fn used(&self) -> Result<&AtomicU64, StoreError> {
        if let Some(used) = self.used.get() {
            return Ok(used);
        }
        let current: u64 = self.state.read().entries.values().map(|meta| meta.bytes).sum();
        let root = self.layout.root();
        let kept = ["history", "blobs"]
            .iter()
            .map(|name| size_of(&root.join(name)))
            .sum::<io::Result<u64>>();
        let kept = kept.map_err(StoreError::io("count the capsule's bytes"))?;
        Ok(self.used.get_or_init(|| AtomicU64::new(current + kept)))
    }
}

fn size_of(folder: &Path) -> io::Result<u64> {
    let mut sum = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            sum += size_of(&entry.path())?;
        } else if kind.is_file() {
            sum += entry.metadata()?.len();
        }
    }
    Ok(sum)
}
