//! Who sends a request.

use std::{
    fmt,
    hash::{Hash, Hasher},
    sync::Arc,
};

/// Who sends a request, as the transport established it. Sessions, tasks, approvals and memory belong to one principal
/// and are never given to another. Principals with the same id are equal, even with different names.
#[derive(Debug, Clone)]
pub struct Principal {
    id: Arc<str>,
    /// For people only.
    name: Option<Arc<str>>,
}

impl Principal {
    /// The person at this machine: the command line, stdio, and loopback without a key.
    pub fn local() -> Self {
        Self::named("local")
    }

    /// A principal under the stable name that a transport gave it.
    pub fn named(name: &str) -> Self {
        Self { id: name.into(), name: None }
    }

    /// The same with what people call it, such as `operator Ann`.
    pub fn shown_as(self, name: Option<&str>) -> Self {
        Self { name: name.map(Into::into), ..self }
    }

    /// What people call it, where that is known.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    pub fn as_str(&self) -> &str {
        &self.id
    }
}

impl PartialEq for Principal {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl Eq for Principal {}

impl Hash for Principal {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.id.hash(hasher);
    }
}

impl fmt::Display for Principal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.id)
    }
}
