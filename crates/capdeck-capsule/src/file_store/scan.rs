//! Reads a capsule's files at the start, and finishes or undoes what a crash left half done.
//!
//! A body at its place commits a version; its absence commits a deletion. So:
//! - a sidecar without a body is of a creation or deletion that was cut off: it goes;
//! - a sidecar that does not fit its body, where the version before does: that version is put back;
//! - a tombstone beside its entry: the deletion was cut off (or the entry was written again): it goes;
//! - a tombstone that says `is_purged`: the rest goes, too.

use std::{
    fs, io,
    num::NonZero,
    path::{Path, PathBuf},
    thread,
};

use capdeck_storage::sha256_hex;

use super::{
    capsule_files::CapsuleFiles,
    engine::StoreEngine,
    layout::{self, EntryFiles},
    remove_entry::EntryTombstone,
    version_files::{LoadedVersion, VersionIntegrity, load_checked},
};
use crate::{
    DeletedEntry, EntryMeta, EntryUri, Scheme, StoreError, StoreMode, VerifyProblem,
    scheme::BodyFormat,
};

/// Files from which on reading them is shared out to threads.
const PARALLEL_SCAN_THRESHOLD: usize = 200;
const MAX_SCAN_THREADS: usize = 4;
const NO_ENTRY: &str = "it is no entry of this scheme";

#[derive(Debug, Default)]
pub(super) struct ScanResult {
    pub(super) entries: Vec<EntryMeta>,
    pub(super) deleted: Vec<DeletedEntry>,
    pub(super) problems: Vec<VerifyProblem>,
}

/// What cannot be read is reported, and costs only itself.
pub(super) fn scan(engine: &StoreEngine) -> ScanResult {
    let mut scanned = ScanResult::default();
    let schemes = engine.state.read().schemes.clone();
    finish_removals(engine, &schemes, &mut scanned);
    let (found, others) = find_bodies(engine, &schemes, &mut scanned.problems);
    for (path, scheme) in others {
        check_other_file(engine, scheme, &path, &mut scanned.problems);
    }
    let read = |part: &[(EntryUri, &Scheme)]| -> Vec<Result<EntryMeta, VerifyProblem>> {
        part.iter().map(|(uri, scheme)| read_entry(engine, uri, scheme)).collect()
    };
    let threads = thread::available_parallelism().map_or(1, NonZero::get).min(MAX_SCAN_THREADS);
    let results: Vec<_> = if found.len() < PARALLEL_SCAN_THRESHOLD || threads == 1 {
        read(&found)
    } else {
        thread::scope(|scope| {
            let parts = found.chunks(found.len().div_ceil(threads));
            let running: Vec<_> = parts.map(|part| scope.spawn(move || read(part))).collect();
            running
                .into_iter()
                .flat_map(|handle| {
                    handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
                })
                .collect()
        })
    };
    let mut folded = rustc_hash::FxHashSet::default();
    for result in results {
        match result {
            Ok(meta) if folded.insert(meta.uri.folded()) => scanned.entries.push(meta),
            Ok(meta) => {
                let what = "another entry differs in case only".to_owned();
                scanned.problems.push(VerifyProblem { place: meta.uri.to_string(), what });
            }
            Err(problem) => scanned.problems.push(problem),
        }
    }
    scanned
}

/// Looks for files that are no entries, beside writers at work. Nothing is changed.
pub(crate) fn find_problems(engine: &StoreEngine) -> Vec<VerifyProblem> {
    let mut problems = Vec::new();
    let schemes = engine.state.read().schemes.clone();
    let (found, others) = find_bodies(engine, &schemes, &mut problems);
    problems.extend(found.iter().filter_map(|(uri, scheme)| unknown_entry(engine, uri, scheme)));
    let strangers = others.iter().filter(|(path, scheme)| !is_sidecar(scheme, path));
    problems.extend(strangers.map(|(path, _)| problem(engine, path, NO_ENTRY)));
    for path in files_below(engine, &engine.files.layout.folder("trash"), &mut problems) {
        // Restored or purged between the two looks.
        if let Err(what) = read_tombstone(engine, &schemes, &path)
            && path.exists()
        {
            problems.push(problem(engine, &path, what));
        }
    }
    files_below(engine, &engine.files.layout.folder("history"), &mut problems);
    problems
}

type InScheme<'a, T> = (T, &'a Scheme);

/// The addresses of all bodies, and the other files in the folders of schemes.
fn find_bodies<'a>(
    engine: &StoreEngine,
    schemes: &'a [Scheme],
    problems: &mut Vec<VerifyProblem>,
) -> (Vec<InScheme<'a, EntryUri>>, Vec<InScheme<'a, PathBuf>>) {
    let (mut found, mut others) = (Vec::new(), Vec::new());
    for scheme in schemes {
        let folder = engine.files.layout.scheme_folder(scheme);
        for path in files_below(engine, &folder, problems) {
            let Ok(below) = path.strip_prefix(&folder) else { continue };
            match layout::uri_of(scheme, below) {
                Some(Ok(uri)) => found.push((uri, scheme)),
                Some(Err(error)) => problems.push(problem(engine, &path, error.to_string())),
                None => others.push((path, scheme)),
            }
        }
    }
    (found, others)
}

/// What is wrong with a body that the store does not know.
fn unknown_entry(engine: &StoreEngine, uri: &EntryUri, scheme: &Scheme) -> Option<VerifyProblem> {
    let _entry = engine.files.stripe(&uri.folded()).lock();
    if engine.current(uri).is_some() {
        return None;
    }
    let what = match engine.read_quiet(uri, scheme) {
        Ok(None) => return None,
        Ok(Some(_)) => {
            "it came since the capsule was opened, or differs from another entry in case only"
                .to_owned()
        }
        Err(error) => error.to_string(),
    };
    Some(VerifyProblem { place: uri.to_string(), what })
}

fn read_entry(
    engine: &StoreEngine,
    uri: &EntryUri,
    scheme: &Scheme,
) -> Result<EntryMeta, VerifyProblem> {
    let failed =
        |error: &StoreError| VerifyProblem { place: uri.to_string(), what: error.to_string() };
    heal(&engine.files, uri, scheme);
    match load_checked(uri, &engine.files.layout.current(uri, scheme), scheme.format) {
        Ok(Some(loaded)) => Ok(loaded.into_found().meta),
        Ok(None) => Err(failed(&StoreError::NotFound { uri: uri.clone(), version: None })),
        Err(error) => Err(failed(&error)),
    }
}

/// Brings body and sidecar of a JSON entry together again after a write that was cut off.
pub(super) fn heal(capsule: &CapsuleFiles, uri: &EntryUri, scheme: &Scheme) {
    if scheme.format != BodyFormat::Json || capsule.options.mode == StoreMode::ReadOnly {
        return;
    }
    let files = capsule.layout.current(uri, scheme);
    let Some(sidecar) = &files.meta else { return };
    if [sidecar, &files.body].iter().any(|path| capsule.layout.check_file(path).is_err()) {
        return;
    }
    let result = if files.body.exists() {
        put_back_sidecar(capsule, uri, &files, sidecar)
    } else {
        capsule.disk.remove(sidecar)
    };
    if let Err(error) = result {
        tracing::warn!(%uri, %error, "a half-done write could not be undone");
    }
}

fn put_back_sidecar(
    capsule: &CapsuleFiles,
    uri: &EntryUri,
    files: &EntryFiles,
    sidecar: &Path,
) -> io::Result<()> {
    let load =
        |files: &EntryFiles| capsule.layout.load(uri, files, BodyFormat::Json).ok().flatten();
    let Some(LoadedVersion { entry, fit: VersionIntegrity::Apart, .. }) = load(files) else {
        return Ok(());
    };
    let version = entry.meta.version.saturating_sub(1);
    let before = capsule.layout.version(uri, version, BodyFormat::Json);
    let fits = load(&before).is_some_and(|old| {
        old.fit == VersionIntegrity::Whole
            && old.entry.meta.content_sha256 == sha256_hex(entry.body.as_bytes())
    });
    match before.meta {
        Some(old) if fits => capsule.disk.replace(sidecar, &fs::read(old)?),
        Some(_) | None => Ok(()),
    }
}

/// Reads tombstones; finishes purges and drops the tombstones of entries that are there.
fn finish_removals(engine: &StoreEngine, schemes: &[Scheme], scanned: &mut ScanResult) {
    let folder = engine.files.layout.folder("trash");
    for path in files_below(engine, &folder, &mut scanned.problems) {
        match finish_removal(engine, schemes, &path) {
            Ok(deleted) => scanned.deleted.extend(deleted),
            Err(what) => scanned.problems.push(problem(engine, &path, what)),
        }
    }
}

/// The entry that a tombstone is about, if it is deleted, or what is wrong with the tombstone.
fn finish_removal(
    engine: &StoreEngine,
    schemes: &[Scheme],
    path: &Path,
) -> Result<Option<DeletedEntry>, String> {
    let (EntryTombstone { entry, is_purged }, scheme) = read_tombstone(engine, schemes, path)?;
    let uri = &entry.uri;
    let can_write = engine.files.options.mode == StoreMode::ReadWrite;
    if is_purged {
        if can_write {
            let purged = engine.finish_purge(uri, scheme);
            purged.map_err(|error| format!("the purge cannot be finished: {error}"))?;
        }
        return Ok(None);
    }
    if engine.files.layout.current(uri, scheme).body.exists() {
        if can_write {
            let removed = engine.files.disk.remove(path);
            removed.map_err(|error| format!("a half-done deletion cannot be undone: {error}"))?;
        }
        return Ok(None);
    }
    Ok(Some(entry))
}

/// A tombstone and the scheme of its entry, or what is wrong with it.
fn read_tombstone<'a>(
    engine: &StoreEngine,
    schemes: &'a [Scheme],
    path: &Path,
) -> Result<(EntryTombstone, &'a Scheme), String> {
    let text = fs::read(path).map_err(|error| format!("it cannot be read: {error}"))?;
    let Ok(tombstone) = serde_json::from_slice::<EntryTombstone>(&text) else {
        return Err("it is no tombstone".to_owned());
    };
    let uri = &tombstone.entry.uri;
    let scheme = schemes.iter().find(|scheme| scheme.name == uri.scheme());
    match scheme.filter(|_| engine.files.layout.tombstone(uri) == path) {
        Some(scheme) => Ok((tombstone, scheme)),
        None => Err("it belongs to no entry of the capsule".to_owned()),
    }
}

/// A file in a scheme's folder that is no body: a sidecar whose body is missing goes, anything else is reported.
fn check_other_file(
    engine: &StoreEngine,
    scheme: &Scheme,
    path: &Path,
    problems: &mut Vec<VerifyProblem>,
) {
    if !is_sidecar(scheme, path) {
        problems.push(problem(engine, path, NO_ENTRY));
        return;
    }
    let name = path.to_string_lossy();
    let body = name.strip_suffix(".meta.json").map(|stem| PathBuf::from(format!("{stem}.json")));
    if body.is_some_and(|body| body.exists()) || engine.files.options.mode == StoreMode::ReadOnly {
        return;
    }
    if let Err(error) = engine.files.disk.remove(path) {
        problems.push(problem(engine, path, format!("it has no body and cannot go: {error}")));
    }
}

fn is_sidecar(scheme: &Scheme, path: &Path) -> bool {
    scheme.format == BodyFormat::Json && path.to_string_lossy().ends_with(".meta.json")
}

/// All ordinary files below a folder. Links, other things and folders that cannot be read are reported and passed over.
fn files_below(
    engine: &StoreEngine,
    folder: &Path,
    problems: &mut Vec<VerifyProblem>,
) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let unreadable = |error: &io::Error| problem(engine, &folder, cannot_be_read(error));
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => {
                problems.push(unreadable(&error));
                continue;
            }
        };
        for entry in entries {
            let known = entry.and_then(|entry| Ok((entry.path(), entry.file_type()?)));
            match known {
                Ok((path, kind)) if kind.is_dir() => folders.push(path),
                Ok((path, kind)) if kind.is_file() => found.push(path),
                Ok((path, _)) => problems.push(problem(
                    engine,
                    &path,
                    "it is a link or no ordinary file, and is not followed",
                )),
                Err(error) => problems.push(unreadable(&error)),
            }
        }
    }
    found.sort();
    found
}

fn cannot_be_read(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotADirectory => "a file where a folder should be".to_owned(),
        _ => format!("it cannot be read: {error}"),
    }
}

fn problem(engine: &StoreEngine, path: &Path, what: impl Into<String>) -> VerifyProblem {
    VerifyProblem { place: engine.files.layout.display_path(path), what: what.into() }
}
