//! Who a request comes from, once it was let in. Left in the request's extensions by `transport::http::authenticate`.

use std::sync::Arc;

use capdeck_auth::inbound::{AuthenticatedClient, AuthenticatedOperator};

use crate::mcp::ViaShare;

/// Who a request comes from.
#[derive(Debug, Clone)]
pub(crate) enum Actor {
    /// Whoever has the host's key, or sits at this machine where that is enough.
    Owner,
    /// A person who signed in, or came with a key of their own.
    Operator(AuthenticatedOperator),
    /// A client with a token: what it was granted, and nothing else.
    Credential(Arc<AuthenticatedClient>),
    /// Whoever has the token of a share: one capsule, and nothing else.
    Share(ViaShare),
}

/// What the principal of the owner is called where they came with the host's key.
pub(crate) const KEY_PRINCIPAL: &str = "key";

impl Actor {
    /// What people call whoever it is, as this host knows them; nothing of it is their client's word. Shares are named by
    /// the capsules, which know them.
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
