//! A capsule as a folder of plain files.

use std::{fs, io, path::Path};

use serde::Serialize;

use crate::{CapsuleSession, Entry, EntryMeta, ListRequest, MOST_LISTED, Store as _, StoreError};

/// What an export wrote.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ExportReport {
    pub entries: usize,
    pub bytes: u64,
}

/// Writes every entry that the session sees to `<folder>/<scheme>/<path>.<ext>`, as bare content, and what is known
/// about them to `<folder>/capsule.json`. Memory, signals and the audit stay.
pub async fn export_folder(
    session: &CapsuleSession,
    folder: &Path,
) -> Result<ExportReport, StoreError> {
    let exported = write_folder(session, folder).await;
    session.recorded("export", exported).await
}

async fn write_folder(session: &CapsuleSession, folder: &Path) -> Result<ExportReport, StoreError> {
    if folder.read_dir().is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(StoreError::invalid("folder", format!("`{}` is not empty", folder.display())));
    }
    let mut report = ExportReport::default();
    let mut known = Vec::new();
    for meta in all_entries(session).await? {
        let entry = session.store().read(&meta.uri, None).await?;
        let path = folder.join(file_name(&entry));
        report.entries += 1;
        report.bytes += entry.meta.bytes;
        let body = entry.body;
        known.push(entry.meta);
        write(path, body.into_bytes()).await?;
    }
    write(folder.join("capsule.json"), manifest(session, &known)?).await?;
    Ok(report)
}

/// All entries that a session sees, by address.
pub(super) async fn all_entries(session: &CapsuleSession) -> Result<Vec<EntryMeta>, StoreError> {
    let mut request = ListRequest { limit: MOST_LISTED, ..ListRequest::default() };
    let mut found = Vec::new();
    loop {
        let page = session.store().list(&request).await?;
        found.extend(page.items);
        match page.next_cursor {
            Some(cursor) => request.cursor = Some(cursor),
            None => return Ok(found),
        }
    }
}

/// Where an entry's content goes, below the top of an export.
pub(super) fn file_name(entry: &Entry) -> String {
    let uri = &entry.meta.uri;
    format!("{}/{}.{}", uri.scheme(), uri.path(), entry.format.extension())
}

/// What is known about the exported entries.
pub(super) fn manifest(
    session: &CapsuleSession,
    entries: &[EntryMeta],
) -> Result<Vec<u8>, StoreError> {
    let value = serde_json::json!({ "capsule": session.capsule(), "entries": entries });
    let text = serde_json::to_vec_pretty(&value).map_err(io::Error::other);
    text.map_err(StoreError::io("describe the export"))
}

async fn write(path: std::path::PathBuf, bytes: Vec<u8>) -> Result<(), StoreError> {
    let shown = path.display().to_string();
    let work = move || {
        fs::create_dir_all(path.parent().unwrap_or(&path))?;
        fs::write(&path, bytes)
    };
    let done = tokio::task::spawn_blocking(work)
        .await
        .unwrap_or_else(|error| Err(io::Error::other(error)));
    done.map_err(StoreError::io(format!("write `{shown}`")))
}
