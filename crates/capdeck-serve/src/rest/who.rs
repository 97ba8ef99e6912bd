//! Who may ask for what: the same word decides and is shown in the document.

use super::problem::ApiError;
use crate::actor::Actor;

/// Who may ask for an operation at all. What they see of it is decided by the operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Who {
    /// Everyone who was let in, within what they reach.
    Anyone,
    /// The host's owner and every operator, within what they reach.
    Operator,
    /// The host's owner and its admins.
    Admin,
}

impl Who {
    /// What the document says about it.
    pub(super) fn told(self) -> &'static str {
        match self {
            Self::Anyone => "Everyone who is signed in, within what they may reach.",
            Self::Operator => "The host's owner and every operator, within what they may reach.",
            Self::Admin => "The host's owner and operators with the role `admin`.",
        }
    }

    /// Lets somebody pass, or says who may.
    pub(super) fn admit(self, actor: &Actor) -> Result<(), ApiError> {
        let may = match actor {
            Actor::Owner => true,
            Actor::Share(_) => false,
        };
        if may {
            return Ok(());
        }
        let detail = format!("this is not open to you: {}", self.told());
        Err(ApiError::forbidden(detail))
    }
}
