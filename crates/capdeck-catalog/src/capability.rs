//! One entry of the catalog: a definition plus what is known about it.

use std::sync::Arc;

use capdeck_definition::{Definition, DefinitionSource, Exposure, PinMode};

use crate::{Discovery, ExposureModes, HeldTools};

/// A capability as the host knows it.
#[derive(Debug, Clone)]
pub struct Capability {
    pub definition: Arc<Definition>,
    pub status: CapabilityStatus,
    /// How it is offered: the definition's own exposure, else the deck's default.
    pub exposure: Exposure,
    /// Where the exposure in force was written down; `None` means nobody chose it.
    pub exposure_is_explicit: bool,
    /// Lower layers that declared the same id, nearest first.
    pub shadows: Vec<DefinitionSource>,
    /// How closely its tools' definitions are watched.
    pub pins: PinMode,
    /// Tools that are kept from everybody until a person approves them; empty unless changes are blocked.
    pub held: Arc<HeldTools>,
    /// True when whoever sees this has only some of its tools: no resources, no prompts, nothing else of it.
    pub tools_only: bool,
    /// The ways in which whoever sees this may be offered it; `None`: all.
    pub modes: Option<ExposureModes>,
    /// What the backend said it offers, once it has been asked.
    pub discovery: Option<Arc<Discovery>>,
}

/// Whether a capability can be used, and if not, why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CapabilityStatus {
    Ready,
    /// The file no longer loads; this is its last good form.
    Stale {
        reason: String,
    },
    Hidden {
        reason: HiddenReason,
    },
    /// A project file in a folder the person has not trusted.
    Untrusted {
        reason: String,
    },
    Disabled,
}

/// Why a sound capability is not offered to agents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HiddenReason {
    /// `setup` is declared and has not been approved and verified.
    SetupRequired,
    /// `projectBinding` is declared and there is no project.
    ProjectMissing,
}

impl Capability {
    /// What is left of an exposure for whoever sees this.
    pub fn restrict(&self, exposure: Exposure) -> Exposure {
        self.modes.map_or(exposure, |modes| modes.restrict(exposure))
    }

    /// True when it may be served as it is, under its own names.
    pub fn may_be_served_alone(&self) -> bool {
        self.exposure != Exposure::None && self.modes.is_none_or(ExposureModes::have_direct)
    }

    /// True when it may be left to the search, where its exposure has no room.
    pub fn may_be_searched(&self) -> bool {
        self.modes.is_none_or(ExposureModes::have_search)
    }

    /// True when agents may see and call it.
    pub fn is_usable(&self) -> bool {
        matches!(self.status, CapabilityStatus::Ready | CapabilityStatus::Stale { .. })
    }
}
