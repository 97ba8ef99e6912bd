//! The files of one package, read with limits: nothing of it may lead out of it, and nothing is taken in without end.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use capdeck_definition::{Deck, Diagnostic, DiagnosticSeverity, check_paths};
use capdeck_storage::to_hex;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::{PackageError, PackageRisk};

const MAX_FILE_BYTES: u64 = 4 << 20;
const MAX_BYTES: u64 = 32 << 20;
const MAX_FILES: usize = 1_000;
/// The file that makes a folder a capability.
pub(super) const MAIN_FILE: &str = "CAPLET.md";

/// `<id>.md`, or `<id>/CAPLET.md` with files beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PackageKind {
    File,
    Directory,
}

/// One capability, with everything that belongs to it.
#[derive(Debug, Clone, PartialEq)]
pub struct CapabilityPackage {
    pub id: String,
    pub kind: PackageKind,
    pub(super) files: PackageFiles,
    /// SHA-256 over the names and contents of all files.
    pub hash: String,
    /// What it can do on this machine.
    pub risk: PackageRisk,
    /// What is wrong with its definition.
    pub diagnostics: Vec<Diagnostic>,
}

/// The files of a package by path below its folder; one file for a package that is one.
pub(super) type PackageFiles = BTreeMap<String, PackageFile>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PackageFile {
    pub(super) content: Vec<u8>,
    pub(super) is_program: bool,
}

impl CapabilityPackage {
    /// Reads a package from where its file or folder is. Links may lead to other places of `source`.
    pub(super) fn read(
        id: &str,
        kind: PackageKind,
        path: &Path,
        source: &Path,
    ) -> Result<Self, PackageError> {
        let mut reading = PackageReader::new(id, Some(source));
        reading.package(kind, path)?;
        let (has_links, files) = (reading.has_links, reading.files);
        // A deck does not follow links, so what was made of them is looked at where it is real.
        let stage = if has_links { Some(staged(id, &files)?) } else { None };
        let place = stage.as_ref().map_or_else(|| path.to_owned(), |stage| stage.path().join(id));
        let deck: Deck = check_paths(std::slice::from_ref(&place));
        let mut diagnostics = deck.diagnostics;
        for found in &mut diagnostics {
            if let Ok(below) = found.file.strip_prefix(&place) {
                found.file = path.join(below);
            }
        }
        let risk = PackageRisk::assess(&deck.definitions, &place, &files);
        Ok(Self { id: id.to_owned(), kind, hash: hash(&files), risk, diagnostics, files })
    }

    /// Whether its definition can be used.
    pub fn is_valid(&self) -> bool {
        self.diagnostics.iter().all(|found| found.severity != DiagnosticSeverity::Error)
    }
}

/// All files of a package in a deck. Links are refused: what they lead to is not part of it.
pub(super) fn read_files(
    id: &str,
    kind: PackageKind,
    path: &Path,
) -> Result<PackageFiles, PackageError> {
    let mut reading = PackageReader::new(id, None);
    reading.package(kind, path)?;
    Ok(reading.files)
}

/// Where a link leads, if that is inside of its source and no part of a repository's own data.
pub(super) fn real_inside(link: &Path, source: &Path) -> Option<PathBuf> {
    let (real, source) = (fs::canonicalize(link).ok()?, fs::canonicalize(source).ok()?);
    let below = real.strip_prefix(&source).ok()?;
    (!below.components().any(|part| part.as_os_str() == ".git")).then_some(real)
}

/// The files of a folder in a folder of the same name that is gone when dropped.
fn staged(id: &str, files: &PackageFiles) -> Result<tempfile::TempDir, PackageError> {
    let temporary = std::env::temp_dir();
    let failed = |source| PackageError::file("write", &temporary, source);
    let stage = tempfile::tempdir().map_err(failed)?;
    for (name, file) in files {
        let path = stage.path().join(id).join(name);
        let failed = |source| PackageError::file("write", &path, source);
        fs::create_dir_all(path.parent().unwrap_or(stage.path())).map_err(failed)?;
        fs::write(&path, &file.content).map_err(failed)?;
    }
    Ok(stage)
}

/// SHA-256 over names, marks and contents, each with its length, so that no file can imitate another.
pub(super) fn hash(files: &PackageFiles) -> String {
    let mut digest = Sha256::new();
    for (name, file) in files {
        let mark = if file.is_program { "program" } else { "file" };
        digest.update(format!("{mark} {} {} ", name.len(), file.content.len()));
        digest.update(name);
        digest.update(&file.content);
    }
    to_hex(digest.finalize())
}

struct PackageReader<'a> {
    id: &'a str,
    /// The folder that links may lead to places of; none where there may be no links.
    source: Option<&'a Path>,
    files: PackageFiles,
    bytes: u64,
    has_links: bool,
    /// The real folders that are being read, the outermost first.
    open: Vec<PathBuf>,
}

impl<'a> PackageReader<'a> {
    fn new(id: &'a str, source: Option<&'a Path>) -> Self {
        let (files, open) = (BTreeMap::new(), Vec::new());
        Self { id, source, files, bytes: 0, has_links: false, open }
    }

    fn package(&mut self, kind: PackageKind, path: &Path) -> Result<(), PackageError> {
        match kind {
            PackageKind::File => self.file(path, format!("{}.md", self.id)),
            PackageKind::Directory => self.folder(path, ""),
        }
    }

    fn folder(&mut self, dir: &Path, prefix: &str) -> Result<(), PackageError> {
        let failed = |source| PackageError::file("read", dir, source);
        let real = fs::canonicalize(dir).map_err(failed)?;
        if self.open.contains(&real) {
            let shown = prefix.trim_end_matches('/');
            return Err(self.refused(format!("`{shown}` is a link to a folder that holds it")));
        }
        self.open.push(real);
        for entry in fs::read_dir(dir).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let Ok(name) = entry.file_name().into_string() else {
                return Err(self.refused(format!("a name in `{}` is not UTF-8", dir.display())));
            };
            if name == ".git" {
                continue;
            }
            let shown = format!("{prefix}{name}");
            let kind = entry.file_type().map_err(failed)?;
            let path = match self.source.filter(|_| kind.is_symlink()) {
                Some(source) => self.follow(&entry.path(), source, &shown)?,
                None => entry.path(),
            };
            if kind.is_dir() || (kind.is_symlink() && self.source.is_some() && path.is_dir()) {
                self.folder(&path, &format!("{shown}/"))?;
            } else {
                self.file(&path, shown)?;
            }
        }
        self.open.pop();
        Ok(())
    }

    fn follow(&mut self, link: &Path, source: &Path, shown: &str) -> Result<PathBuf, PackageError> {
        self.has_links = true;
        real_inside(link, source).ok_or_else(|| {
            self.refused(format!("`{shown}` is a symbolic link that leads out of the source"))
        })
    }

    fn file(&mut self, path: &Path, shown: String) -> Result<(), PackageError> {
        let failed = |source| PackageError::file("read", path, source);
        let facts = fs::symlink_metadata(path).map_err(failed)?;
        if facts.is_symlink() {
            return Err(self.refused(format!("`{shown}` is a symbolic link")));
        }
        if !facts.is_file() {
            return Err(self.refused(format!("`{shown}` is no regular file")));
        }
        self.bytes += facts.len();
        if facts.len() > MAX_FILE_BYTES || self.bytes > MAX_BYTES || self.files.len() >= MAX_FILES {
            return Err(self.refused(format!(
                "it is larger than {} MB a file, {} MB or {MAX_FILES} files in all, at `{shown}`",
                MAX_FILE_BYTES >> 20,
                MAX_BYTES >> 20
            )));
        }
        let content = fs::read(path).map_err(failed)?;
        self.files.insert(shown, PackageFile { content, is_program: is_program(&facts) });
        Ok(())
    }

    fn refused(&self, reason: String) -> PackageError {
        PackageError::BadContents { id: self.id.to_owned(), reason }
    }
}

#[cfg(unix)]
fn is_program(facts: &fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    facts.permissions().mode() & 0o100 != 0
}

#[cfg(not(unix))]
fn is_program(_: &fs::Metadata) -> bool {
    false
}

const AROUND: usize = 3;
/// More lines than this are counted and not shown.
const MAX_DIFF_LINES: usize = 200;

/// What changes from one set of files to another. Empty when nothing does.
pub(super) fn diff(before: &PackageFiles, after: &PackageFiles) -> String {
    let mut names: Vec<&String> = before.keys().chain(after.keys()).collect();
    names.sort_unstable();
    names.dedup();
    let mut shown = String::new();
    for name in names {
        let (old, new) = (before.get(name), after.get(name));
        if old == new {
            continue;
        }
        shown.push_str(&format!("--- {}\n+++ {}\n", side(name, old), side(name, new)));
        match (text(old), text(new)) {
            (Some(old), Some(new)) if old == new => shown.push_str("the file's mode changes\n"),
            (Some(old), Some(new)) => shown.push_str(&hunk(old, new)),
            _ => shown.push_str("the file is no text\n"),
        }
    }
    shown
}

fn side(name: &str, file: Option<&PackageFile>) -> String {
    file.map_or_else(|| "(none)".to_owned(), |_| name.to_owned())
}

/// The text of a file; an empty one where there is none.
fn text(file: Option<&PackageFile>) -> Option<&str> {
    match file {
        Some(file) => std::str::from_utf8(&file.content).ok(),
        None => Some(""),
    }
}

/// The lines between the first and the last that differ, with some around them.
fn hunk(old: &str, new: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let same = old.iter().zip(&new).take_while(|(one, other)| one == other).count();
    let most = old.len().min(new.len()) - same;
    let ends = old.iter().rev().zip(new.iter().rev());
    let same_after = ends.take_while(|(one, other)| one == other).count().min(most);
    let part = |lines: &[&str], from: usize, to: usize, mark: char| -> String {
        let chosen = lines.get(from..to).unwrap_or_default();
        let mut shown: String =
            chosen.iter().take(MAX_DIFF_LINES).map(|line| format!("{mark}{line}\n")).collect();
        if chosen.len() > MAX_DIFF_LINES {
            shown.push_str(&format!("{mark}… {} more lines\n", chosen.len() - MAX_DIFF_LINES));
        }
        shown
    };
    let start = same.saturating_sub(AROUND);
    let (old_end, new_end) = (old.len() - same_after, new.len() - same_after);
    let after = (old_end + AROUND).min(old.len());
    format!(
        "@@ line {} @@\n{}{}{}{}",
        same + 1,
        part(&old, start, same, ' '),
        part(&old, same, old_end, '-'),
        part(&new, same, new_end, '+'),
        part(&old, old_end, after, ' ')
    )
}
