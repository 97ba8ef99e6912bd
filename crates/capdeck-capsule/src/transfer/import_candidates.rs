//! Files that could become entries: which address each would get, and where its content is.

use std::{
    fs,
    io::{self, Read as _, Seek as _, SeekFrom},
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{import::SkippedFile, manifest::ManifestEntry};
use crate::{CapsuleHandle, EntryUri, Scheme, StoreError, StoreResult, blocking::blocking};

/// Files taken from one folder.
const MAX_IMPORT_FILES: usize = 25_000;
/// Larger files are no entries and no blobs of any capsule.
const MAX_FILE_BYTES: u64 = 64 * 1024 * 1024;

/// What was found in a source.
#[derive(Debug, Default)]
pub(super) struct ImportCandidates {
    /// Schemes that its entries need.
    pub(super) schemes: Vec<Scheme>,
    pub(super) found: Vec<ImportCandidate>,
    pub(super) skipped: Vec<SkippedFile>,
}

/// A file and the address it goes to.
#[derive(Debug)]
pub(super) struct ImportCandidate {
    pub(super) file: PathBuf,
    pub(super) uri: EntryUri,
    pub(super) place: ContentLocation,
    /// What an export says about it.
    pub(super) known: Option<ManifestEntry>,
    /// Its blob, when an export says that it has one.
    pub(super) blob: Option<ContentLocation>,
}

#[derive(Debug, Clone)]
pub(super) enum ContentLocation {
    File(PathBuf),
    /// A part of a file.
    Part {
        file: Arc<PathBuf>,
        start: u64,
        bytes: u64,
    },
}

impl ImportCandidates {
    pub(super) fn skip(&mut self, file: impl Into<PathBuf>, reason: impl ToString) {
        self.skipped.push(SkippedFile { file: file.into(), reason: reason.to_string() });
    }

    fn take(&mut self, file: PathBuf, scheme: &str, path: &str) {
        match EntryUri::new(scheme, &address(path)) {
            Ok(uri) => {
                let place = ContentLocation::File(file.clone());
                self.found.push(ImportCandidate { file, uri, place, known: None, blob: None });
            }
            Err(error) => self.skip(file, error),
        }
    }
}

impl ContentLocation {
    /// The content, or why there is none. Blocks.
    fn read(&self) -> Result<Vec<u8>, String> {
        let (path, start, most) = match self {
            Self::File(path) => (path.as_path(), 0, MAX_FILE_BYTES + 1),
            Self::Part { file, start, bytes } => {
                (file.as_path(), *start, (*bytes).min(MAX_FILE_BYTES + 1))
            }
        };
        let read = || -> io::Result<Vec<u8>> {
            let mut file = fs::File::open(path)?;
            if !file.metadata()?.is_file() {
                return Err(io::Error::other("it is not an ordinary file"));
            }
            file.seek(SeekFrom::Start(start))?;
            let mut bytes = Vec::new();
            file.take(most).read_to_end(&mut bytes)?;
            Ok(bytes)
        };
        let bytes = read().map_err(|error| error.to_string())?;
        if bytes.len() as u64 > MAX_FILE_BYTES {
            return Err(format!("it has more than {} MiB", MAX_FILE_BYTES >> 20));
        }
        Ok(bytes)
    }

    pub(super) async fn bytes(&self) -> Result<Vec<u8>, String> {
        let place = self.clone();
        blocking(move || place.read()).await.map_err(|error| error.to_string())?
    }

    pub(super) async fn text(&self) -> Result<String, String> {
        String::from_utf8(self.bytes().await?).map_err(|_| "it is not UTF-8 text".to_owned())
    }
}

pub(super) fn file(file: &Path, uri: EntryUri) -> StoreResult<ImportCandidates> {
    let facts = fs::metadata(file).map_err(StoreError::io(format!("read `{}`", file.display())))?;
    // Anything else might never end.
    if !facts.is_file() {
        let reason = format!("`{}` is not an ordinary file", file.display());
        return Err(StoreError::invalid("source", reason));
    }
    let place = ContentLocation::File(file.to_owned());
    let found =
        vec![ImportCandidate { file: file.to_owned(), uri, place, known: None, blob: None }];
    Ok(ImportCandidates { found, ..ImportCandidates::default() })
}

/// The files of a folder that have a scheme's ending, at `<scheme>://<path without ending>`.
pub(super) async fn folder(
    session: &CapsuleHandle,
    folder: &Path,
    scheme: &str,
) -> StoreResult<ImportCandidates> {
    let scheme = named_scheme(session, scheme).await?;
    let ending = scheme.format.extension();
    let mut gathered = ImportCandidates::default();
    for path in files_below(folder, &mut gathered).await? {
        let below = path.strip_prefix(folder).unwrap_or(&path);
        if below.extension().is_none_or(|found| !found.eq_ignore_ascii_case(ending)) {
            let reason = format!("`{}://` takes files that end in `.{ending}`", scheme.name);
            gathered.skip(path, reason);
            continue;
        }
        let stem = below.with_extension("").to_string_lossy().replace('\\', "/");
        gathered.take(path, &scheme.name, &stem);
    }
    Ok(gathered)
}

/// Each `<name>/SKILL.md` below a folder, and each `<name>.md` in it, at `skills://<name>`.
pub(super) async fn skills(
    session: &CapsuleHandle,
    folder: &Path,
) -> StoreResult<ImportCandidates> {
    let scheme = named_scheme(session, "skills").await?;
    let mut gathered = ImportCandidates::default();
    for path in files_below(folder, &mut gathered).await? {
        let below = path.strip_prefix(folder).unwrap_or(&path);
        let is_skill = below.file_name().is_some_and(|name| name.eq_ignore_ascii_case("SKILL.md"));
        let parent = below.parent().filter(|parent| !parent.as_os_str().is_empty());
        let name = match (is_skill, parent) {
            (true, Some(parent)) => parent.to_owned(),
            (false, None) if below.extension().is_some_and(|ending| ending == "md") => {
                below.with_extension("")
            }
            _ => {
                gathered.skip(path, "only `<name>/SKILL.md` and `<name>.md` are skills");
                continue;
            }
        };
        gathered.take(path, &scheme.name, &name.to_string_lossy());
    }
    Ok(gathered)
}

async fn named_scheme(session: &CapsuleHandle, name: &str) -> StoreResult<Scheme> {
    crate::scheme::find(&session.entries.schemes().await?, name).cloned()
}

/// A file's path as an entry's: what an address does not take becomes `-`.
fn address(path: &str) -> String {
    let segment = |segment: &str| {
        let plain = |letter: char| letter.is_ascii_alphanumeric() || "._-".contains(letter);
        let text: String =
            segment.chars().map(|letter| if plain(letter) { letter } else { '-' }).collect();
        text.trim_matches(['-', '.', '_']).to_owned()
    };
    path.split('/').map(segment).collect::<Vec<_>>().join("/")
}

/// All ordinary files below a folder, in order. Links and the like are left out; hidden files and folders are passed over.
pub(super) async fn files_below(
    folder: &Path,
    gathered: &mut ImportCandidates,
) -> StoreResult<Vec<PathBuf>> {
    let top = folder.to_owned();
    let walk = move || -> io::Result<(Vec<PathBuf>, Vec<PathBuf>)> {
        let (mut found, mut others, mut folders) = (Vec::new(), Vec::new(), vec![top]);
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder)? {
                let entry = entry?;
                let kind = entry.file_type()?;
                if entry.file_name().to_string_lossy().starts_with('.') {
                    continue;
                }
                if kind.is_dir() {
                    folders.push(entry.path());
                } else if kind.is_file() {
                    found.push(entry.path());
                } else {
                    others.push(entry.path());
                }
                if found.len() + others.len() > MAX_IMPORT_FILES {
                    return Err(io::Error::other(format!(
                        "it has more than {MAX_IMPORT_FILES} files"
                    )));
                }
            }
        }
        found.sort();
        others.sort();
        Ok((found, others))
    };
    let walked = blocking(walk).await.flatten();
    let (found, others) = walked.map_err(StoreError::io(format!("read `{}`", folder.display())))?;
    for other in others {
        gathered.skip(other, "it is a link or no ordinary file, and is not followed");
    }
    Ok(found)
}
