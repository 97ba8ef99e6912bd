//! One line of an audit, of a capsule or of the registry: what happens to capsules as a whole and to their shares is in
//! `logs/registry-<day>.jsonl` of the data folder, in the form of every capsule's own audit.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::{CapsuleAuthor, EntryUri, Role};

/// What the names of the registry's own logs start with, for [`super::verify_audit`] and the others.
pub const REGISTRY_LOG: &str = "registry-";

/// One call as it is kept.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "AuditLine")]
pub struct AuditLogLine {
    pub ts: Timestamp,
    /// What the client calls itself.
    pub agent: String,
    pub action: String,
    /// The capsule that was made, changed or taken away, in the registry's own trail.
    pub capsule: Option<String>,
    /// The request, grant, credential, client or operator, in the registry's own trail.
    pub subject: Option<String>,
    /// The share, in the registry's own trail.
    pub share: Option<String>,
    pub uri: Option<EntryUri>,
    pub version: Option<u64>,
    pub outcome: AuditOutcome,
    pub error_code: Option<String>,
    /// What ties an approval to its own request, in the registry's own trail.
    pub self_approved: Option<String>,
    pub role: Option<Role>,
    /// Bytes read or written.
    pub bytes: Option<u64>,
    #[serde(default)]
    pub metadata: AuditOrigin,
    /// Names a change of the capsule, so that its line is written exactly once, even after a crash.
    pub change_id: Option<String>,
    /// When the line was written from the journal: the process that made the change ended before it wrote the line.
    pub recovered_at: Option<Timestamp>,
    pub seq: u64,
    /// The hash of the line before.
    pub prev: String,
    /// The hash of this line without this field.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub h: String,
}

/// How a call ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AuditOutcome {
    #[default]
    Ok,
    Denied,
    Error,
}

/// Where a call came from.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "AuditMetadata")]
pub struct AuditOrigin {
    pub connection_id: Option<String>,
    pub principal_id: Option<String>,
    pub client_version: Option<String>,
}

impl AuditLogLine {
    /// The line of a call that went well. Its time and its place in the chain are set when it is appended.
    pub(crate) fn new(author: &CapsuleAuthor, action: impl Into<String>) -> Self {
        Self {
            agent: author.client.clone(),
            action: action.into(),
            metadata: AuditOrigin {
                connection_id: author.connection.clone(),
                principal_id: author.principal.clone(),
                client_version: author.client_version.clone(),
            },
            ..Self::default()
        }
    }
}

/// Something that was decided about who may use what. It holds ids and no secrets.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AccessEvent {
    /// `grant.approve`, `credential.issue`, `login.fail`, …
    pub action: String,
    pub capsule: Option<String>,
    /// The request, grant, credential, client or operator.
    pub subject: Option<String>,
    pub outcome: AuditOutcome,
    pub error_code: Option<String>,
    /// What ties an approval to its own request.
    pub self_approved: Option<String>,
}
