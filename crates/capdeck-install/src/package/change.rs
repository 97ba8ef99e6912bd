//! What getting, updating or removing a package would do, known before it is done.

use std::path::PathBuf;

use serde::Serialize;

use super::{LockedSource, Package, RiskChange};

/// One package on its way into a deck.
#[derive(Debug, Clone, PartialEq)]
pub struct PackageChange {
    pub package: Package,
    pub source: LockedSource,
    pub action: PackageAction,
    /// Where it goes.
    pub path: PathBuf,
    /// What it can do that it could not before, and the other way round; everything, for a new one.
    pub risk_changes: Vec<RiskChange>,
    /// The texts that change.
    pub diff: String,
    /// Whether its source has something else than what was installed.
    pub has_news: bool,
    /// Whether the deck holds exactly this already, so that only the record is written.
    pub(super) is_there: bool,
    /// What stands in its way.
    pub obstacle: Option<Obstacle>,
}

/// What happens to a package.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PackageAction {
    Install,
    Update,
    /// It is there as it should be.
    Nothing,
}

/// Why a package is not written as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(rename_all = "kebab-case")]
pub enum Obstacle {
    #[error("its definition has errors")]
    Broken,
    #[error("something else of that id is already in the deck")]
    Foreign,
    #[error("it was edited after it was installed")]
    Edited,
    #[error("another program installed it, and whether it was edited since cannot be told")]
    Unknown,
}

/// One package on its way out of a deck.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Removal {
    pub id: String,
    pub path: PathBuf,
    /// False when its files are gone already and only the record is left.
    pub is_there: bool,
    pub obstacle: Option<Obstacle>,
}

impl PackageChange {
    /// Whether it can do anything new. A package that is new itself was asked for as it is.
    pub fn widens(&self) -> bool {
        self.action == PackageAction::Update && self.risk_changes.iter().any(|change| change.is_new)
    }
}

impl Obstacle {
    /// Whether a person may decide to go on all the same.
    pub fn yields_to_force(self) -> bool {
        match self {
            Self::Foreign | Self::Edited | Self::Unknown => true,
            Self::Broken => false,
        }
    }
}
