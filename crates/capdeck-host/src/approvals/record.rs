//! One approval, as stored and as shown.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{APPROVAL_LIFETIME, ApprovalRequest, REQUEST_LIFETIME, seal::SealKey};

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ApprovalRecord {
    pub(super) id: String,
    capability: String,
    fingerprint: String,
    tool: String,
    pub(super) definition: Option<String>,
    arguments_digest: String,
    arguments: String,
    client: String,
    principal: String,
    requested_at: Timestamp,
    pub(super) approved_at: Option<Timestamp>,
    #[serde(default)]
    pub(super) is_standing: bool,
    #[serde(default)]
    seal: String,
}

/// An approval as listed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Approval {
    pub id: String,
    pub state: ApprovalState,
    pub capability: String,
    pub tool: String,
    /// The arguments without secrets; empty for a standing approval, which covers any.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub arguments: String,
    /// Name the client reports for itself.
    pub client: String,
    /// Who sends the client's requests.
    pub principal: String,
    pub requested_at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approved_at: Option<Timestamp>,
    /// When it expires; never for a standing approval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
}

/// The state of an approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ApprovalState {
    /// The call waits for a person.
    Waiting,
    /// The call may be repeated once.
    Approved,
    /// The tool may always run.
    Standing,
}

impl ApprovalState {
    /// The name of the state.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Approved => "approved",
            Self::Standing => "standing",
        }
    }
}

impl ApprovalRecord {
    pub(super) fn of(call: &ApprovalRequest, now: Timestamp, taken: impl Fn(&str) -> bool) -> Self {
        let mut id = short_id();
        while taken(&id) {
            id = short_id();
        }
        Self {
            id,
            capability: call.capability.clone(),
            fingerprint: call.fingerprint.clone(),
            tool: call.tool.clone(),
            definition: call.definition.clone(),
            arguments_digest: call.arguments_digest.clone(),
            arguments: call.arguments.clone(),
            client: call.client.clone(),
            principal: call.principal.clone(),
            requested_at: now,
            approved_at: None,
            is_standing: false,
            seal: String::new(),
        }
    }

    pub(super) fn seal(&mut self, key: &SealKey) {
        self.seal = self.expected_seal(key);
    }

    pub(super) fn is_live(&self, key: &SealKey, now: Timestamp) -> bool {
        self.seal == self.expected_seal(key) && self.expires_at().is_none_or(|end| now < end)
    }

    pub(super) fn is_waiting_for(&self, call: &ApprovalRequest) -> bool {
        self.approved_at.is_none() && self.is_same_call(call)
    }

    pub(super) fn covers_call(&self, call: &ApprovalRequest) -> bool {
        self.approved_at.is_some() && !self.is_standing && self.is_same_call(call)
    }

    pub(super) fn covers_tool(&self, call: &ApprovalRequest) -> bool {
        self.approved_at.is_some()
            && self.is_standing
            && self.definition.is_some()
            && self.is_same_tool(call)
    }

    fn is_same_tool(&self, call: &ApprovalRequest) -> bool {
        self.capability == call.capability
            && self.fingerprint == call.fingerprint
            && self.tool == call.tool
            && self.definition == call.definition
    }

    fn is_same_call(&self, call: &ApprovalRequest) -> bool {
        self.is_same_tool(call)
            && self.arguments_digest == call.arguments_digest
            && self.client == call.client
            && self.principal == call.principal
    }

    fn expires_at(&self) -> Option<Timestamp> {
        match self.approved_at {
            _ if self.is_standing => None,
            Some(approved) => approved.checked_add(APPROVAL_LIFETIME).ok(),
            None => self.requested_at.checked_add(REQUEST_LIFETIME).ok(),
        }
    }

    pub(super) fn shown(&self) -> Approval {
        let state = match self.approved_at {
            None => ApprovalState::Waiting,
            Some(_) if self.is_standing => ApprovalState::Standing,
            Some(_) => ApprovalState::Approved,
        };
        Approval {
            id: self.id.clone(),
            state,
            capability: self.capability.clone(),
            tool: self.tool.clone(),
            arguments: if self.is_standing { String::new() } else { self.arguments.clone() },
            client: self.client.clone(),
            principal: self.principal.clone(),
            requested_at: self.requested_at,
            approved_at: self.approved_at,
            expires_at: self.expires_at(),
        }
    }

    fn expected_seal(&self, key: &SealKey) -> String {
        let time = |time: Timestamp| time.as_nanosecond().to_string();
        key.seal(&[
            &self.id,
            &self.capability,
            &self.fingerprint,
            &self.tool,
            self.definition.as_deref().unwrap_or_default(),
            &self.arguments_digest,
            &self.arguments,
            &self.client,
            &self.principal,
            &time(self.requested_at),
            &self.approved_at.map(time).unwrap_or_default(),
            if self.is_standing { "standing" } else { "once" },
        ])
    }
}

/// Short enough to type. It need not be secret: approving takes access to this machine.
fn short_id() -> String {
    uuid::Uuid::new_v4().simple().to_string().chars().take(8).collect()
}
