//! The settings that a client was started with: an exposure for everything, a part of the deck, a
//! token budget.

use std::sync::Arc;

use capdeck_catalog::{Capability, Catalog, CatalogPart, estimate_tokens};
use capdeck_definition::Exposure;

use super::tool_list;

pub(super) const DEFAULT_SURFACE_TOKENS: usize = 1_000;

/// How a client wants the deck offered.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct ViewPolicy {
    /// Overrides the exposure of every capability; `none` in a file still applies.
    pub exposure: Option<Exposure>,
    /// Limits the deck to the view of this name. `None` gives what is meant for agents.
    pub view: Option<Arc<str>>,
}

impl ViewPolicy {
    /// Everything that is meant for agents, in this exposure.
    pub fn offering(exposure: Option<Exposure>) -> Self {
        Self { exposure, view: None }
    }

    pub(crate) fn part(&self) -> CatalogPart {
        self.view.clone().map_or(CatalogPart::Offered, CatalogPart::View)
    }

    /// The exposure in force for a capability, within the client's grant.
    pub fn exposure_of(&self, capability: &Capability) -> Exposure {
        capability.restrict(match (capability.exposure, self.exposure) {
            (Exposure::None, _) => Exposure::None,
            (_, Some(asked)) => asked,
            (own, None) => own,
        })
    }

    /// True when a person set the exposure, in the file, the config, on the command line or in a
    /// grant.
    pub(super) fn is_explicit(&self, capability: &Capability) -> bool {
        self.exposure.is_some() || capability.exposure_is_explicit || capability.modes.is_some()
    }

    pub(super) fn budget(&self, catalog: &Catalog) -> TokenBudget {
        let set = catalog.config().surface_tokens.map(|tokens| tokens as usize);
        let whole = set.unwrap_or(DEFAULT_SURFACE_TOKENS);
        // The search tools are the fallback for everything that exceeds the budget.
        let reserved = estimate_tokens(tool_list::META_TOOL_DEFINITIONS);
        TokenBudget { left: whole.saturating_sub(reserved), is_strict: set.is_some() }
    }
}

/// True when scripts reach a capability of this exposure.
pub(super) fn is_by_code(exposure: Exposure) -> bool {
    matches!(
        exposure,
        Exposure::CodeMode
            | Exposure::DirectAndCodeMode
            | Exposure::ProgressiveAndCodeMode
            | Exposure::CodeModeAndSearch
    )
}

pub(super) struct TokenBudget {
    pub(super) left: usize,
    /// True for a budget that the person set; an explicit exposure overrides the default one.
    pub(super) is_strict: bool,
}

impl TokenBudget {
    pub(super) fn take(&mut self, explicit: bool, cost: impl FnOnce() -> usize) -> bool {
        if explicit && !self.is_strict {
            return true;
        }
        let cost = cost();
        let fits = cost <= self.left;
        if fits {
            self.left -= cost;
        }
        fits
    }

    /// The max tokens of a tool whose text adapts to its room.
    pub(super) fn room(&self) -> usize {
        if self.is_strict { self.left } else { usize::MAX }
    }
}
