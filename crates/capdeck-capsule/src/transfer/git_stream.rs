//! A capsule's whole past as commits, for `git fast-import`.

use std::io::{self, Write};

use super::manifest::file_name;
use crate::{CapsuleHandle, Entry, ExportReport, StoreError, trust::one_line};

/// Writes every version that the session sees as a commit of its own, in the order they were written. The stream is
/// what `git fast-import` reads in an empty repository; the branch is `main`.
pub(super) async fn write_stream(
    session: &CapsuleHandle,
    target: &mut (dyn Write + Send),
) -> Result<ExportReport, StoreError> {
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

fn commit(target: &mut dyn Write, entry: &Entry) -> io::Result<()> {
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
