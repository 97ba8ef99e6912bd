//! What a caller may do in a capsule.

use std::cmp::Ordering;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Scope, StoreError};

/// Each role may do what those before it may.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Reads, lists, searches; sends signals; keeps memory.
    Reader,
    /// Creates new entries.
    Appender,
    /// Replaces, patches and restores entries.
    Writer,
    /// Deletes, purges, declares schemes, reads the audit.
    Owner,
}

impl Role {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Reader => "reader",
            Self::Appender => "appender",
            Self::Writer => "writer",
            Self::Owner => "owner",
        }
    }

    /// Reads a role by name.
    pub fn parse(name: &str) -> Option<Self> {
        [Self::Reader, Self::Appender, Self::Writer, Self::Owner]
            .into_iter()
            .find(|role| role.as_str() == name)
    }

    pub(crate) fn require(self, needed: Self, action: &'static str) -> Result<(), StoreError> {
        if self >= needed {
            Ok(())
        } else {
            Err(StoreError::ForbiddenRole { role: self, needed, action })
        }
    }
}

/// A role on a part of a capsule.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Access {
    pub role: Role,
    #[serde(flatten)]
    pub scope: Scope,
}

impl Access {
    /// Everything, everywhere.
    pub fn owner() -> Self {
        Self { role: Role::Owner, scope: Scope::all() }
    }

    /// What somebody may do who was given both. A role that does not reach as far is not lent to the other one's part:
    /// the higher role counts where they differ.
    #[must_use]
    pub fn joined(&self, other: &Self) -> Self {
        match self.role.cmp(&other.role) {
            Ordering::Greater => self.clone(),
            Ordering::Less => other.clone(),
            Ordering::Equal => Self { role: self.role, scope: self.scope.joined(&other.scope) },
        }
    }
}
