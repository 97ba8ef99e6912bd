//! What a client asked for when it was started: an exposure for everything, a part of the deck, a token budget.

use std::sync::Arc;

use capdeck_catalog::{Capability, Catalog, Part, estimate_tokens};
use capdeck_definition::Exposure;

use super::{Budget, standing};

/// Tokens of standing tools when nobody set a budget.
pub(super) const DEFAULT_SURFACE_TOKENS: usize = 1_000;

/// How one client wants the deck offered.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct ViewPolicy {
    /// Offers every capability this way, whatever its file says; `none` in a file still holds.
    pub exposure: Option<Exposure>,
    /// Gives only what the view of this name has. `None` gives what is meant for agents.
    pub view: Option<Arc<str>>,
}

impl ViewPolicy {
    /// Everything that is meant for agents, offered in this way.
    pub fn offering(exposure: Option<Exposure>) -> Self {
        Self { exposure, view: None }
    }

    /// What such clients are given of the deck.
    pub(crate) fn part(&self) -> Part {
        self.view.clone().map_or(Part::Offered, Part::View)
    }

    /// The exposure in force for a capability, as far as whoever sees it may have it so.
    pub fn exposure_of(&self, capability: &Capability) -> Exposure {
        capability.restrict(match (capability.exposure, self.exposure) {
            (Exposure::None, _) => Exposure::None,
            (_, Some(asked)) => asked,
            (own, None) => own,
        })
    }

    /// True when a person chose the exposure, in the file, the config, on the command line or in a grant.
    pub(super) fn is_explicit(&self, capability: &Capability) -> bool {
        self.exposure.is_some() || capability.exposure_is_explicit || capability.modes.is_some()
    }

    pub(super) fn budget(&self, catalog: &Catalog) -> Budget {
        let set = catalog.config().surface_tokens.map(|tokens| tokens as usize);
        let whole = set.unwrap_or(DEFAULT_SURFACE_TOKENS);
        // The search tools are what everything that does not fit falls back to.
        let reserved = estimate_tokens(standing::META_TOOL_DEFINITIONS);
        Budget { left: whole.saturating_sub(reserved), is_strict: set.is_some() }
    }
}
