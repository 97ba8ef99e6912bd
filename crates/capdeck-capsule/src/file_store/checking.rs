//! What a verification and an export need to see of a capsule's files.

use std::{
    fs::{self, File},
    io::{self, BufRead as _, BufReader},
    path::Path,
};

use super::{
    engine::{StoreEngine, VersionIntegrity},
    scan,
    signal_log::SignalLine,
};
use crate::{Entry, EntryUri, StoreError, day_file};

impl StoreEngine {
    pub(crate) fn root(&self) -> &Path {
        self.layout.root()
    }

    /// All current entries.
    pub(crate) fn uris(&self) -> Vec<EntryUri> {
        self.state.read().entries.keys().cloned().collect()
    }

    /// DeletedEntry entries with their last version.
    pub(crate) fn deleted_versions(&self) -> Vec<(EntryUri, u64)> {
        let state = self.state.read();
        state.deleted.values().map(|tombstone| (tombstone.uri.clone(), tombstone.version)).collect()
    }

    /// Files in the capsule that are no entries: their place and what is wrong.
    pub(crate) fn scan_problems(&self) -> Vec<(String, String)> {
        scan::find_problems(self).into_iter().map(|problem| (problem.path, problem.what)).collect()
    }

    /// The files that were left out when the capsule was opened, the same way. No file is read for it.
    pub(crate) fn left_out(&self) -> Vec<(String, String)> {
        let state = self.state.read();
        state.problems.iter().map(|one| (one.path.clone(), one.what.clone())).collect()
    }

    /// Folders of entries whose scheme is not declared, below the capsule's folder. Nothing of them is read.
    pub(crate) fn undeclared_folders(&self) -> io::Result<Vec<String>> {
        let schemes = self.schemes();
        let declared: Vec<_> =
            schemes.iter().map(|scheme| self.layout.scheme_folder(scheme)).collect();
        let mut found = Vec::new();
        let entries = match fs::read_dir(self.layout.custom_entries()) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(found),
            Err(error) => return Err(error),
        };
        for entry in entries {
            let entry = entry?;
            if entry.file_type()?.is_dir() && !declared.contains(&entry.path()) {
                found.push(self.layout.display_path(&entry.path()));
            }
        }
        found.sort();
        Ok(found)
    }

    pub(crate) fn versions_in_history(&self, uri: &EntryUri) -> Result<Vec<u64>, StoreError> {
        self.kept_versions(uri, &self.scheme(uri)?)
    }

    /// A version as its files are, and whether they fit each other. No writer is between them meanwhile.
    pub(crate) fn read_for_check(
        &self,
        uri: &EntryUri,
        version: Option<u64>,
    ) -> Result<Option<(Entry, VersionIntegrity)>, StoreError> {
        let scheme = self.scheme(uri)?;
        let _entry = self.stripe(&uri.folded()).lock();
        let files = match version {
            Some(version) => self.layout.version(uri, version, scheme.format),
            None => self.layout.current(uri, &scheme),
        };
        self.read_pair(uri, &files, scheme.format)
    }

    /// Every line of the signals, oldest first.
    pub(crate) fn each_signal_line(&self, mut visit: impl FnMut(SignalLine)) -> io::Result<()> {
        for (_, path) in day_file::days(&self.layout.signals(), "")? {
            for line in BufReader::new(File::open(path)?).split(b'\n') {
                if let Ok(line) = serde_json::from_slice(&line?) {
                    visit(line);
                }
            }
        }
        Ok(())
    }
}
