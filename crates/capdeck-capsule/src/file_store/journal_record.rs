//! Changes of files as the journal keeps them, so that they can be made again.
//!
//! A record is a line of JSON with the length and the hash of what follows; what follows are changes, each a line of
//! JSON and the bytes that it speaks of.

use std::io;

use capdeck_storage::sha256_hex;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::AuditLogLine;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct JournalChange<'a> {
    /// Below the capsule's folder.
    pub(super) path: String,
    pub(super) change: FileOperation<'a>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum FileOperation<'a> {
    Put(&'a [u8]),
    Append { start: u64, bytes: &'a [u8] },
    Remove,
}

/// Changes that were made together.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct JournalRecord<'a> {
    pub(super) at: Timestamp,
    pub(super) changes: Vec<JournalChange<'a>>,
    /// The audit lines of these changes, without their place in the chain.
    pub(super) lines: Vec<AuditLogLine>,
}

#[derive(Serialize, Deserialize)]
struct RecordLine {
    at: Timestamp,
    bytes: usize,
    sha256: String,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "change")]
enum ChangeLine {
    Put { path: String, bytes: usize },
    Append { path: String, start: u64, bytes: usize },
    Remove { path: String },
    Audit { bytes: usize },
}

pub(super) fn encode<'a>(
    at: Timestamp,
    changes: &[JournalChange<'_>],
    lines: impl Iterator<Item = &'a AuditLogLine>,
) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    let mut add = |line: &ChangeLine, bytes: &[u8]| -> io::Result<()> {
        serde_json::to_writer(&mut content, line).map_err(io::Error::other)?;
        content.push(b'\n');
        content.extend_from_slice(bytes);
        content.push(b'\n');
        Ok(())
    };
    for JournalChange { path, change } in changes {
        let path = path.clone();
        let (line, bytes): (_, &[u8]) = match change {
            FileOperation::Put(bytes) => (ChangeLine::Put { path, bytes: bytes.len() }, bytes),
            FileOperation::Append { start, bytes } => {
                (ChangeLine::Append { path, start: *start, bytes: bytes.len() }, bytes)
            }
            FileOperation::Remove => (ChangeLine::Remove { path }, &[]),
        };
        add(&line, bytes)?;
    }
    for line in lines {
        let bytes = serde_json::to_vec(line).map_err(io::Error::other)?;
        add(&ChangeLine::Audit { bytes: bytes.len() }, &bytes)?;
    }
    let line = RecordLine { at, bytes: content.len(), sha256: sha256_hex(&content) };
    let mut record = serde_json::to_vec(&line).map_err(io::Error::other)?;
    record.push(b'\n');
    record.append(&mut content);
    Ok(record)
}

/// All whole records. What comes after the first one that is not whole was never confirmed.
pub(super) fn decode(mut bytes: &[u8]) -> Vec<JournalRecord<'_>> {
    let mut records = Vec::new();
    while let Some((record, rest)) = decode_one(bytes) {
        records.push(record);
        bytes = rest;
    }
    records
}

fn decode_one(bytes: &[u8]) -> Option<(JournalRecord<'_>, &[u8])> {
    let (line, rest) = next_line::<RecordLine>(bytes)?;
    let (mut content, rest) = rest.split_at_checked(line.bytes)?;
    if sha256_hex(content) != line.sha256 {
        return None;
    }
    let (mut changes, mut lines) = (Vec::new(), Vec::new());
    while !content.is_empty() {
        let (line, after) = next_line::<ChangeLine>(content)?;
        let length = match &line {
            ChangeLine::Put { bytes, .. }
            | ChangeLine::Append { bytes, .. }
            | ChangeLine::Audit { bytes } => *bytes,
            ChangeLine::Remove { .. } => 0,
        };
        let (bytes, after) = after.split_at_checked(length)?;
        content = after.strip_prefix(b"\n")?;
        let (path, change) = match line {
            ChangeLine::Put { path, .. } => (path, FileOperation::Put(bytes)),
            ChangeLine::Append { path, start, .. } => {
                (path, FileOperation::Append { start, bytes })
            }
            ChangeLine::Remove { path } => (path, FileOperation::Remove),
            ChangeLine::Audit { .. } => {
                lines.push(serde_json::from_slice(bytes).ok()?);
                continue;
            }
        };
        changes.push(JournalChange { path, change });
    }
    Some((JournalRecord { at: line.at, changes, lines }, rest))
}

fn next_line<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Option<(T, &'a [u8])> {
    let end = bytes.iter().position(|byte| *byte == b'\n')?;
    let (line, rest) = bytes.split_at_checked(end)?;
    Some((serde_json::from_slice(line).ok()?, rest.strip_prefix(b"\n")?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CapsuleAuthor;

    #[test]
    fn records_come_back_up_to_the_first_torn_one() {
        let redo = |path: &str, change| JournalChange { path: path.to_owned(), change };
        let one = [
            redo("a.md", FileOperation::Put(b"---\n{\"at\":1}\n\xff")),
            redo("signals/x", FileOperation::Append { start: 7, bytes: b"line\n" }),
        ];
        let two = [redo("b", FileOperation::Remove), redo("c", FileOperation::Put(b""))];
        let now = Timestamp::from_second(1_800_000_000).unwrap();
        let line =
            AuditLogLine { ts: now, ..AuditLogLine::new(&CapsuleAuthor::client(""), "write") };
        let first = encode(now, &one, [&line].into_iter()).unwrap();
        let mut bytes = first.clone();
        bytes.extend(encode(now, &two, [].into_iter()).unwrap());
        let expected = [
            JournalRecord { at: now, changes: one.into(), lines: vec![line] },
            JournalRecord { at: now, changes: two.into(), lines: Vec::new() },
        ];
        assert_eq!(decode(&bytes), expected);
        for end in first.len()..bytes.len() {
            assert_eq!(decode(bytes.get(..end).unwrap()), expected[..1], "cut at {end}");
        }
        for place in 0..first.len() {
            let mut damaged = bytes.clone();
            damaged[place] ^= 1;
            assert_ne!(decode(&damaged), expected, "changed at {place}");
        }
    }
}
