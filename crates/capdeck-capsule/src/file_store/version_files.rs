//! The files of one version of an entry, read and taken apart.

use std::{
    fs,
    io::{self, Read as _},
    path::{Path, PathBuf},
    time::SystemTime,
};

use capdeck_storage::sha256_hex;

use super::{
    entry_cache::FileIdentity,
    frontmatter,
    layout::{CapsuleLayout, EntryFiles},
};
use crate::{Entry, EntryMeta, EntryUri, StoreError, StoreResult, patch, scheme::BodyFormat};

/// Bytes for which room is made before a file is read.
const MAX_INITIAL_BUFFER: u64 = 2 * 1024 * 1024;

/// Whether the files of a version are what was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum VersionIntegrity {
    Whole,
    /// They were put there or changed by hand.
    Edited,
    /// Body and sidecar are of different versions, or the body was edited.
    Apart,
}

pub(crate) struct LoadedVersion {
    pub(crate) entry: Entry,
    pub(crate) fit: VersionIntegrity,
    /// The files as they were when they were read.
    pub(super) files: Vec<(PathBuf, FileIdentity)>,
}

impl LoadedVersion {
    /// The entry while there is no writer: a JSON file that does not fit its sidecar was edited by hand then, and is
    /// read as it is.
    pub(super) fn into_found(self) -> Entry {
        let mut entry = self.entry;
        if self.fit == VersionIntegrity::Apart {
            entry.meta.content_sha256 = sha256_hex(entry.body.as_bytes());
            entry.meta.bytes = entry.body.len() as u64;
        }
        entry
    }
}

impl CapsuleLayout {
    /// A version as its files are; `None` when there is no body. No file is read through a link.
    pub(crate) fn load(
        &self,
        uri: &EntryUri,
        files: &EntryFiles,
        format: BodyFormat,
    ) -> StoreResult<Option<LoadedVersion>> {
        self.check_file(&files.body)?;
        if let Some(sidecar) = &files.meta {
            self.check_file(sidecar)?;
        }
        load_checked(uri, files, format)
    }

    /// A version whose files fit each other.
    pub(super) fn load_whole(
        &self,
        uri: &EntryUri,
        files: &EntryFiles,
        format: BodyFormat,
    ) -> StoreResult<Option<Entry>> {
        match self.load(uri, files, format)? {
            Some(LoadedVersion { fit: VersionIntegrity::Apart, .. }) => Err(StoreError::Damaged {
                uri: uri.clone(),
                reason: "its content does not match its sidecar".to_owned(),
            }),
            loaded => Ok(loaded.map(|loaded| loaded.entry)),
        }
    }

    pub(super) fn load_version(
        &self,
        uri: &EntryUri,
        version: u64,
        format: BodyFormat,
    ) -> StoreResult<Option<Entry>> {
        self.load_whole(uri, &self.version(uri, version, format), format)
    }
}

/// The heading of a body, where its format has headings.
pub(super) fn heading(body: &str, format: BodyFormat) -> Option<String> {
    (format != BodyFormat::Json).then(|| patch::first_heading(body)).flatten()
}

/// Reads the files of a version, on a way that was walked without meeting a link.
pub(super) fn load_checked(
    uri: &EntryUri,
    files: &EntryFiles,
    format: BodyFormat,
) -> StoreResult<Option<LoadedVersion>> {
    let Some((text, known)) = read_text(uri, &files.body)? else { return Ok(None) };
    let modified = known.modified().unwrap_or(SystemTime::UNIX_EPOCH);
    let mut stamps = vec![(files.body.clone(), FileIdentity::from_metadata(&known))];
    let damaged = |reason: String| StoreError::Damaged { uri: uri.clone(), reason };
    let Some(meta_path) = &files.meta else {
        let parted = frontmatter::parse_entry_file(uri, &text, modified).map_err(damaged)?;
        let (mut meta, start) = (parted.meta, text.len() - parted.body.len());
        let fit = if parted.is_edited { VersionIntegrity::Edited } else { VersionIntegrity::Whole };
        let mut body = text;
        body.drain(..start);
        if start == 0 {
            frontmatter::classify_found(&mut meta, &body);
        }
        return Ok(Some(LoadedVersion { entry: Entry { meta, body, format }, fit, files: stamps }));
    };
    let (meta, fit) = match read_text(uri, meta_path)? {
        None => {
            let mut meta = frontmatter::found_meta(uri, &text, modified);
            meta.heading = None;
            // A sidecar may come without a trace at the body.
            stamps.clear();
            (meta, VersionIntegrity::Edited)
        }
        Some((sidecar, known)) => {
            stamps.push((meta_path.clone(), FileIdentity::from_metadata(&known)));
            let mut meta: EntryMeta =
                serde_json::from_str(&sidecar).map_err(|error| damaged(error.to_string()))?;
            meta.separate_claim();
            if meta.uri != *uri {
                return Err(damaged(format!("its sidecar says that it is `{}`", meta.uri)));
            }
            let fits = meta.content_sha256 == sha256_hex(text.as_bytes());
            (meta, if fits { VersionIntegrity::Whole } else { VersionIntegrity::Apart })
        }
    };
    Ok(Some(LoadedVersion { entry: Entry { meta, body: text, format }, fit, files: stamps }))
}

fn read_text(uri: &EntryUri, path: &Path) -> StoreResult<Option<(String, fs::Metadata)>> {
    let failed = || StoreError::io(format!("read `{uri}`"));
    let mut file = match fs::File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed()(error)),
    };
    let known = file.metadata().map_err(failed())?;
    // A file put there by hand may be of any size; room is made in advance for ordinary ones only.
    let mut bytes = Vec::with_capacity(known.len().min(MAX_INITIAL_BUFFER) as usize + 1);
    file.read_to_end(&mut bytes).map_err(failed())?;
    let text = String::from_utf8(bytes).map_err(|_| StoreError::Damaged {
        uri: uri.clone(),
        reason: "it is not UTF-8".to_owned(),
    })?;
    Ok(Some((text, known)))
}
