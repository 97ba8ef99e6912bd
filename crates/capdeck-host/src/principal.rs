//! Who is behind a session, as the transport established it.

use std::{fmt, sync::Arc};

/// The owner of everything a client is handed out: sessions, tasks, approvals. Nothing crosses from one to another.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Principal(Arc<str>);

impl Principal {
    /// The person at this machine: the command line, stdio, and loopback without a key.
    pub fn local() -> Self {
        Self("local".into())
    }

    /// A principal under the stable name that a transport gave it.
    pub fn named(name: &str) -> Self {
        Self(name.into())
    }

    /// The stable name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Principal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}
