//! The lines of a log one after the other, each with the hash of the one before.

use std::{fs::File, io, path::PathBuf};

use capdeck_storage::sha256_hex;
use jiff::{Timestamp, civil::Date};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    AuditLogLine, NO_HASH,
    head::{HeadFile, HeadRecord, read_head},
};
use crate::day_file::{self, DayFile};

/// Lines from which on a log is synced when it is closed: short commands that read do not wait for the disk.
const MAX_UNSYNCED_LINES: u64 = 64;

#[derive(Debug)]
pub(super) struct AuditChain {
    folder: PathBuf,
    prefix: &'static str,
    file: DayFile,
    head: HeadFile,
    /// Another process may go on with the chain.
    pub(super) is_closed: bool,
    /// Lines that were lost when the machine went down.
    pub(super) lost: u64,
}

/// What became of old lines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PrunedLines {
    pub files: usize,
    pub lines: u64,
}

impl AuditChain {
    /// Goes on after the last line, or after the head where the log ends before it: then lines are missing, and a
    /// verification finds the gap for good.
    pub(super) fn open(folder: PathBuf, prefix: &'static str) -> io::Result<Self> {
        let days = day_file::days(&folder, prefix)?;
        let (last, last_hash) = log_end(&days)?;
        let head = read_head(&folder, prefix).unwrap_or_else(|error| {
            tracing::warn!(%error, "the head of the audit cannot be read and is made again from the log");
            None
        });
        let first = match &head {
            Some(head) => head.first,
            None => first_seq(&days)?.unwrap_or(1),
        };
        let (mut lost, synced) = (0, head.as_ref().map_or(0, |head| head.synced));
        let (seq, hash) = match head {
            Some(head) if head.seq > last => {
                if head.is_of_another_boot() && last >= head.synced {
                    lost = head.seq - last;
                    (last, last_hash)
                } else {
                    (head.seq, head.hash)
                }
            }
            // The lines after the head were written by a process that was killed before it wrote the head.
            Some(head) if head.seq > 0 && hash_of(&days, head.seq)? != Some(head.hash.clone()) => {
                (head.seq, head.hash)
            }
            Some(_) | None => (last, last_hash),
        };
        let file = DayFile::new(folder.clone(), prefix)?;
        let record = HeadRecord { first, seq, hash, synced: synced.min(seq), boot: None };
        let head = HeadFile::new(&folder, prefix, record);
        Ok(Self { folder, prefix, file, head, is_closed: false, lost })
    }

    /// The number of the last line.
    pub(super) fn seq(&self) -> u64 {
        self.head.record.seq
    }

    /// Adds lines with `write`, all of them or none.
    pub(super) fn append(
        &mut self,
        lines: &[AuditLogLine],
        now: Timestamp,
        is_synced: bool,
        write: impl FnOnce(&mut File, &[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        if self.is_closed {
            return Err(io::Error::other("the audit is closed"));
        }
        let (mut seq, mut prev) = (self.head.record.seq, self.head.record.hash.clone());
        let mut bytes = Vec::new();
        for line in lines {
            seq += 1;
            let line = AuditLogLine { seq, prev, h: String::new(), ..line.clone() };
            let text = serde_json::to_string(&line).map_err(io::Error::other)?;
            prev = sha256_hex(text.as_bytes());
            bytes.extend_from_slice(sealed(&text, &prev).as_bytes());
        }
        self.file.append(now, &bytes, write)?;
        let record = &mut self.head.record;
        (record.seq, record.hash) = (seq, prev);
        if is_synced {
            record.synced = seq;
        }
        self.head.write();
        Ok(())
    }

    /// Waits until the disk has all lines, if they are many since it last had. The head says so afterwards.
    pub(super) fn sync(&mut self) -> io::Result<()> {
        let record = &self.head.record;
        if record.seq.saturating_sub(record.synced) < MAX_UNSYNCED_LINES {
            return Ok(());
        }
        self.file.sync()?;
        self.head.record.synced = self.head.record.seq;
        self.head.write();
        Ok(())
    }

    /// The ids of changes in lines after a number.
    pub(super) fn change_ids(&self, after: u64) -> io::Result<Vec<String>> {
        let mut found = Vec::new();
        for (_, path) in day_file::days(&self.folder, self.prefix)?.iter().rev() {
            let mut is_reached = false;
            for line in day_file::lines::<AuditLogLine>(path)? {
                let line = line?;
                is_reached |= line.seq <= after;
                found.extend(line.change_id.filter(|_| line.seq > after));
            }
            if is_reached {
                break;
            }
        }
        Ok(found)
    }

    /// Removes whole files of days before one. The head says so first: what is missing then was meant to go.
    pub(super) fn prune(&mut self, before: Date) -> io::Result<PrunedLines> {
        let days = day_file::days(&self.folder, self.prefix)?;
        // The newest file stays: the chain goes on in it.
        let kept = days.len().saturating_sub(1);
        let old: Vec<&PathBuf> = days
            .iter()
            .take(kept)
            .take_while(|(day, _)| *day < before)
            .map(|(_, path)| path)
            .collect();
        let rest = days.get(old.len()..).unwrap_or_default();
        let Some(first) = first_seq(rest)?.filter(|_| !old.is_empty()) else {
            return Ok(PrunedLines::default());
        };
        let lines = first.saturating_sub(self.head.record.first);
        self.head.record.first = first;
        self.head.write();
        self.head.sync()?;
        for path in &old {
            std::fs::remove_file(path)?;
        }
        Ok(PrunedLines { files: old.len(), lines })
    }
}

/// The number and the hash of the last line that the files have.
fn log_end(days: &[(Date, PathBuf)]) -> io::Result<(u64, String)> {
    for (_, path) in days.iter().rev() {
        let Some(line) = day_file::last_line(path)? else { continue };
        return Ok(match serde_json::from_str::<AuditLogLine>(&line) {
            Ok(line) => (line.seq, line.h),
            // The chain goes on from what is there; a verification reports that it is no line of ours.
            Err(_) => (0, sha256_hex(line.as_bytes())),
        });
    }
    Ok((0, NO_HASH.to_owned()))
}

fn first_seq(days: &[(Date, PathBuf)]) -> io::Result<Option<u64>> {
    for (_, path) in days {
        if let Some(line) = day_file::lines::<AuditLogLine>(path)?.next() {
            return Ok(Some(line?.seq));
        }
    }
    Ok(None)
}

fn hash_of(days: &[(Date, PathBuf)], seq: u64) -> io::Result<Option<String>> {
    for (_, path) in days.iter().rev() {
        let (mut found, mut is_reached) = (None, false);
        // Most often it is the very last one.
        if let Some(last) = day_file::last_line(path)?
            && let Ok(last) = serde_json::from_str::<AuditLogLine>(&last)
            && last.seq == seq
        {
            return Ok(Some(last.h));
        }
        for line in day_file::lines::<AuditLogLine>(path)? {
            let line = line?;
            is_reached |= line.seq <= seq;
            if line.seq == seq {
                found = Some(line.h);
            }
        }
        if found.is_some() || is_reached {
            return Ok(found);
        }
    }
    Ok(None)
}

/// A line with its own hash added, as it is in the file.
fn sealed(text: &str, hash: &str) -> String {
    let open = text.strip_suffix('}').unwrap_or(text);
    format!("{open},\"h\":\"{hash}\"}}\n")
}
