//! One addressed document and what is known about it.

use std::fmt;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use strum::{EnumString, IntoStaticStr};

use crate::{EntryUri, scheme::BodyFormat};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub meta: EntryMeta,
    /// Exactly what was written. It is data of others: show it through [`crate::ProvenanceFrame`].
    pub body: String,
    pub format: BodyFormat,
}

/// What is known about one version of an entry.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntryMeta {
    pub uri: EntryUri,
    /// Starts at 1 and grows by one with every write.
    pub version: u64,
    /// As the writer gave it.
    pub title: Option<String>,
    /// The first heading of the body, taken from it whenever it is read.
    #[serialize_always]
    #[serde(skip)]
    pub heading: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    pub risk_class: RiskClass,
    /// Set when the store chose the class.
    pub promotion_reason: Option<PromotionReason>,
    /// The writer called it structural, and yet it cites code.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub anchors_detected: bool,
    /// Who wrote it, as the host established it.
    pub written_by: String,
    pub written_by_principal: Option<String>,
    /// What the writer's client calls itself, as `client@version`: a claim.
    pub client: Option<String>,
    pub connection_id: Option<String>,
    pub written_at: Timestamp,
    pub commit_at_write: Option<CommitRef>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub file_anchors: Vec<String>,
    pub content_sha256: String,
    /// Bytes of the body.
    pub bytes: u64,
    pub blob: Option<BlobRef>,
    /// Hashes of the writer's key and of its request, to answer a repeated request with the first result.
    pub(crate) idempotency: Option<String>,
}

/// Who wrote something that nothing is known about.
pub(crate) const UNKNOWN_WRITER: &str = "unknown";

impl EntryMeta {
    /// Takes the word of version 0.1 for what it was: it wrote down what the client called itself as who wrote an entry.
    pub(crate) fn separate_claim(&mut self) {
        if self.client.is_some() || self.written_by == UNKNOWN_WRITER {
            return;
        }
        let principal = self.written_by_principal.clone();
        let who = principal.unwrap_or_else(|| UNKNOWN_WRITER.to_owned());
        self.client = Some(std::mem::replace(&mut self.written_by, who));
    }

    /// The title to show: the writer's, else the first heading, else the path.
    pub fn display_title(&self) -> &str {
        self.title.as_deref().or(self.heading.as_deref()).unwrap_or(self.uri.path())
    }
}

/// How a reader should take an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[derive(EnumString, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum RiskClass {
    /// Cites files, symbols, signatures: to be checked against the code.
    SpecificCode,
    /// Architecture, reasons, conventions: an opinion that may be out of date.
    Structural,
}

/// Why the store took an entry for specific code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[derive(IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum PromotionReason {
    FileAnchor,
    FunctionSignature,
}

/// The commit a writer worked on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CommitRef {
    pub hash: String,
    /// The writer said so; it was not checked.
    pub is_claimed: bool,
}

/// A binary payload of an entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BlobRef {
    pub sha256: BlobId,
    pub mime: String,
    pub bytes: u64,
}

/// The name of a blob: 64 lower-case hex digits, and so never a path.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String", inline)]
pub struct BlobId(String);

/// A text is no blob pointer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a blob pointer is `sha256:` and 64 lower-case hex digits")]
pub struct BlobIdError;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a commit is 7 to 64 hex digits")]
pub struct CommitRefError;

impl RiskClass {
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    pub fn parse(name: &str) -> Option<Self> {
        name.parse().ok()
    }
}

impl PromotionReason {
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

impl CommitRef {
    /// A commit that the writer names.
    pub fn claimed(hash: &str) -> Result<Self, CommitRefError> {
        let hash = hash.trim().to_ascii_lowercase();
        let is_hash =
            (7..=64).contains(&hash.len()) && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
        if is_hash { Ok(Self { hash, is_claimed: true }) } else { Err(CommitRefError) }
    }

    /// A commit that the host saw itself.
    pub fn observed(hash: &str) -> Result<Self, CommitRefError> {
        Ok(Self { is_claimed: false, ..Self::claimed(hash)? })
    }
}

const CLAIMED: &str = " (claimed)";

impl fmt::Display for CommitRef {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.hash)?;
        formatter.write_str(if self.is_claimed { CLAIMED } else { "" })
    }
}

impl TryFrom<String> for CommitRef {
    type Error = CommitRefError;

    fn try_from(text: String) -> Result<Self, CommitRefError> {
        match text.strip_suffix(CLAIMED) {
            Some(hash) => Self::claimed(hash),
            None => Self::observed(&text),
        }
    }
}

impl From<CommitRef> for String {
    fn from(commit: CommitRef) -> Self {
        commit.to_string()
    }
}

impl BlobId {
    /// Reads a pointer, with or without `sha256:`.
    pub fn parse(text: &str) -> Result<Self, BlobIdError> {
        let digits = text.strip_prefix("sha256:").unwrap_or(text);
        let is_hex = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'a'..=b'f');
        if digits.len() == 64 && digits.bytes().all(is_hex) {
            Ok(Self(digits.to_owned()))
        } else {
            Err(BlobIdError)
        }
    }

    pub fn of(bytes: &[u8]) -> Self {
        Self(capdeck_storage::sha256_hex(bytes))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for BlobId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "sha256:{}", self.0)
    }
}

impl fmt::Debug for BlobId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl TryFrom<String> for BlobId {
    type Error = BlobIdError;

    fn try_from(text: String) -> Result<Self, BlobIdError> {
        Self::parse(&text)
    }
}

impl From<BlobId> for String {
    fn from(id: BlobId) -> Self {
        id.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spec_26_3_a_blob_pointer_is_64_hex_digits() {
        let good = "0".repeat(63) + "f";
        assert!(BlobId::parse(&good).is_ok());
        assert_eq!(BlobId::parse(&format!("sha256:{good}")).unwrap().as_str(), good);
        for bad in [
            String::new(),
            "../../etc/passwd".to_owned(),
            "0".repeat(63),
            "0".repeat(65),
            "F".repeat(64),
            format!("sha256:{}/", "0".repeat(63)),
            format!("sha256:sha256:{good}"),
            "0".repeat(62) + "é",
        ] {
            assert_eq!(BlobId::parse(&bad), Err(BlobIdError), "{bad}");
        }
    }

    #[test]
    fn a_commit_says_whether_it_was_claimed() {
        let claimed = CommitRef::claimed("7F2A1C9").unwrap();
        assert_eq!(claimed.to_string(), "7f2a1c9 (claimed)");
        assert_eq!(CommitRef::try_from(claimed.to_string()), Ok(claimed));
        assert_eq!(CommitRef::try_from("7f2a1c9".to_owned()), CommitRef::observed("7f2a1c9"));
        for bad in ["HEAD", "--help", "7f2a1c", "7f2a1c9; rm"] {
            assert_eq!(CommitRef::claimed(bad), Err(CommitRefError), "{bad}");
        }
    }
}
