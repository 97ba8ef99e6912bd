//! What happens to capsules as a whole and to their shares: `logs/registry-<day>.jsonl` in the data folder, in the form
//! of every capsule's own audit.

use serde::{Deserialize, Serialize};

use crate::AuditOutcome;

/// What the names of the registry's own logs start with, for [`crate::verify_audit`] and the others.
pub const REGISTRY_LOG: &str = "registry-";

/// Something that was decided about who may use what. It holds ids and no secrets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccessEvent {
    /// `grant.approve`, `credential.issue`, `login.fail`, …
    pub action: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capsule: Option<String>,
    /// The request, grant, credential, client or operator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    pub outcome: AuditOutcome,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_code: Option<String>,
    /// What ties an approval to its own request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub self_approved: Option<String>,
}

/// What a line of the registry is about.
#[derive(Debug, Clone, Default)]
pub(crate) struct AuditSubject {
    pub(crate) capsule: Option<String>,
    pub(crate) share: Option<String>,
}

impl AuditSubject {
    pub(crate) fn capsule(id: &str) -> Self {
        Self { capsule: Some(id.to_owned()), share: None }
    }
}
