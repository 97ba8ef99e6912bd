//! The messages between the process that has the capsules and those that send it requests.
//!
//! The one that has them greets. A connection then carries one request at a time, or, after `Listen`, changes until either
//! side hangs up. Before a request is worked on, `Begun` is sent: a connection that ends without it means that nothing was
//! done.

use capdeck_host::{
    CapsuleCaller, CapsuleChange, CapsuleError, CapsuleOperation, CapsuleRequest, CapsuleResponse,
};
use serde::{Deserialize, Serialize};

/// Changes whenever one side would misunderstand the other.
pub(super) const PROTOCOL: u32 = 4;

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Request {
    Dispatch(Box<CapsuleRequest<CapsuleOperation>>),
    Listen(CapsuleCaller),
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Reply {
    /// From here on the request may have an effect, or changes are sent.
    Begun,
    Response(Box<CapsuleResponse>),
    Failed(CapsuleError),
    Changed(CapsuleChange),
}
