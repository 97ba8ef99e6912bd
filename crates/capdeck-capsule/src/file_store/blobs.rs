//! Binary payloads, named by their hash.

use std::{
    collections::HashSet,
    fs,
    path::PathBuf,
    time::{Duration, SystemTime},
};

use super::{engine::StoreEngine, layout::CapsuleLayout};
use crate::{BlobCollection, BlobContent, BlobId, EntryUri, StoreError, StoreResult};

/// Blobs younger than this are kept: the entry they belong to may still be on its way.
const MIN_BLOB_AGE: Duration = Duration::from_secs(60);
/// The folders with current entries and old versions.
const HOLDING_ENTRIES: [&str; 4] = ["knowledge", "skills", "entries", "history"];

impl StoreEngine {
    pub(crate) fn read_blob(
        &self,
        uri: &EntryUri,
        version: Option<u64>,
    ) -> StoreResult<BlobContent> {
        let entry = self.read(uri, version)?;
        let not_found = || StoreError::invalid("blob", format!("`{uri}` has no blob"));
        let reference = entry.meta.blob.ok_or_else(not_found)?;
        let path = self.files.layout.blob(&reference.sha256);
        self.files.layout.check_file(&path)?;
        let damaged =
            |reason: &str| StoreError::Damaged { uri: uri.clone(), reason: reason.to_owned() };
        let bytes = capdeck_storage::read_if_exists(&path);
        let bytes = bytes.map_err(StoreError::io(format!("read the blob of `{uri}`")))?;
        let bytes = bytes.ok_or_else(|| damaged("its blob is missing"))?;
        if BlobId::of(&bytes) != reference.sha256 {
            return Err(damaged("the content of its blob does not match its hash"));
        }
        Ok(BlobContent { reference, bytes })
    }

    /// Removes blobs that no file of any entry names.
    pub(crate) fn collect_blobs(&self) -> StoreResult<BlobCollection> {
        self.files.writable()?;
        let _alone = self.blobs_in_use.write();
        let used = used_blobs(&self.files.layout)?;
        let failed = || StoreError::io("collect blobs");
        let mut collected = BlobCollection::default();
        for entry in fs::read_dir(self.files.layout.folder("blobs")).map_err(failed())? {
            let entry = entry.map_err(failed())?;
            let Ok(id) = BlobId::parse(&entry.file_name().to_string_lossy()) else { continue };
            let known = entry.metadata().map_err(failed())?;
            let age =
                known.modified().ok().and_then(|then| SystemTime::now().duration_since(then).ok());
            if used.contains(&id) || age.is_none_or(|age| age < MIN_BLOB_AGE) {
                collected.kept += 1;
                continue;
            }
            self.files.disk.remove(&entry.path()).map_err(failed())?;
            self.used.sub(known.len());
            collected.removed += 1;
            collected.bytes += known.len();
        }
        Ok(collected)
    }
}

/// The blobs that any file of an entry names. Every file counts, not only those that are entries now: one whose scheme is
/// not declared at the moment, or that is damaged, may be repaired tomorrow and would miss its blob.
fn used_blobs(layout: &CapsuleLayout) -> StoreResult<HashSet<BlobId>> {
    let mut used = HashSet::new();
    let mut folders: Vec<PathBuf> = HOLDING_ENTRIES.map(|name| layout.root().join(name)).into();
    while let Some(folder) = folders.pop() {
        let failed = || {
            let folder = layout.display_path(&folder);
            StoreError::io(format!("read the capsule's folder `{folder}`"))
        };
        for entry in fs::read_dir(&folder).map_err(failed())? {
            let entry = entry.map_err(failed())?;
            let kind = entry.file_type().map_err(failed())?;
            if kind.is_dir() {
                folders.push(entry.path());
            } else if kind.is_file() {
                used.extend(named_blobs(&fs::read(entry.path()).map_err(failed())?));
            }
        }
    }
    Ok(used)
}

/// Everything in a file that could point to a blob.
fn named_blobs(file: &[u8]) -> impl Iterator<Item = BlobId> {
    let is_digit = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let words = file.split(move |byte| !is_digit(byte));
    words.filter_map(|word| BlobId::parse(str::from_utf8(word).ok()?).ok())
}
