//! One approval, as stored with its seal and as shown.

use capdeck_storage::to_hex;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{APPROVAL_LIFETIME, ApprovalRequest, REQUEST_LIFETIME};
use crate::durable::KeyBytes;

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ApprovalRecord {
    pub(super) id: String,
    #[serde(flatten)]
    pub(super) call: ApprovalRequest,
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
    pub(super) fn new(call: &ApprovalRequest, now: Timestamp, others: &[Self]) -> Self {
        let mut id = short_id();
        while others.iter().any(|other| other.id == id) {
            id = short_id();
        }
        Self {
            id,
            call: call.clone(),
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

    pub(super) fn covers_call(&self, call: &ApprovalRequest) -> bool {
        self.approved_at.is_some() && !self.is_standing && self.is_same_call(call)
    }

    pub(super) fn covers_tool(&self, call: &ApprovalRequest) -> bool {
        self.approved_at.is_some()
            && self.is_standing
            && self.call.definition.is_some()
            && self.is_same_tool(call)
    }

    fn is_same_tool(&self, call: &ApprovalRequest) -> bool {
        let own = &self.call;
        (&own.capability, &own.fingerprint, &own.tool, &own.definition)
            == (&call.capability, &call.fingerprint, &call.tool, &call.definition)
    }

    pub(super) fn is_same_call(&self, call: &ApprovalRequest) -> bool {
        let own = &self.call;
        self.is_same_tool(call)
            && (&own.arguments_digest, &own.client, &own.principal)
                == (&call.arguments_digest, &call.client, &call.principal)
    }

    fn expires_at(&self) -> Option<Timestamp> {
        match self.approved_at {
            _ if self.is_standing => None,
            Some(approved) => approved.checked_add(APPROVAL_LIFETIME).ok(),
            None => self.requested_at.checked_add(REQUEST_LIFETIME).ok(),
        }
    }

    pub(super) fn to_approval(&self) -> Approval {
        let state = match self.approved_at {
            None => ApprovalState::Waiting,
            Some(_) if self.is_standing => ApprovalState::Standing,
            Some(_) => ApprovalState::Approved,
        };
        let call = &self.call;
        Approval {
            id: self.id.clone(),
            state,
            capability: call.capability.clone(),
            tool: call.tool.clone(),
            arguments: if self.is_standing { String::new() } else { call.arguments.clone() },
            client: call.client.clone(),
            principal: call.principal.clone(),
            requested_at: self.requested_at,
            approved_at: self.approved_at,
            expires_at: self.expires_at(),
        }
    }

    fn expected_seal(&self, key: &SealKey) -> String {
        let time = |time: Timestamp| time.as_nanosecond().to_string();
        let call = &self.call;
        key.seal(&[
            &self.id,
            &call.capability,
            &call.fingerprint,
            &call.tool,
            call.definition.as_deref().unwrap_or_default(),
            &call.arguments_digest,
            &call.arguments,
            &call.client,
            &call.principal,
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

/// The block size of SHA-256, to which HMAC pads its key.
const SHA256_BLOCK_BYTES: usize = 64;

/// A key of this machine that authenticates the entries Capdeck wrote.
pub(super) struct SealKey(pub(super) KeyBytes);

impl SealKey {
    pub(super) fn seal(&self, fields: &[&str]) -> String {
        // The lengths prevent moving the border between two neighbouring fields.
        let lengths: Vec<[u8; 8]> =
            fields.iter().map(|field| (field.len() as u64).to_be_bytes()).collect();
        let parts = lengths.iter().zip(fields);
        let parts = parts.flat_map(|(length, field)| [length.as_slice(), field.as_bytes()]);
        hmac(&self.0, parts)
    }
}

fn hmac<'a>(key: &[u8], parts: impl Iterator<Item = &'a [u8]>) -> String {
    let padded = |pad: u8| {
        let mut block = [pad; SHA256_BLOCK_BYTES];
        block.iter_mut().zip(key).for_each(|(byte, key)| *byte ^= key);
        Sha256::new_with_prefix(block)
    };
    let mut inner = padded(0x36);
    parts.for_each(|part| inner.update(part));
    to_hex(padded(0x5c).chain_update(inner.finalize()).finalize())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seal_is_hmac_sha256() {
        // Case 2 of RFC 4231.
        let seal = hmac(b"Jefe", [b"what do ya want ".as_slice(), b"for nothing?"].into_iter());
        assert_eq!(seal, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    }

    #[test]
    fn fields_cannot_be_shifted_and_keys_differ() {
        let (one, other) = (SealKey([1; 32]), SealKey([2; 32]));
        assert_eq!(one.seal(&["a", "bc"]), one.seal(&["a", "bc"]));
        assert_ne!(one.seal(&["a", "bc"]), one.seal(&["ab", "c"]));
        assert_ne!(one.seal(&["a"]), one.seal(&["a", ""]));
        assert_ne!(one.seal(&["a"]), other.seal(&["a"]));
    }
}
