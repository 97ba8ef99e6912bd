//! Binary payloads, named by their hash.

use std::{
    collections::HashSet,
    fs, io,
    path::PathBuf,
    time::{Duration, SystemTime},
};

use super::engine::StoreEngine;
use crate::{BlobCollection, BlobContent, BlobId, EntryScope, EntryUri, StoreError};

/// Blobs younger than this are kept: the entry they belong to may still be on its way.
const MIN_BLOB_AGE: Duration = Duration::from_secs(60);
/// The folders with current entries and old versions.
const HOLDING_ENTRIES: [&str; 4] = ["knowledge", "skills", "entries", "history"];

impl StoreEngine {
    pub(crate) fn read_blob(
        &self,
        uri: &EntryUri,
        version: Option<u64>,
    ) -> Result<BlobContent, StoreError> {
        let entry = self.read(uri, version)?;
        let not_found = || StoreError::invalid("blob", format!("`{uri}` has no blob"));
        let reference = entry.meta.blob.ok_or_else(not_found)?;
        let path = self.layout.blob(&reference.sha256);
        self.check_file(&path)?;
        let damaged =
            |reason: &str| StoreError::Damaged { uri: uri.clone(), reason: reason.to_owned() };
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(damaged("its blob is missing"));
            }
            Err(error) => return Err(StoreError::io(format!("read the blob of `{uri}`"))(error)),
        };
        if BlobId::of(&bytes) != reference.sha256 {
            return Err(damaged("its blob is not what its name says"));
        }
        Ok(BlobContent { reference, bytes })
    }

    /// Whether a current entry within the scope has this blob.
    pub(crate) fn has_blob(&self, id: &BlobId, scope: &EntryScope) -> bool {
        let state = self.state.read();
        let mut having = state
            .entries
            .values()
            .filter(|meta| meta.blob.as_ref().is_some_and(|blob| blob.sha256 == *id));
        having.any(|meta| scope.reaches(&meta.uri))
    }

    /// Removes blobs that no file of any entry names.
    pub(crate) fn collect_blobs(&self) -> Result<BlobCollection, StoreError> {
        self.writable()?;
        let _alone = self.blobs_in_use.write();
        let used = self.used_blobs()?;
        let failed = || StoreError::io("collect blobs");
        let mut collected = BlobCollection::default();
        for entry in fs::read_dir(self.layout.blobs()).map_err(failed())? {
            let entry = entry.map_err(failed())?;
            let Ok(id) = BlobId::parse(&entry.file_name().to_string_lossy()) else { continue };
            let known = entry.metadata().map_err(failed())?;
            let age =
                known.modified().ok().and_then(|then| SystemTime::now().duration_since(then).ok());
            if used.contains(&id) || age.is_none_or(|age| age < MIN_BLOB_AGE) {
                collected.kept += 1;
                continue;
            }
            self.disk.remove(&entry.path()).map_err(failed())?;
            self.sub_used(known.len());
            collected.removed += 1;
            collected.bytes += known.len();
        }
        Ok(collected)
    }

    /// The blobs that any file of an entry names. Every file counts, not only those that are entries now: one whose
    /// scheme is not declared at the moment, or that somebody damaged, may be mended tomorrow and would miss its blob.
    fn used_blobs(&self) -> Result<HashSet<BlobId>, StoreError> {
        let mut used = HashSet::new();
        let mut folders: Vec<PathBuf> =
            HOLDING_ENTRIES.map(|name| self.layout.root().join(name)).into();
        while let Some(folder) = folders.pop() {
            let failed = || {
                let folder = self.layout.display_path(&folder);
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
}

/// Everything in a file that could point to a blob.
fn named_blobs(file: &[u8]) -> impl Iterator<Item = BlobId> {
    let is_digit = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let words = file.split(move |byte| !is_digit(byte));
    words.filter_map(|word| BlobId::parse(str::from_utf8(word).ok()?).ok())
}
