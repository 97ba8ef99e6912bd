//! Who sends a request. `transport::http::authenticate` leaves it in the request's extensions.

use std::sync::Arc;

use capdeck_auth::inbound::{AuthenticatedClient, AuthenticatedOperator};

use crate::mcp::ShareAccess;

/// Who sends a request.
#[derive(Debug, Clone)]
pub(crate) enum RequestActor {
    /// The holder of the host's key, or the person at this machine where that is enough.
    Owner,
    /// A person who signed in, or sent a key of their own.
    Operator(AuthenticatedOperator),
    /// A client with a token.
    Credential(Arc<AuthenticatedClient>),
    /// The holder of a share's token, which opens one capsule.
    Share(ShareAccess),
}

/// The principal of the owner who sent the host's key.
pub(crate) const KEY_PRINCIPAL: &str = "key";

impl RequestActor {
    /// A name for people, from what this host knows and never from what the client says. Shares are named by the capsules.
    pub(crate) fn name(&self, principal: &str) -> Option<String> {
        match self {
            Self::Owner if principal == KEY_PRINCIPAL => Some("admin".to_owned()),
            Self::Owner => Some("local".to_owned()),
            Self::Operator(operator) => Some(format!("operator {}", operator.name)),
            Self::Credential(client) => Some(format!("client {}", client.client_name)),
            Self::Share(_) => None,
        }
    }
}
