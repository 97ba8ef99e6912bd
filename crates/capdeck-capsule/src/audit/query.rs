//! Looks into an audit trail.

use std::{
    collections::VecDeque,
    fs::File,
    io::{self, BufRead as _, BufReader},
    path::Path,
};

use jiff::Timestamp;

use super::{AuditLogLine, AuditOutcome};
use crate::{UriPrefix, day_file};

/// Which lines to get.
#[derive(Debug, Clone, Default)]
pub struct AuditQuery {
    pub since: Option<Timestamp>,
    pub until: Option<Timestamp>,
    pub agent: Option<String>,
    pub principal: Option<String>,
    /// An action, or its first part: `write` takes `write.create`, too.
    pub action: Option<String>,
    pub prefix: Option<UriPrefix>,
    pub outcome: Option<AuditOutcome>,
    /// Only lines after this number.
    pub after_seq: Option<u64>,
}

impl AuditQuery {
    fn matches(&self, line: &AuditLogLine) -> bool {
        let is_action = |action: &String| {
            line.action
                .strip_prefix(action.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        self.since.is_none_or(|since| line.ts >= since)
            && self.until.is_none_or(|until| line.ts <= until)
            && self.agent.as_ref().is_none_or(|agent| line.agent == *agent)
            && self
                .principal
                .as_ref()
                .is_none_or(|principal| line.metadata.principal_id.as_ref() == Some(principal))
            && self.action.as_ref().is_none_or(is_action)
            && self
                .prefix
                .as_ref()
                .is_none_or(|prefix| line.uri.as_ref().is_some_and(|uri| prefix.covers(uri)))
            && self.outcome.is_none_or(|outcome| line.outcome == outcome)
            && self.after_seq.is_none_or(|seq| line.seq > seq)
    }
}

/// The last `most` lines that fit, oldest first. Blocks.
pub fn query_audit(
    folder: &Path,
    prefix: &str,
    query: &AuditQuery,
    most: usize,
) -> io::Result<Vec<AuditLogLine>> {
    let mut found: VecDeque<AuditLogLine> = VecDeque::new();
    for (_, path) in day_file::days(folder, prefix)?.into_iter().rev() {
        let mut here: VecDeque<AuditLogLine> = VecDeque::new();
        let room = most - found.len();
        for line in BufReader::new(File::open(&path)?).split(b'\n') {
            let Ok(line) = serde_json::from_slice::<AuditLogLine>(&line?) else { continue };
            if query.matches(&line) {
                here.push_back(line);
                if here.len() > room {
                    here.pop_front();
                }
            }
        }
        here.append(&mut found);
        found = here;
        if found.len() >= most {
            break;
        }
    }
    Ok(found.into())
}

/// The last lines. Blocks.
pub fn tail_audit(folder: &Path, prefix: &str, most: usize) -> io::Result<Vec<AuditLogLine>> {
    query_audit(folder, prefix, &AuditQuery::default(), most)
}
