//! A request to write an entry, and its answer.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    BlobId, CommitRef, EntryUri,
    entry::{PromotionReason, RiskClass},
};

/// What to write. Who writes it is not part of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreWrite {
    pub uri: EntryUri,
    pub content: WriteContent,
    /// Only when this version is the current one; 0: only when there is no entry.
    pub if_version: Option<u64>,
    /// Absent: the title stays.
    pub title: Option<String>,
    /// Absent: the tags stay.
    pub tags: Option<Vec<String>>,
    /// Absent: chosen by the body.
    pub risk_class: Option<RiskClass>,
    /// Files the body is about, besides those found in it.
    pub file_anchors: Vec<String>,
    pub commit: Option<CommitRef>,
    /// Absent: the blob stays.
    pub blob: Option<BlobSource>,
    /// The same key with the same request gives the first answer again.
    pub idempotency_key: Option<String>,
}

/// The body, whole or as changes to the current one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WriteContent {
    /// A new entry; it must not exist.
    Create(String),
    /// The new body of an entry that may exist.
    Replace(String),
    /// Changes to an entry that exists, all of them or none.
    Patch(Vec<PatchStep>),
}

impl WriteContent {
    /// What the audit calls a write of this.
    pub(crate) fn action(&self) -> &'static str {
        match self {
            Self::Create(_) => "write.create",
            Self::Replace(_) => "write.replace",
            Self::Patch(_) => "write.patch",
        }
    }

    /// Bytes of a whole body.
    pub(crate) fn bytes(&self) -> Option<u64> {
        match self {
            Self::Create(body) | Self::Replace(body) => Some(body.len() as u64),
            Self::Patch(_) => None,
        }
    }
}

/// One change to a body.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "op", rename_all = "lowercase", deny_unknown_fields)]
pub enum PatchStep {
    /// Replaces `find` everywhere; it must occur exactly `count` times, once if no count is given.
    Replace {
        find: String,
        with: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        count: Option<usize>,
    },
    /// Adds text at the end, on a line of its own.
    Append { text: String },
    /// Replaces the text below a Markdown heading, up to the next heading of its level or above.
    Section { heading: String, text: String },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BlobSource {
    /// New bytes.
    Bytes { bytes: Vec<u8>, mime: String },
    /// A blob that is in the capsule.
    Pointer { id: BlobId, mime: String },
    /// No blob any more.
    Remove,
}

/// What was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WriteOutcome {
    pub uri: EntryUri,
    /// The version that it is now.
    pub version: u64,
    /// Whether there was no entry before.
    pub created: bool,
    pub risk_class: RiskClass,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub promotion_reason: Option<PromotionReason>,
    /// The answer is that of an earlier request with the same key.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub repeated: bool,
}

impl StoreWrite {
    /// A write of a body with nothing else said.
    pub fn new(uri: EntryUri, content: WriteContent) -> Self {
        Self {
            uri,
            content,
            if_version: None,
            title: None,
            tags: None,
            risk_class: None,
            file_anchors: Vec::new(),
            commit: None,
            blob: None,
            idempotency_key: None,
        }
    }

    pub fn replace(uri: EntryUri, body: impl Into<String>) -> Self {
        Self::new(uri, WriteContent::Replace(body.into()))
    }

    pub fn create(uri: EntryUri, body: impl Into<String>) -> Self {
        Self::new(uri, WriteContent::Create(body.into()))
    }

    pub fn patch(uri: EntryUri, steps: Vec<PatchStep>) -> Self {
        Self::new(uri, WriteContent::Patch(steps))
    }

    pub fn if_version(mut self, version: u64) -> Self {
        self.if_version = Some(version);
        self
    }
}
