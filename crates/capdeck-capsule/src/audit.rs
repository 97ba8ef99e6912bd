//! One line per call: who did what with which entry, and how it ended. Never bodies, tokens or memory values.
//!
//! Every line holds the hash of the one before it, so that a changed, removed or inserted line shows.

mod query;
mod verify;

use std::{borrow::Cow, io, path::PathBuf, sync::Arc};

use jiff::Timestamp;
use parking_lot::Mutex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use query::{AuditQuery, query_audit, tail_audit};
pub use verify::{AuditProblem, AuditReport, verify_audit};

use crate::{
    AuditMode, Author, Clock, EntryUri, Role,
    day_file::{self, DayFile},
    digest::sha256_hex,
};

/// What stands before the first line.
const NOTHING: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// One call as it is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditLine {
    pub ts: Timestamp,
    /// What the client calls itself.
    pub agent: String,
    pub action: String,
    /// The capsule that was made, changed or taken away, in the registry's own trail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capsule: Option<String>,
    /// The request, grant, credential, client or operator, in the registry's own trail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// The share, in the registry's own trail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uri: Option<EntryUri>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u64>,
    pub outcome: AuditOutcome,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_code: Option<String>,
    /// What ties an approval to its own request, in the registry's own trail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub self_approved: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
    /// Bytes read or written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    #[serde(default)]
    pub metadata: AuditMetadata,
    pub seq: u64,
    /// The hash of the line before.
    pub prev: String,
    /// The hash of this line without this field.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub h: String,
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AuditOutcome {
    Ok,
    Denied,
    Error,
}

/// Where a call came from.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditMetadata {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connection_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub principal_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_version: Option<String>,
}

/// A call to be recorded.
#[derive(Debug, Clone)]
pub(crate) struct AuditRecord {
    pub(crate) author: Arc<Author>,
    pub(crate) action: Cow<'static, str>,
    pub(crate) capsule: Option<String>,
    pub(crate) subject: Option<String>,
    pub(crate) share: Option<String>,
    pub(crate) role: Option<Role>,
    pub(crate) uri: Option<EntryUri>,
    pub(crate) version: Option<u64>,
    pub(crate) bytes: Option<u64>,
    pub(crate) outcome: AuditOutcome,
    pub(crate) error_code: Option<Cow<'static, str>>,
    pub(crate) self_approved: Option<String>,
}

impl Default for AuditRecord {
    fn default() -> Self {
        Self {
            author: Arc::new(Author::client("")),
            action: Cow::Borrowed(""),
            capsule: None,
            subject: None,
            share: None,
            role: None,
            uri: None,
            version: None,
            bytes: None,
            outcome: AuditOutcome::Ok,
            error_code: None,
            self_approved: None,
        }
    }
}

/// A chain of lines in `<prefix><day>.jsonl` files.
#[derive(Debug)]
pub(crate) struct AuditLog {
    chain: Mutex<Chain>,
    mode: AuditMode,
    clock: Clock,
}

#[derive(Debug)]
struct Chain {
    file: DayFile,
    seq: u64,
    prev: String,
    /// Lines that could not be written yet. In strict mode nothing else is done before they are.
    owed: Vec<AuditRecord>,
    /// Another process may go on with the chain.
    is_closed: bool,
}

impl AuditLog {
    /// Goes on after the last line in the folder.
    pub(crate) fn open(
        folder: PathBuf,
        prefix: &'static str,
        mode: AuditMode,
        clock: Clock,
    ) -> io::Result<Self> {
        let (mut seq, mut prev) = (0, NOTHING.to_owned());
        for (_, path) in day_file::days(&folder, prefix)?.iter().rev() {
            if let Some(line) = day_file::last_line(path)? {
                match serde_json::from_str::<AuditLine>(&line) {
                    Ok(line) => (seq, prev) = (line.seq, line.h),
                    // The chain goes on from what is there; a verification tells that it is no line of ours.
                    Err(_) => prev = sha256_hex(line.as_bytes()),
                }
                break;
            }
        }
        let file = DayFile::new(folder, prefix)?;
        let chain = Mutex::new(Chain { file, seq, prev, owed: Vec::new(), is_closed: false });
        Ok(Self { chain, mode, clock })
    }

    /// Writes nothing more.
    pub(crate) fn close(&self) {
        self.chain.lock().is_closed = true;
    }

    pub(crate) fn mode(&self) -> AuditMode {
        self.mode
    }

    /// Writes lines that are owed. In strict mode calls are refused while that fails.
    pub(crate) fn settle(&self) -> io::Result<()> {
        let mut chain = self.chain.lock();
        while let Some(record) = chain.owed.first().cloned() {
            chain.append(&record, self.clock.now())?;
            chain.owed.remove(0);
        }
        Ok(())
    }

    /// Writes a line. A line that fails is kept and written before the next one.
    pub(crate) fn append(&self, record: AuditRecord) -> io::Result<()> {
        let settled = self.settle();
        let mut chain = self.chain.lock();
        let appended = settled.and_then(|()| chain.append(&record, self.clock.now()));
        if appended.is_err() && chain.owed.len() < 10_000 {
            chain.owed.push(record);
        }
        appended
    }
}

impl Chain {
    fn append(&mut self, record: &AuditRecord, now: Timestamp) -> io::Result<()> {
        if self.is_closed {
            return Err(io::Error::other("the audit is closed"));
        }
        let AuditRecord {
            author,
            action,
            capsule,
            subject,
            share,
            role,
            uri,
            version,
            bytes,
            outcome,
            error_code,
            self_approved,
        } = record;
        let line = AuditLine {
            ts: now,
            agent: author.client.clone(),
            action: action.as_ref().to_owned(),
            capsule: capsule.clone(),
            subject: subject.clone(),
            share: share.clone(),
            uri: uri.clone(),
            version: *version,
            outcome: *outcome,
            error_code: error_code.as_deref().map(str::to_owned),
            self_approved: self_approved.clone(),
            role: *role,
            bytes: *bytes,
            metadata: AuditMetadata {
                connection_id: author.connection.clone(),
                principal_id: author.principal.clone(),
                client_version: author.client_version.clone(),
            },
            seq: self.seq + 1,
            prev: self.prev.clone(),
            h: String::new(),
        };
        let text = serde_json::to_string(&line).map_err(io::Error::other)?;
        let hash = sha256_hex(text.as_bytes());
        let sealed = sealed(&text, &hash);
        self.file.append(now, sealed.as_bytes(), io::Write::write_all)?;
        self.seq += 1;
        self.prev = hash;
        Ok(())
    }
}

/// A line with its own hash added, as it stands in the file.
fn sealed(text: &str, hash: &str) -> String {
    let open = text.strip_suffix('}').unwrap_or(text);
    format!("{open},\"h\":\"{hash}\"}}\n")
}

/// A line of a file without its hash, and the hash.
fn unsealed(line: &str) -> Option<(String, &str)> {
    const FIELD: &str = ",\"h\":\"";
    let (open, hash) = line.rsplit_once(FIELD)?;
    Some((format!("{open}}}"), hash.strip_suffix("\"}")?))
}

#[cfg(test)]
mod tests;
