//! Who may ask for what: the same word decides and is shown in the document.

use capdeck_auth::inbound::{OAuthScope, OperatorRole};
use http::StatusCode;

use super::{call::Call, problem::ApiError};
use crate::actor::Actor;

/// Nobody is signed in where somebody has to be.
pub(super) fn unauthenticated() -> ApiError {
    ApiError::new(StatusCode::UNAUTHORIZED, "unauthenticated", "nobody is signed in")
}

/// Who may ask for an operation at all. What they see of it is decided by the operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Who {
    /// Everyone, also who was not let in; what opens something is a part of the request.
    Stranger,
    /// Everyone who was let in, within what they reach.
    Anyone,
    /// The host's owner and every operator, within what they reach.
    Operator,
    /// The same, and clients that were granted `registry:manage`.
    Manager,
    /// The host's owner and its admins, and clients that were granted a part of the deck, within that part.
    Deck,
    /// The same, with the right to call.
    DeckCall,
    /// The host's owner and its admins.
    Admin,
}

impl Who {
    /// What the document says about it.
    pub(super) fn told(self) -> &'static str {
        match self {
            Self::Stranger => "Everyone, without signing in.",
            Self::Anyone => "Everyone who is signed in, within what they may reach.",
            Self::Operator => "The host's owner and every operator, within what they may reach.",
            Self::Manager => {
                "The host's owner, operators for what they may decide, and clients with `registry:manage`."
            }
            Self::Deck => {
                "The host's owner, operators with the role `admin`, and clients that were granted a part of the deck, within that part."
            }
            Self::DeckCall => {
                "The host's owner, operators with the role `admin`, and clients that may call a part of the deck, within that part."
            }
            Self::Admin => "The host's owner and operators with the role `admin`.",
        }
    }

    /// Lets somebody pass, or says who may.
    pub(super) fn admit(self, actor: &Actor) -> Result<(), ApiError> {
        let may = match actor {
            Actor::Owner => true,
            Actor::Operator(operator) => match self {
                Self::Stranger | Self::Anyone | Self::Operator | Self::Manager => true,
                Self::Deck | Self::DeckCall | Self::Admin => operator.role == OperatorRole::Admin,
            },
            Actor::Credential(client) => match self {
                Self::Stranger | Self::Anyone => true,
                Self::Manager => client.scopes.allows(OAuthScope::RegistryManage),
                Self::Deck => client.scopes.allows(OAuthScope::DeckRead),
                Self::DeckCall => client.scopes.allows(OAuthScope::DeckCall),
                Self::Operator | Self::Admin => false,
            },
            Actor::Share(_) => self == Self::Stranger,
        };
        if may {
            return Ok(());
        }
        let detail = format!("this is not open to you: {}", self.told());
        Err(ApiError::forbidden(detail))
    }

    /// The same for whoever sent a request.
    pub(super) fn admit_call(self, call: &Call) -> Result<(), ApiError> {
        call.actor.as_ref().map_or_else(|| Err(unauthenticated()), |actor| self.admit(actor))
    }
}
