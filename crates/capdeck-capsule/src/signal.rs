//! Short messages of a capsule: messages between agents, and what changed.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use serde_with::skip_serializing_none;

use crate::{
    CapsuleAuthor, EntryScope, EntryUri, StoreError, StoreResult,
    service::{PollSignalsRequest, SendSignalRequest},
    trust::one_line,
};

/// Signals of one page at most.
pub const MAX_SIGNAL_PAGE_SIZE: usize = 100;
const MAX_KIND_LENGTH: usize = 64;
const MAX_TEXT_BYTES: usize = 4 * 1024;
const MAX_DATA_BYTES: usize = 8 * 1024;

/// A short message of a capsule. Ids grow in the order in which signals were sent, and tell nothing else.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Signal {
    pub id: String,
    pub ts: Timestamp,
    pub from: CapsuleAuthor,
    pub kind: String,
    pub text: Option<String>,
    pub uri: Option<EntryUri>,
    /// The version of the entry that the signal is about.
    pub version: Option<u64>,
    /// The client it is meant for; everyone when absent.
    pub to: Option<String>,
    pub data: Option<Map<String, Value>>,
}

/// Signals in the order they were sent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SignalPage {
    pub signals: Vec<Signal>,
    /// Where to go on; give it to `ack` when the signals are dealt with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    pub has_more: bool,
}

impl Signal {
    /// A signal of a kind with nothing else. Its id and time are set when it is appended.
    pub(crate) fn new(kind: impl Into<String>, from: CapsuleAuthor) -> Self {
        Self { from, kind: kind.into(), ..Self::default() }
    }
}

impl SendSignalRequest {
    /// A signal of a kind with nothing else.
    pub fn of_kind(kind: &str) -> Self {
        Self { kind: kind.to_owned(), ..Self::default() }
    }

    pub(crate) fn check(&self) -> StoreResult<()> {
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "._:-".contains(letter);
        if self.kind.is_empty()
            || self.kind.len() > MAX_KIND_LENGTH
            || !self.kind.chars().all(is_plain)
        {
            let rule = format!("1 to {MAX_KIND_LENGTH} letters, digits, `.`, `_`, `:` or `-`");
            return Err(StoreError::invalid("kind", rule));
        }
        // Kinds of the store's own signals are facts and cannot be claimed.
        if self.kind.starts_with("entry.") {
            return Err(StoreError::invalid("kind", "`entry.` is kept for changes of entries"));
        }
        if self.to.as_ref().is_some_and(|to| to.is_empty() || to.len() > 100 || one_line(to) != *to)
        {
            return Err(StoreError::invalid("to", "the name of a client, up to 100 characters"));
        }
        limit("the text of a signal", self.text.as_ref().map_or(0, String::len), MAX_TEXT_BYTES)?;
        let data =
            self.data.as_ref().map_or(0, |data| Value::Object(data.clone()).to_string().len());
        limit("the data of a signal", data, MAX_DATA_BYTES)
    }
}

impl PollSignalsRequest {
    pub(crate) fn page_size(&self) -> usize {
        if self.limit == 0 { 50 } else { self.limit.min(MAX_SIGNAL_PAGE_SIZE) }
    }

    /// Whether a signal is for this caller.
    pub(crate) fn matches(
        &self,
        signal: &Signal,
        author: &CapsuleAuthor,
        scope: &EntryScope,
    ) -> bool {
        let is_kind = self.kinds.is_empty() || self.kinds.contains(&signal.kind);
        let is_reached = signal.uri.as_ref().is_none_or(|uri| scope.reaches(uri));
        let is_meant = signal.to.as_ref().is_none_or(|to| {
            *to == author.client || Some(to) == author.principal.as_ref() || signal.from == *author
        });
        is_kind && is_reached && is_meant
    }
}

fn limit(what: &'static str, bytes: usize, most: usize) -> StoreResult<()> {
    if bytes <= most {
        return Ok(());
    }
    Err(StoreError::TooLarge { what, bytes: bytes as u64, most: most as u64 })
}
