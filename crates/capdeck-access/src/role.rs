//! What a client may do in a capsule, and what an operator may do on a host.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr};

/// Each role may do what those before it may.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
#[derive(EnumString, IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
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
        self.into()
    }

    pub fn parse(name: &str) -> Option<Self> {
        name.parse().ok()
    }
}

/// The role of an operator.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
#[derive(EnumString, IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum OperatorRole {
    /// Owns capsules, reads those of the team, decides requests for their own.
    Member,
    /// Decides requests for every capsule and the deck.
    Approver,
    /// Everything.
    Admin,
}

impl OperatorRole {
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    pub fn parse(name: &str) -> Option<Self> {
        name.parse().ok()
    }
}
