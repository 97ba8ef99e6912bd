//! Checks that an audit trail is the one that was written.

use std::{
    fs::File,
    io::{self, BufRead as _, BufReader},
    path::Path,
};

use serde::Serialize;

use super::{AuditLine, NOTHING, unsealed};
use crate::{day_file, digest::sha256_hex};

/// What a check of an audit trail found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct AuditReport {
    pub lines: u64,
    /// The number of the first line: more than 1 when older files were taken away.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_seq: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_seq: Option<u64>,
    /// The hash of the last line. Kept elsewhere, it shows later that nothing was cut off the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
    pub problems: Vec<AuditProblem>,
}

/// A place where the trail is not what was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AuditProblem {
    /// The file's name.
    pub file: String,
    /// Counted from 1.
    pub line: usize,
    pub what: String,
}

/// Checks every line of a trail. Blocks.
pub fn verify_audit(folder: &Path, prefix: &str) -> io::Result<AuditReport> {
    let mut report = AuditReport::default();
    let mut before: Option<(u64, String)> = None;
    for (_, path) in day_file::days(folder, prefix)? {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        for (place, line) in BufReader::new(File::open(&path)?).split(b'\n').enumerate() {
            let line = String::from_utf8_lossy(&line?).into_owned();
            let mut found = |what: String| {
                report.problems.push(AuditProblem { file: name.clone(), line: place + 1, what });
            };
            let parsed = serde_json::from_str::<AuditLine>(&line).ok().zip(unsealed(&line));
            let Some((parsed, (text, hash))) = parsed else {
                found("it is no audit line".to_owned());
                before = Some((before.map_or(0, |(seq, _)| seq), sha256_hex(line.as_bytes())));
                continue;
            };
            if sha256_hex(text.as_bytes()) != hash {
                found("it was changed: its hash does not fit".to_owned());
            }
            let (seq, prev) = match &before {
                Some((seq, hash)) => (seq + 1, hash.as_str()),
                // Older files may have been taken away; the very first line has nothing before it.
                None if parsed.seq > 1 => (parsed.seq, parsed.prev.as_str()),
                None => (1, NOTHING),
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
            before = Some((parsed.seq, hash.to_owned()));
        }
    }
    Ok(report)
}
