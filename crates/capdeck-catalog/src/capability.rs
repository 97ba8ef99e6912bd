//! One entry of the catalog: a definition plus what is known about it.

use std::sync::Arc;

use capdeck_definition::{Definition, DefinitionSource, Exposure, PinMode};
use serde::{Deserialize, de::IntoDeserializer};

use crate::{Discovery, HeldTools};

/// A capability as the host knows it.
#[derive(Debug, Clone)]
pub struct Capability {
    pub definition: Arc<Definition>,
    pub status: CapabilityStatus,
    /// How it is offered: the definition's own exposure, else the deck's default.
    pub exposure: Exposure,
    /// Where the exposure in force was written down; `None` means that it is a default.
    pub exposure_is_explicit: bool,
    /// Lower layers that declared the same id, nearest first.
    pub shadows: Vec<DefinitionSource>,
    /// How closely its tools' definitions are watched.
    pub pins: PinMode,
    /// Tools that are hidden until a person approves them; empty unless changes are blocked.
    pub held: Arc<HeldTools>,
    /// True when the client has only some of its tools: no resources, no prompts, nothing else of it.
    pub tools_only: bool,
    /// The ways in which a client may be offered it; `None`: all.
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
    /// What is left of an exposure for the client.
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

/// A choice among the ways that exposures are made of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct ExposureModes(u8);

const DIRECT: u8 = 1;
const PROGRESSIVE: u8 = 2;
const CODE_MODE: u8 = 4;
const SEARCH: u8 = 8;
const ON_DEMAND: u8 = 16;

/// The ways that each exposure is made of.
const WAYS: [(Exposure, u8); 8] = [
    (Exposure::Direct, DIRECT),
    (Exposure::Progressive, PROGRESSIVE),
    (Exposure::CodeMode, CODE_MODE),
    (Exposure::DirectAndCodeMode, DIRECT | CODE_MODE),
    (Exposure::ProgressiveAndCodeMode, PROGRESSIVE | CODE_MODE),
    (Exposure::CodeModeAndSearch, CODE_MODE | SEARCH),
    (Exposure::Search, SEARCH),
    (Exposure::OnDemand, ON_DEMAND),
];

fn ways_of(exposure: Exposure) -> u8 {
    WAYS.iter().find(|(known, _)| *known == exposure).map_or(0, |(_, ways)| *ways)
}

impl ExposureModes {
    /// The ways that exposures of these names have. An unknown name has none, and still narrows the choice.
    pub fn from_names<'n>(names: impl IntoIterator<Item = &'n str>) -> Self {
        let ways = |name: &'n str| {
            let named: Result<_, serde::de::value::Error> =
                Exposure::deserialize(name.into_deserializer());
            named.map_or(0, ways_of)
        };
        Self(names.into_iter().map(ways).fold(0, |all, ways| all | ways))
    }

    /// True when tools may be listed under their own names.
    pub fn have_direct(self) -> bool {
        self.0 & DIRECT != 0
    }

    /// True when tools may be found by search.
    pub fn have_search(self) -> bool {
        self.0 & SEARCH != 0
    }

    /// What is left of an exposure. Where nothing is left, the first way that may be had takes its place, the one that
    /// costs a client least.
    pub fn restrict(self, exposure: Exposure) -> Exposure {
        if exposure == Exposure::None {
            return exposure;
        }
        let cheapest = || {
            let ways = [SEARCH, CODE_MODE, ON_DEMAND, PROGRESSIVE, DIRECT];
            ways.into_iter().find(|way| self.0 & way != 0).unwrap_or_default()
        };
        let left = match self.0 & ways_of(exposure) {
            0 => cheapest(),
            left => left,
        };
        WAYS.iter()
            .find(|(_, ways)| *ways == left)
            .map_or(Exposure::None, |(exposure, _)| *exposure)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exposure_keeps_the_ways_that_may_be_had() {
        let modes = |names: &[&str]| ExposureModes::from_names(names.iter().copied());
        use Exposure as E;
        for (names, asked, given) in [
            (&["direct"][..], E::DirectAndCodeMode, E::Direct),
            (&["code_mode"], E::DirectAndCodeMode, E::CodeMode),
            (&["direct", "code_mode"], E::DirectAndCodeMode, E::DirectAndCodeMode),
            (&["progressive_and_code_mode"], E::ProgressiveAndCodeMode, E::ProgressiveAndCodeMode),
            (&["search", "direct"], E::CodeModeAndSearch, E::Search),
            (&["search"], E::Direct, E::Search),
            (&["direct", "progressive"], E::Search, E::Progressive),
            (&["on_demand"], E::OnDemand, E::OnDemand),
            (&["direct"], E::None, E::None),
            (&["sideways"], E::Direct, E::None),
        ] {
            assert_eq!(modes(names).restrict(asked), given, "{names:?} {asked:?}");
        }
    }
}
