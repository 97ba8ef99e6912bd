//! The id that connects a response to its request.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Number;

/// A JSON-RPC request id: a number or a string, echoed unchanged.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub enum RequestId {
    Number(Number),
    String(String),
}

impl RequestId {
    /// Returns the id as one of our own, which are counters.
    pub(crate) fn as_counter(&self) -> Option<u64> {
        match self {
            Self::Number(number) => number.as_u64(),
            Self::String(_) => None,
        }
    }
}

impl From<u64> for RequestId {
    fn from(counter: u64) -> Self {
        Self::Number(counter.into())
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(formatter),
            Self::String(text) => write!(formatter, "{text:?}"),
        }
    }
}
