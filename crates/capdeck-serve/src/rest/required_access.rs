//! Who can use an operation. The same value decides and is documented.

use capdeck_auth::inbound::{OAuthScope, OperatorRole};
use http::StatusCode;

use super::{call::RestCall, problem::ApiError};
use crate::request_actor::RequestActor;

pub(super) fn unauthenticated() -> ApiError {
    ApiError::new(StatusCode::UNAUTHORIZED, "unauthenticated", "sign in first")
}

/// Who can use an operation at all. The operation filters what they see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RequiredAccess {
    /// Public; the request itself has a token where needed.
    Stranger,
    /// Everyone who is authenticated, within their access.
    Anyone,
    /// The owner and every operator, within their access.
    Operator,
    /// The same, and clients with `registry:manage`.
    Manager,
    /// The owner, admins, and clients with a grant for the deck, within that grant.
    Deck,
    /// The same, with the scope to call.
    DeckCall,
    Admin,
}

impl RequiredAccess {
    pub(super) fn description(self) -> &'static str {
        match self {
            Self::Stranger => "Everyone, without authentication.",
            Self::Anyone => "Every authenticated sender, within their access.",
            Self::Operator => "The owner of the host and every operator, within their access.",
            Self::Manager => {
                "The owner of the host, operators for what they can decide, and clients with `registry:manage`."
            }
            Self::Deck => {
                "The owner of the host, operators with the role `admin`, and clients with a grant for a part of the deck, within that part."
            }
            Self::DeckCall => {
                "The owner of the host, operators with the role `admin`, and clients that can call a part of the deck, within that part."
            }
            Self::Admin => "The owner of the host and operators with the role `admin`.",
        }
    }

    pub(super) fn admit(self, actor: &RequestActor) -> Result<(), ApiError> {
        let may = match actor {
            RequestActor::Owner => true,
            RequestActor::Operator(operator) => match self {
                Self::Stranger | Self::Anyone | Self::Operator | Self::Manager => true,
                Self::Deck | Self::DeckCall | Self::Admin => operator.role == OperatorRole::Admin,
            },
            RequestActor::Credential(client) => match self {
                Self::Stranger | Self::Anyone => true,
                Self::Manager => client.scopes.allows(OAuthScope::RegistryManage),
                Self::Deck => client.scopes.allows(OAuthScope::DeckRead),
                Self::DeckCall => client.scopes.allows(OAuthScope::DeckCall),
                Self::Operator | Self::Admin => false,
            },
            RequestActor::Share(_) => self == Self::Stranger,
        };
        if may {
            return Ok(());
        }
        let detail = format!("access denied; allowed: {}", self.description());
        Err(ApiError::forbidden(detail))
    }

    pub(super) fn admit_call(self, call: &RestCall) -> Result<(), ApiError> {
        call.actor.as_ref().map_or_else(|| Err(unauthenticated()), |actor| self.admit(actor))
    }
}
