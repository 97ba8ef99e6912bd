//! How much a capsule holds, and whether there is room for more.

use std::{
    fs, io,
    path::Path,
    sync::{
        OnceLock,
        atomic::{AtomicU64, Ordering},
    },
};

use super::engine::StoreEngine;
use crate::{EntryMeta, StoreError};

/// Bytes of bodies, old versions and blobs: counted when the first write asks, then every write adds its own.
#[derive(Debug, Default)]
pub(super) struct UsedBytes(OnceLock<AtomicU64>);

impl UsedBytes {
    pub(super) fn add(&self, bytes: u64) {
        if let Some(used) = self.0.get() {
            used.fetch_add(bytes, Ordering::Relaxed);
        }
    }

    pub(super) fn sub(&self, bytes: u64) {
        if let Some(used) = self.0.get() {
            let _ = used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
                Some(used.saturating_sub(bytes))
            });
        }
    }
}

impl StoreEngine {
    pub(super) fn check_quota(
        &self,
        meta: &EntryMeta,
        exists: bool,
        blob: usize,
    ) -> Result<(), StoreError> {
        let limits = &self.files.options.limits;
        if !exists && self.state.read().entries.len() as u64 >= limits.entries {
            return Err(StoreError::QuotaExceeded { what: "entries", most: limits.entries });
        }
        if self.used()? + meta.bytes + blob as u64 > limits.bytes {
            return Err(StoreError::QuotaExceeded { what: "bytes", most: limits.bytes });
        }
        Ok(())
    }

    fn used(&self) -> Result<u64, StoreError> {
        if let Some(used) = self.used.0.get() {
            return Ok(used.load(Ordering::Relaxed));
        }
        let current: u64 = self.state.read().entries.values().map(|meta| meta.bytes).sum();
        let root = self.files.layout.root();
        let folders = ["history", "blobs"].iter();
        let kept = folders.map(|name| size_of(&root.join(name))).sum::<io::Result<u64>>();
        let kept = kept.map_err(StoreError::io("count the capsule's bytes"))?;
        let used = self.used.0.get_or_init(|| AtomicU64::new(current + kept));
        Ok(used.load(Ordering::Relaxed))
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
