//! A capsule as files: a folder, a tar archive, or a stream for `git fast-import`.

use std::{
    collections::BTreeSet,
    fs,
    io::{self, BufWriter, Write as _},
    path::Path,
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    manifest::{self, BLOBS, MANIFEST, file_name},
    tar,
};
use crate::{
    BlobContent, BlobId, BlobRef, CapsuleHandle, Entry, EntryUri, StoreError, StoreResult,
    blocking::blocking, trust::one_line,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExportFormat {
    /// Files below a folder that is not there yet or empty.
    Folder,
    /// One archive with the same files.
    Tar,
    /// Every version as a commit, for `git fast-import`.
    GitStream,
}

/// What an export wrote.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExportReport {
    pub entries: usize,
    pub blobs: usize,
    /// Bytes of bodies and blobs.
    pub bytes: u64,
    /// Entries that cannot be read. Everything else is in the export.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<SkippedEntry>,
}

/// An entry that is not in an export.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SkippedEntry {
    pub uri: EntryUri,
    pub reason: String,
}

impl ExportReport {
    /// What was read of an entry. One that cannot be read is skipped and costs only itself; a store that cannot be
    /// used any more fails the export.
    pub(super) fn unless_unreadable<T>(
        &mut self,
        uri: &EntryUri,
        read: StoreResult<T>,
    ) -> StoreResult<Option<T>> {
        match read {
            Ok(read) => Ok(Some(read)),
            Err(StoreError::Closed) => Err(StoreError::Closed),
            // Deleted since it was listed.
            Err(StoreError::NotFound { .. }) => Ok(None),
            Err(error) => {
                let reason = error.to_string();
                self.skipped.push(SkippedEntry { uri: uri.clone(), reason });
                Ok(None)
            }
        }
    }
}

/// An entry and its blob, if it has one that is not in the export yet.
async fn read_whole(
    session: &CapsuleHandle,
    uri: &EntryUri,
    blobs: &mut BTreeSet<BlobId>,
) -> StoreResult<(Entry, Option<BlobContent>)> {
    let entry = session.entries.read(uri, None).await?;
    let is_new = |blob: &&BlobRef| !blobs.contains(&blob.sha256);
    let blob = match entry.meta.blob.as_ref().filter(is_new) {
        Some(_) => Some(session.entries.read_blob(uri, None).await?),
        None => None,
    };
    blobs.extend(blob.as_ref().map(|blob| blob.reference.sha256.clone()));
    Ok((entry, blob))
}

/// Writes what the session sees to a path where nothing is yet. What fails leaves nothing behind.
///
/// Entries go to `<scheme>/<path>.<ext>` as bare content, blobs to `_blobs`, and what is known about them to
/// `capsule.json`. Memory, signals and the audit stay.
pub async fn export(
    session: &CapsuleHandle,
    form: ExportFormat,
    path: &Path,
) -> StoreResult<ExportReport> {
    let exported = match form {
        ExportFormat::Folder => write_folder(session, path).await,
        ExportFormat::Tar | ExportFormat::GitStream => write_file(session, form, path).await,
    };
    session.recorded("export", exported)
}

async fn write_file(
    session: &CapsuleHandle,
    form: ExportFormat,
    path: &Path,
) -> StoreResult<ExportReport> {
    let failed = || StoreError::io(format!("write `{}`", path.display()));
    let file = match fs::File::options().write(true).create_new(true).open(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let reason = format!("`{}` is there already; export to a new file", path.display());
            return Err(StoreError::InvalidInput { what: "path", reason });
        }
        opened => opened.map_err(failed())?,
    };
    let mut target = BufWriter::new(file);
    let written = match form {
        ExportFormat::GitStream => write_stream(session, &mut target).await,
        ExportFormat::Folder | ExportFormat::Tar => {
            write_all(session, ExportSink::Tar(&mut target)).await
        }
    };
    let synced = written.and_then(|report| {
        if form == ExportFormat::Tar {
            target.write_all(&[0; 2 * tar::BLOCK]).map_err(StoreError::io("write the archive"))?;
        }
        target.flush().and_then(|()| target.get_ref().sync_all()).map_err(failed())?;
        Ok(report)
    });
    if synced.is_err() {
        // The failure itself is returned.
        fs::remove_file(path).ok();
    }
    synced
}

async fn write_folder(session: &CapsuleHandle, folder: &Path) -> StoreResult<ExportReport> {
    let failed = || StoreError::io(format!("write `{}`", folder.display()));
    if fs::symlink_metadata(folder).is_ok_and(|found| !found.is_dir()) {
        return Err(StoreError::invalid("folder", format!("`{}` is no folder", folder.display())));
    }
    let exists = match folder.read_dir().map(|mut entries| entries.next().is_some()) {
        Ok(true) => {
            let reason = format!("`{}` is not empty", folder.display());
            return Err(StoreError::invalid("folder", reason));
        }
        Ok(false) => true,
        Err(error) if error.kind() == io::ErrorKind::NotFound => false,
        Err(error) => return Err(failed()(error)),
    };
    // It is filled beside its place and moved there whole.
    let parent = match folder.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let unfinished = parent.join(format!(".{name}.{}.unfinished", std::process::id()));
    fs::create_dir(&unfinished).map_err(failed())?;
    let filled = write_all(session, ExportSink::Folder(&unfinished)).await.and_then(|report| {
        if exists {
            fs::remove_dir(folder).map_err(failed())?;
        }
        fs::rename(&unfinished, folder).map_err(failed())?;
        Ok(report)
    });
    if filled.is_err() {
        fs::remove_dir_all(&unfinished).ok();
    }
    filled
}

/// What files are written to.
enum ExportSink<'a> {
    Folder(&'a Path),
    Tar(&'a mut (dyn io::Write + Send)),
}

impl ExportSink<'_> {
    async fn add(&mut self, name: &str, bytes: Vec<u8>, moment: i64) -> StoreResult<()> {
        match self {
            Self::Folder(folder) => {
                let path = folder.join(name);
                let failed = StoreError::io(format!("write `{}`", path.display()));
                let work = move || {
                    fs::create_dir_all(path.parent().unwrap_or(&path))?;
                    fs::write(&path, bytes)
                };
                blocking(work).await.flatten().map_err(failed)
            }
            Self::Tar(target) => {
                tar::add(*target, name, &bytes, moment).map_err(StoreError::io("write the archive"))
            }
        }
    }
}

/// Writes every entry and blob that the session sees, and what is known about them at the end.
async fn write_all(session: &CapsuleHandle, mut sink: ExportSink<'_>) -> StoreResult<ExportReport> {
    let mut report = ExportReport::default();
    let (mut known, mut blobs) = (Vec::new(), BTreeSet::new());
    for meta in session.entries.all(None).await? {
        let read = read_whole(session, &meta.uri, &mut blobs).await;
        let Some((entry, blob)) = report.unless_unreadable(&meta.uri, read)? else { continue };
        let moment = entry.meta.written_at.as_second();
        let name = file_name(&entry);
        report.entries += 1;
        report.bytes += entry.meta.bytes;
        known.push(entry.meta);
        sink.add(&name, entry.body.into_bytes(), moment).await?;
        if let Some(BlobContent { reference, bytes }) = blob {
            report.blobs += 1;
            report.bytes += bytes.len() as u64;
            sink.add(&format!("{BLOBS}/{}", reference.sha256.as_str()), bytes, moment).await?;
        }
    }
    let moment = known.iter().map(|meta| meta.written_at.as_second()).max().unwrap_or_default();
    let text = manifest::render(session, &known, &report.skipped).await?;
    sink.add(MANIFEST, text, moment).await?;
    Ok(report)
}

/// Writes every version that the session sees as a commit of its own, in the order they were written. The stream is
/// what `git fast-import` reads in an empty repository; the branch is `main`.
async fn write_stream(
    session: &CapsuleHandle,
    target: &mut (dyn io::Write + Send),
) -> StoreResult<ExportReport> {
    let mut report = ExportReport::default();
    let mut versions = Vec::new();
    for meta in session.entries.all(None).await? {
        let history = session.entries.history(&meta.uri).await;
        versions.extend(report.unless_unreadable(&meta.uri, history)?.unwrap_or_default());
    }
    versions.sort_by_key(|meta| (meta.written_at, meta.uri.clone(), meta.version));
    for meta in versions {
        let read = session.entries.read(&meta.uri, Some(meta.version)).await;
        let Some(entry) = report.unless_unreadable(&meta.uri, read)? else { continue };
        commit(target, &entry).map_err(StoreError::io("write the stream"))?;
        report.entries += 1;
        report.bytes += meta.bytes;
    }
    target
        .write_all(b"done\n")
        .and_then(|()| target.flush())
        .map_err(StoreError::io("write the stream"))?;
    Ok(report)
}

fn commit(target: &mut dyn io::Write, entry: &Entry) -> io::Result<()> {
    let meta = &entry.meta;
    // Names end at `<` in a commit.
    let name = one_line(&meta.written_by).replace(['<', '>'], "");
    let name = if name.is_empty() { "unknown".to_owned() } else { name };
    let subject = format!("{} version {}", meta.uri, meta.version);
    let title =
        meta.title.as_ref().map(|title| format!("\n\n{}", one_line(title))).unwrap_or_default();
    let message = format!("{subject}{title}\n");
    writeln!(target, "commit refs/heads/main")?;
    writeln!(target, "committer {name} <> {} +0000", meta.written_at.as_second())?;
    writeln!(target, "data {}\n{message}", message.len())?;
    // Addresses are plain ASCII without spaces or quotes, so the path needs no quoting.
    writeln!(target, "M 100644 inline {}", file_name(entry))?;
    writeln!(target, "data {}", entry.body.len())?;
    target.write_all(entry.body.as_bytes())?;
    target.write_all(b"\n")
}
