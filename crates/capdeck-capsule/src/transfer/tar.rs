//! A capsule as one tar archive.
//!
//! The format is simple enough to write here: a header of 512 bytes before each file, padded content, two empty
//! blocks at the end. Paths are ASCII and at most 240 characters, which the header's two name fields hold.

use std::{
    collections::BTreeSet,
    io::{self, Write},
};

use super::{
    export::all_entries,
    manifest::{self, BLOBS, MANIFEST, file_name},
};
use crate::{CapsuleSession, ExportReport, Store as _, StoreError};

pub(super) const BLOCK: usize = 512;

/// Writes what the session sees as a tar archive, laid out as [`super::export_folder`] does.
pub async fn export_tar(
    session: &CapsuleSession,
    target: &mut (dyn Write + Send),
) -> Result<ExportReport, StoreError> {
    let exported = write_tar(session, target).await;
    session.recorded("export", exported).await
}

pub(super) async fn write_tar(
    session: &CapsuleSession,
    target: &mut (dyn Write + Send),
) -> Result<ExportReport, StoreError> {
    let failed = || StoreError::io("write the archive");
    let mut report = ExportReport::default();
    let (mut known, mut blobs) = (Vec::new(), BTreeSet::new());
    for meta in all_entries(session).await? {
        let entry = session.store().read(&meta.uri, None).await?;
        let moment = entry.meta.written_at.as_second();
        add(target, &file_name(&entry), entry.body.as_bytes(), moment).map_err(failed())?;
        report.entries += 1;
        report.bytes += entry.meta.bytes;
        if let Some(blob) = &entry.meta.blob
            && blobs.insert(blob.sha256.clone())
        {
            let bytes = session.store().read_blob(&meta.uri, None).await?.bytes;
            let path = format!("{BLOBS}/{}", blob.sha256.as_str());
            add(target, &path, &bytes, moment).map_err(failed())?;
            report.blobs += 1;
            report.bytes += bytes.len() as u64;
        }
        known.push(entry.meta);
    }
    let moment = known.iter().map(|meta| meta.written_at.as_second()).max().unwrap_or_default();
    let text = manifest::render(session, &known).await?;
    add(target, MANIFEST, &text, moment).map_err(failed())?;
    target.write_all(&[0; 2 * BLOCK]).and_then(|()| target.flush()).map_err(failed())?;
    Ok(report)
}

fn add(target: &mut dyn Write, path: &str, content: &[u8], moment: i64) -> io::Result<()> {
    target.write_all(&header(path, content.len(), moment)?)?;
    target.write_all(content)?;
    let rest = content.len() % BLOCK;
    if rest > 0 {
        target.write_all(&vec![0; BLOCK - rest])?;
    }
    Ok(())
}

fn header(path: &str, length: usize, moment: i64) -> io::Result<[u8; BLOCK]> {
    let (prefix, name) =
        split(path).ok_or_else(|| io::Error::other(format!("the path is too long: {path}")))?;
    let mut block = [0_u8; BLOCK];
    let mut put = |start: usize, text: &[u8]| {
        if let Some(place) = block.get_mut(start..start + text.len()) {
            place.copy_from_slice(text);
        }
    };
    put(0, name.as_bytes());
    put(100, b"0000644\0");
    put(108, b"0000000\0");
    put(116, b"0000000\0");
    put(124, format!("{length:011o}\0").as_bytes());
    put(136, format!("{:011o}\0", moment.clamp(0, 0o77_777_777_777)).as_bytes());
    // The checksum counts its own field as spaces.
    put(148, b"        ");
    put(156, b"0");
    put(257, b"ustar\x0000");
    put(345, prefix.as_bytes());
    let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
    if let Some(place) = block.get_mut(148..156) {
        place.copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    }
    Ok(block)
}

/// A path as the two fields of a header: at most 155 characters of folders and 100 of the rest.
fn split(path: &str) -> Option<(&str, &str)> {
    if path.len() <= 100 {
        return Some(("", path));
    }
    path.match_indices('/').map(|(at, _)| at).find_map(|at| {
        let (prefix, name) = (path.get(..at)?, path.get(at + 1..)?);
        (prefix.len() <= 155 && name.len() <= 100).then_some((prefix, name))
    })
}
