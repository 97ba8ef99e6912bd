//! A look at which capsules there are, and a choice of the one to work in. It is about no capsule's entries, so the
//! registry's audit has its line.

use serde::{Deserialize, Serialize};

/// What somebody did among the capsules, and what came of it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LookAround {
    pub look: Look,
    /// The capsule that was chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capsule: Option<String>,
    /// Why it failed, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_code: Option<String>,
}

/// A way to look around.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Look {
    List,
    Discover,
    Mount,
    Unmount,
}

impl Look {
    /// What the audit calls it.
    pub(super) fn action(self) -> &'static str {
        match self {
            Self::List => "capsule.list",
            Self::Discover => "capsule.discover",
            Self::Mount => "capsule.mount",
            Self::Unmount => "capsule.unmount",
        }
    }
}
