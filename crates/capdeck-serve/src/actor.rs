//! Who a request comes from, once it was let in. Left in the request's extensions by `transport::http::access`.

use std::sync::Arc;

use capdeck_auth::inbound::{OperatorStanding, Standing};

use crate::mcp::ViaShare;

/// Who a request comes from.
#[derive(Debug, Clone)]
pub(crate) enum Actor {
    /// Whoever has the host's key, or sits at this machine where that is enough.
    Owner,
    /// A person who signed in, or came with a key of their own.
    Operator(OperatorStanding),
    /// A client with a token: what it was granted, and nothing else.
    Credential(Arc<Standing>),
    /// Whoever has the token of a share: one capsule, and nothing else.
    Share(ViaShare),
}
