//! Checks that an audit trail is the one that was written.

use std::{
    fs::File,
    io::{self, BufRead as _, BufReader},
    path::Path,
};

use capdeck_storage::sha256_hex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::{
    AuditLogLine, NO_HASH,
    head::{HeadRecord, head_path, read_head},
};
use crate::day_file;

/// What a check of an audit trail found.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuditReport {
    pub lines: u64,
    /// The number of the first line: more than 1 when older lines were pruned.
    pub first_seq: Option<u64>,
    pub last_seq: Option<u64>,
    /// The hash of the last line. Kept on another machine, it shows later that nothing was cut off the end.
    pub head: Option<String>,
    pub problems: Vec<AuditProblem>,
}

/// A place where the trail was changed or is damaged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuditProblem {
    pub file: String,
    /// Counted from 1; 0 when it is about the file as a whole.
    pub line: usize,
    pub what: String,
}

/// Checks every line of a trail, and that it begins and ends where its head says. Blocks.
pub fn verify_audit(folder: &Path, prefix: &str) -> io::Result<AuditReport> {
    // Before the lines: lines that are written meanwhile come after it.
    let head = read_head(folder, prefix);
    let mut report = AuditReport::default();
    let mut at_head: Option<String> = None;
    let mut before: Option<(u64, String)> = None;
    for (_, path) in day_file::days(folder, prefix)? {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        for (place, line) in BufReader::new(File::open(&path)?).split(b'\n').enumerate() {
            let line = String::from_utf8_lossy(&line?).into_owned();
            let mut found = |what: String| {
                report.problems.push(AuditProblem { file: name.clone(), line: place + 1, what });
            };
            let parsed = serde_json::from_str::<AuditLogLine>(&line).ok().zip(unsealed(&line));
            let Some((parsed, (text, hash))) = parsed else {
                found("it is no audit line".to_owned());
                before = Some((before.map_or(0, |(seq, _)| seq), sha256_hex(line.as_bytes())));
                continue;
            };
            if sha256_hex(text.as_bytes()) != hash {
                found("it was changed: its hash does not match".to_owned());
            }
            let (seq, prev) = match &before {
                Some((seq, hash)) => (seq + 1, hash.as_str()),
                // Older lines may have been pruned; the very first line has nothing before it.
                None if parsed.seq > 1 => (parsed.seq, parsed.prev.as_str()),
                None => (1, NO_HASH),
            };
            if parsed.seq != seq {
                found(format!(
                    "its number is {}, expected {seq}: lines are missing or were added",
                    parsed.seq
                ));
            } else if parsed.prev != prev {
                found("it does not follow the line before it".to_owned());
            }
            report.first_seq.get_or_insert(parsed.seq);
            report.last_seq = Some(parsed.seq);
            report.head = Some(hash.to_owned());
            report.lines += 1;
            if let Ok(Some(head)) = &head
                && head.seq == parsed.seq
            {
                at_head = Some(hash.to_owned());
            }
            before = Some((parsed.seq, hash.to_owned()));
        }
    }
    let found = match head {
        Ok(Some(head)) => against_head(&report, &head, at_head.as_deref()),
        Ok(None) => Vec::new(),
        Err(error) => vec![format!("it cannot be read: {error}")],
    };
    let file = head_path(folder, prefix);
    let file = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let problem = |what| AuditProblem { file: file.clone(), line: 0, what };
    report.problems.extend(found.into_iter().map(problem));
    Ok(report)
}

/// The differences between a log and its head.
fn against_head(report: &AuditReport, head: &HeadRecord, at_head: Option<&str>) -> Vec<String> {
    let HeadRecord { first, seq, hash, .. } = head;
    let (Some(found_first), Some(found_last)) = (report.first_seq, report.last_seq) else {
        let missing = (seq + 1).saturating_sub(*first);
        let what = format!("the log was emptied or removed: lines {first} to {seq} are missing");
        return Vec::from_iter((missing > 0).then_some(what));
    };
    let mut found = Vec::new();
    if found_first > *first {
        let last = found_first - 1;
        found
            .push(format!("the log was cut at its beginning: lines {first} to {last} are missing"));
    }
    if found_last < *seq {
        let start = found_last + 1;
        found.push(format!("the log was cut at its end: lines {start} to {seq} are missing"));
    } else if *seq >= found_first && at_head != Some(hash.as_str()) {
        found.push(format!("line {seq} of the log is not the one that was written"));
    }
    found
}

/// A line of a file without its hash, and the hash.
fn unsealed(line: &str) -> Option<(String, &str)> {
    const FIELD: &str = ",\"h\":\"";
    let (open, hash) = line.rsplit_once(FIELD)?;
    Some((format!("{open}}}"), hash.strip_suffix("\"}")?))
}
