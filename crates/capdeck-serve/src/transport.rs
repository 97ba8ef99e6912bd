//! Transports. They know nothing of capabilities.

pub(crate) mod http;
pub(crate) mod stdio;
