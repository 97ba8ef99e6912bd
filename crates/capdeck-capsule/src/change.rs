//! Which entries changed, as it happens.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::EntryUri;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeEvent {
    pub uri: EntryUri,
    pub version: u64,
    pub kind: ChangeKind,
    pub at: Timestamp,
}

/// What happened to an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChangeKind {
    Created,
    Updated,
    Deleted,
    Purged,
}

impl ChangeKind {
    /// The kind of the signal about it.
    pub(crate) fn signal(self) -> &'static str {
        match self {
            Self::Created => "entry.created",
            Self::Updated => "entry.updated",
            Self::Deleted => "entry.deleted",
            Self::Purged => "entry.purged",
        }
    }
}
