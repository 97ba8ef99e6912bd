//! Who a request comes from, once it was let in. Left in the request's extensions by `transport::http::access`.

use crate::mcp::ViaShare;

/// Who a request comes from.
#[derive(Debug, Clone)]
pub(crate) enum Actor {
    /// Whoever has the host's key, or sits at this machine where that is enough.
    Owner,
    /// Whoever has the token of a share: one capsule, and nothing else.
    Share(ViaShare),
}
