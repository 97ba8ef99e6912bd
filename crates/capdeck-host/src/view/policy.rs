//! The settings that a client was started with: an exposure for everything, a part of the deck, a
//! token budget.

use std::sync::Arc;

use capdeck_catalog::{Capability, Catalog, CatalogPart, estimate_tokens};
use capdeck_definition::Exposure;

use super::search_tools::SEARCH_TOOLS;

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
        let reserved = estimate_tokens(SEARCH_TOOLS);
        TokenBudget {
            left: whole.saturating_sub(reserved),
            direct_left: MAX_DIRECT_TOKENS,
            is_strict: set.is_some(),
        }
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

/// Tokens of tools that are listed one by one because a person wants it. A larger list leaves a model
/// little room for anything else, and some clients refuse to start with it; a budget of the person's
/// own may be larger.
pub(super) const MAX_DIRECT_TOKENS: usize = 100_000;

pub(super) struct TokenBudget {
    pub(super) left: usize,
    /// What is left of [`MAX_DIRECT_TOKENS`].
    pub(super) direct_left: usize,
    /// True for a budget that the person set; an explicit exposure overrides the default one.
    pub(super) is_strict: bool,
}

impl TokenBudget {
    /// Whether a list of a capability's tools fits.
    pub(super) fn take_direct(
        &mut self,
        capability: &Capability,
        is_explicit: bool,
        cost: impl FnOnce() -> usize,
    ) -> bool {
        if !is_explicit || self.is_strict {
            return self.take(is_explicit, cost);
        }
        let tools = capability.discovery.iter().flat_map(|known| &known.tools);
        let bytes: usize = tools
            .flat_map(|tool| tool.raw())
            .map(|(key, value)| key.len() + value.get().len())
            .sum();
        // What is certainly small is charged by its bytes, which are several per token.
        let cost = match bytes <= self.direct_left / 8 {
            true => bytes / 4,
            false => cost(),
        };
        let fits = cost <= self.direct_left;
        if fits {
            self.direct_left -= cost;
        }
        fits
    }

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
