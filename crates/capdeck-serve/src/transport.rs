//! Bytes in and out. Nothing here knows a capability.

pub(crate) mod http;
pub(crate) mod stdio;
