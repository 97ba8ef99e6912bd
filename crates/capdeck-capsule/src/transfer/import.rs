//! Folders, `AGENTS.md` and skills into a capsule. Each entry that is written is a call of its own in the audit.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use serde::Serialize;

use crate::{CapsuleSession, EntryUri, Scheme, StoreError, Write};

/// Files taken from one folder.
const MOST_FILES: usize = 10_000;

/// What an import did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ImportReport {
    pub written: Vec<ImportedFile>,
    pub skipped: Vec<SkippedFile>,
}

/// A file that is an entry now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ImportedFile {
    pub file: PathBuf,
    pub uri: EntryUri,
    pub version: u64,
}

/// A file that was left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SkippedFile {
    pub file: PathBuf,
    pub reason: String,
}

/// Writes one file, such as `AGENTS.md`, to an address.
pub async fn import_file(
    session: &CapsuleSession,
    file: &Path,
    uri: EntryUri,
) -> Result<ImportReport, StoreError> {
    let mut report = ImportReport::default();
    let text = load(file).await;
    put(session, file.to_owned(), uri, text, &mut report).await?;
    Ok(report)
}

/// Writes the files of a folder that have a scheme's ending to `<scheme>://<path without ending>`. A folder that
/// [`super::export_folder`] wrote has a folder per scheme: import each of them.
pub async fn import_folder(
    session: &CapsuleSession,
    folder: &Path,
    scheme: &str,
) -> Result<ImportReport, StoreError> {
    let scheme = named_scheme(session, scheme).await?;
    let mut report = ImportReport::default();
    for path in files_below(folder).await? {
        let below = path.strip_prefix(folder).unwrap_or(&path);
        let ending = scheme.format.extension();
        if below.extension().is_none_or(|found| !found.eq_ignore_ascii_case(ending)) {
            let reason = format!("`{}://` takes files that end in `.{ending}`", scheme.name);
            report.skipped.push(SkippedFile { file: path, reason });
            continue;
        }
        let stem = below.with_extension("").to_string_lossy().replace('\\', "/");
        match EntryUri::new(&scheme.name, &address(&stem)) {
            Ok(uri) => {
                let text = load(&path).await;
                put(session, path, uri, text, &mut report).await?;
            }
            Err(error) => {
                report.skipped.push(SkippedFile { file: path, reason: error.to_string() });
            }
        }
    }
    Ok(report)
}

/// Writes each `<name>/SKILL.md` below a folder, and each `<name>.md` in it, to `skills://<name>`.
pub async fn import_skills(
    session: &CapsuleSession,
    folder: &Path,
) -> Result<ImportReport, StoreError> {
    let scheme = named_scheme(session, "skills").await?;
    let mut report = ImportReport::default();
    for path in files_below(folder).await? {
        let below = path.strip_prefix(folder).unwrap_or(&path);
        let is_skill = below.file_name().is_some_and(|name| name.eq_ignore_ascii_case("SKILL.md"));
        let parent = below.parent().filter(|parent| !parent.as_os_str().is_empty());
        let name = match (is_skill, parent) {
            (true, Some(parent)) => parent.to_owned(),
            (false, None) if below.extension().is_some_and(|ending| ending == "md") => {
                below.with_extension("")
            }
            _ => {
                let reason = "only `<name>/SKILL.md` and `<name>.md` are skills".to_owned();
                report.skipped.push(SkippedFile { file: path, reason });
                continue;
            }
        };
        match EntryUri::new(&scheme.name, &address(&name.to_string_lossy())) {
            Ok(uri) => {
                let text = load(&path).await;
                put(session, path, uri, text, &mut report).await?;
            }
            Err(error) => {
                report.skipped.push(SkippedFile { file: path, reason: error.to_string() });
            }
        }
    }
    Ok(report)
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

async fn named_scheme(session: &CapsuleSession, name: &str) -> Result<Scheme, StoreError> {
    crate::scheme::find(&session.schemes().await?, name).cloned()
}

/// Writes one entry. What is wrong with the file is a reason to leave it out; what is wrong with the store ends it.
async fn put(
    session: &CapsuleSession,
    file: PathBuf,
    uri: EntryUri,
    text: Result<String, String>,
    report: &mut ImportReport,
) -> Result<(), StoreError> {
    let text = match text {
        Ok(text) => text,
        Err(reason) => {
            report.skipped.push(SkippedFile { file, reason });
            return Ok(());
        }
    };
    let content = session.default_content(text);
    match session.write(Write::new(uri.clone(), content)).await {
        Ok(written) => report.written.push(ImportedFile { file, uri, version: written.version }),
        Err(
            error @ (StoreError::Io { .. }
            | StoreError::AuditFailed { .. }
            | StoreError::ReadOnly
            | StoreError::Closed
            | StoreError::ForbiddenRole { .. }),
        ) => return Err(error),
        Err(error) => report.skipped.push(SkippedFile { file, reason: error.to_string() }),
    }
    Ok(())
}

async fn load(file: &Path) -> Result<String, String> {
    let path = file.to_owned();
    let read = tokio::task::spawn_blocking(move || fs::read(path)).await;
    let bytes = read
        .unwrap_or_else(|error| Err(io::Error::other(error)))
        .map_err(|error| error.to_string())?;
    String::from_utf8(bytes).map_err(|_| "it is not UTF-8 text".to_owned())
}

/// All ordinary files below a folder, in order. Links are not followed; hidden files and folders are passed over.
async fn files_below(folder: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let top = folder.to_owned();
    let walk = move || -> io::Result<Vec<PathBuf>> {
        let (mut found, mut folders) = (Vec::new(), vec![top]);
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
                }
                if found.len() > MOST_FILES {
                    return Err(io::Error::other(format!("it has more than {MOST_FILES} files")));
                }
            }
        }
        found.sort();
        Ok(found)
    };
    let walked = tokio::task::spawn_blocking(walk)
        .await
        .unwrap_or_else(|error| Err(io::Error::other(error)));
    walked.map_err(StoreError::io(format!("read `{}`", folder.display())))
}
