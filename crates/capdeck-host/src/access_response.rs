//! Responses to requests for access. Members that say nothing are left out: every reader pays for them.

use capdeck_access::{GrantTarget, Role, Scopes, capsule_id_of};
use capdeck_auth::inbound::RequestStatus;
use capdeck_capsule::service::CapsuleSummary;
use jiff::Timestamp;
use serde::Serialize;

/// The response to an [`crate::AccessRequest`].
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub enum AccessResponse {
    /// What became of a request for access.
    Outcome(Box<AccessOutcome>),
    /// A capsule that was created or changed.
    Capsule { capsule: Box<CapsuleSummary> },
    /// Requests that wait for a decision.
    Requests {
        requests: Vec<PendingGrantRequest>,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        has_more: bool,
    },
    /// Connections of those who use the client's capsules.
    Connections {
        connections: Vec<GrantConnection>,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        has_more: bool,
    },
    /// A connection that was ended.
    Ended { connection_id: String, status: ConnectionStatus },
}

/// What became of a request for access, with what was granted.
#[derive(Debug, Clone, Serialize)]
pub struct AccessOutcome {
    pub request_id: String,
    pub status: RequestStatus,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connection_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub granted: Option<GrantedTerms>,
    /// When it is over without a decision. Absent once something is granted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// Scopes of it that the client's token lacks.
    #[serde(skip_serializing_if = "Scopes::is_empty")]
    pub missing_scopes: Scopes,
}

/// What a grant opens, and until when.
#[derive(Debug, Clone, Serialize)]
pub struct GrantedTerms {
    #[serde(flatten)]
    pub target: AccessTarget,
    #[serde(skip_serializing_if = "Scopes::is_empty")]
    pub scopes: Scopes,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
}

/// A request that waits for a decision.
#[derive(Debug, Clone, Serialize)]
pub struct PendingGrantRequest {
    #[serde(flatten)]
    pub target: AccessTarget,
    pub request_id: String,
    /// Whether the client may decide it.
    pub may_decide: bool,
    pub client_name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
    pub principal: String,
    pub requested_by: String,
    #[serde(skip_serializing_if = "Scopes::is_empty")]
    pub scopes: Scopes,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    pub expires_at: Timestamp,
}

/// A grant that the client may take back.
#[derive(Debug, Clone, Serialize)]
pub struct GrantConnection {
    #[serde(flatten)]
    pub terms: GrantedTerms,
    pub connection_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
    pub principal: String,
}

/// What became of a connection.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ConnectionStatus {
    Revoked,
}

/// A capsule by its id with a role and prefixes, or a part of the deck.
#[derive(Debug, Clone, Default, Serialize)]
pub struct AccessTarget {
    #[serde(skip_serializing_if = "Option::is_none")]
    capsule: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<Role>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    uri_prefixes: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    denied_prefixes: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    capabilities: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    denied_tools: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    modes: Vec<String>,
}

impl From<GrantTarget> for AccessTarget {
    fn from(target: GrantTarget) -> Self {
        match target {
            GrantTarget::Capsule { capsule, role, uri_prefixes, denied_prefixes } => Self {
                capsule: Some(capsule_id_of(&capsule).to_owned()),
                role: Some(role),
                uri_prefixes,
                denied_prefixes,
                ..Self::default()
            },
            GrantTarget::Deck(deck) => Self {
                capabilities: deck.capabilities,
                tools: deck.tools,
                denied_tools: deck.denied_tools,
                modes: deck.modes,
                ..Self::default()
            },
        }
    }
}
