//! What travels between the process that has the capsules and those that ask it.
//!
//! The one that has them greets. A connection then carries one request at a time, or, after `Listen`, changes until either
//! side hangs up. Before a request is worked on, that is told: a connection that ends without this word means that nothing
//! was done.

use capdeck_host::{CapsuleCaller, CapsuleChange, CapsuleFailure, CapsuleRequest};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Changes whenever one side would misunderstand the other.
pub(super) const PROTOCOL: u32 = 3;

/// What is asked.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Request {
    Ask(Box<CapsuleRequest>),
    Listen(CapsuleCaller),
}

/// What is answered.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Reply {
    /// From here on the request may have an effect, or changes are told.
    Begun,
    Answer(Value),
    Failed(CapsuleFailure),
    Changed(CapsuleChange),
}
