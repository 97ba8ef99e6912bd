//! The versions of an entry.

use std::{fs, io};

use super::{engine::StoreEngine, layout};
use crate::{EntryMeta, EntryUri, Scheme, StoreError};

impl StoreEngine {
    /// All kept versions, oldest first.
    pub(crate) fn history(&self, uri: &EntryUri) -> Result<Vec<EntryMeta>, StoreError> {
        let scheme = self.scheme(uri)?;
        let not_found = || StoreError::NotFound { uri: uri.clone(), version: None };
        let _entry = self.stripe(&uri.folded()).lock();
        self.current(uri).ok_or_else(not_found)?;
        let current = self.read_quiet(uri, &scheme)?.ok_or_else(not_found)?.meta;
        let mut found = Vec::new();
        for version in self.kept_versions(uri, &scheme)? {
            // A version kept by a write that was cut off is the current one.
            if version < current.version {
                let files = self.layout.version(uri, version, scheme.format);
                found.extend(self.read_files(uri, &files, scheme.format)?.map(|entry| entry.meta));
            }
        }
        found.push(current);
        Ok(found)
    }

    /// The numbers of the versions in an entry's history folder, in order.
    pub(super) fn kept_versions(
        &self,
        uri: &EntryUri,
        scheme: &Scheme,
    ) -> Result<Vec<u64>, StoreError> {
        let folder = self.layout.history_folder(uri);
        self.layout.check_folder(&folder)?;
        let failed = || StoreError::io(format!("read the history of `{uri}`"));
        let entries = match fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(failed()(error)),
        };
        let mut found = Vec::new();
        for entry in entries {
            let name = entry.map_err(failed())?.file_name();
            found.extend(name.to_str().and_then(|name| layout::version_of(name, scheme.format)));
        }
        found.sort_unstable();
        Ok(found)
    }
}
