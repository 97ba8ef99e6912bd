//! Merges a deck's definitions and what is known about them into a [`Catalog`].
//!
//! The rules, in order:
//!
//! 1. A later layer replaces a whole capability; what it replaces is reported in `shadows`.
//! 2. Untrusted project files do nothing. One that would replace a trusted capability leaves that in
//!    force and is listed in [`Catalog::untrusted`]; one that replaces nothing is in the catalog, marked.
//! 3. A quarantined entry also hides lower layers of the same id: the person meant to replace them. When
//!    the catalog before knew a good form of the same source, that form stays, marked stale.
//! 4. Members of a set exist while the set's own definition is in force, and share its state and exposure.
//! 5. The options of a project count once it is trusted.

mod merge;

use std::{collections::BTreeMap, sync::Arc};

use capdeck_definition::{CapabilityId, Deck, DeckConfig, Definition, Exposure, PinMode};

use self::merge::{MergeEntry, MergeResult, merge};
use crate::{Capability, CapabilityStatus, Catalog, DeckParts, Discovery, HeldTools, HiddenReason};

/// What the deck's files cannot say.
pub struct BuildInputs<'a> {
    /// Whether the project's files may be used.
    pub trust: ProjectTrust,
    /// Whether there is a project at all.
    pub has_project: bool,
    /// Whether a definition's `setup` has been approved and verified.
    pub setup_done: &'a dyn Fn(&Definition) -> bool,
    /// The last known answer of a definition's backend.
    pub discoveries: &'a dyn Fn(&Definition) -> Option<Arc<Discovery>>,
    /// What is held of a definition's tools; asked only where changes are blocked.
    pub held: &'a dyn Fn(&Definition, &Arc<Discovery>) -> HeldTools,
    /// How capabilities are offered that say nothing, in a deck that says nothing.
    pub default_exposure: Exposure,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProjectTrust {
    Trusted,
    Untrusted { reason: String },
}

/// Builds the catalog of a deck. Pure: the same input gives the same catalog.
pub fn build(deck: &Deck, facts: &BuildInputs<'_>, previous: Option<&Catalog>) -> Catalog {
    let MergeResult { in_force, held_back } = merge(deck, &facts.trust, previous);
    let (mut config, file, reason) = match &facts.trust {
        ProjectTrust::Trusted => (deck.config.clone(), deck.capability_file.as_deref(), ""),
        ProjectTrust::Untrusted { reason } => (deck.user_config.clone(), None, reason.as_str()),
    };
    // Rules that no longer load keep their last good form, as capabilities do.
    if let Some(previous) = previous.map(|previous| &previous.config().policy)
        && config.policy.is_incomplete
        && !previous.is_incomplete
    {
        config.policy = previous.clone();
    }
    let mut maker =
        CapabilityBuilder { config: &config, facts, in_force: &in_force, done: BTreeMap::new() };
    let mut capabilities = BTreeMap::new();
    for (id, entry) in &in_force {
        let status = maker.status(id);
        capabilities.insert(id.clone(), maker.capability(entry, status));
    }
    let untrusted_status = || CapabilityStatus::Untrusted { reason: reason.to_owned() };
    let untrusted =
        held_back.iter().map(|entry| maker.capability(entry, untrusted_status())).collect();
    Catalog {
        holds_tools: capabilities.values().any(|one: &Arc<Capability>| !one.held.is_empty()),
        version: previous.map_or(1, |previous| previous.version() + 1),
        capabilities: Arc::new(capabilities),
        untrusted,
        quarantined: deck.quarantined.clone().into(),
        diagnostics: deck.diagnostics.clone().into(),
        parts: Arc::new(DeckParts::from_files(&config, file)),
        config: Arc::new(config),
        ..Catalog::default()
    }
}

/// Turns merged entries into capabilities.
struct CapabilityBuilder<'a> {
    config: &'a DeckConfig,
    facts: &'a BuildInputs<'a>,
    in_force: &'a BTreeMap<CapabilityId, MergeEntry>,
    done: BTreeMap<CapabilityId, CapabilityStatus>,
}

impl CapabilityBuilder<'_> {
    fn capability(&self, entry: &MergeEntry, status: CapabilityStatus) -> Arc<Capability> {
        let definition = Arc::clone(&entry.definition);
        let chosen = self.chosen_exposure(&definition).or(self.config.exposure);
        let discovery = (self.facts.discoveries)(&definition);
        let pins = self.pin_mode(&definition);
        let held = match &discovery {
            Some(known) if pins == PinMode::Block => (self.facts.held)(&definition, known),
            _ => HeldTools::new(),
        };
        Arc::new(Capability {
            discovery,
            pins,
            held: Arc::new(held),
            exposure: chosen.unwrap_or(self.facts.default_exposure),
            exposure_is_explicit: chosen.is_some(),
            tools_only: false,
            modes: None,
            shadows: entry.shadows.clone(),
            status,
            definition,
        })
    }

    /// A project's file may watch its own capabilities more closely than the person does, never less.
    fn pin_mode(&self, definition: &Definition) -> PinMode {
        let of_deck = self.config.pins;
        let chosen = match definition.pins {
            Some(own) if definition.source.layer.needs_trust() => own.max(of_deck),
            Some(own) => own,
            None => of_deck,
        };
        chosen.max(self.config.least_pins)
    }

    /// What a file says about the exposure. A member is offered as its set is, or not at all.
    fn chosen_exposure(&self, definition: &Definition) -> Option<Exposure> {
        let set = definition.member_of.as_ref().and_then(|set| self.in_force.get(set));
        match (set, definition.exposure) {
            (Some(set), own) if own != Some(Exposure::None) => {
                self.chosen_exposure(&set.definition)
            }
            (_, own) => own,
        }
    }

    /// The state of one entry: what keeps its set from being used keeps it from being used too.
    fn status(&mut self, id: &CapabilityId) -> CapabilityStatus {
        if let Some(known) = self.done.get(id) {
            return known.clone();
        }
        let Some(entry) = self.in_force.get(id) else { return CapabilityStatus::Disabled };
        let own = self.own_status(entry);
        let set = entry.definition.member_of.as_ref().map(|set| self.status(set));
        let status = match set {
            Some(set) if rank(&set) < rank(&own) => set,
            _ => own,
        };
        self.done.insert(id.clone(), status.clone());
        status
    }

    fn own_status(&self, entry: &MergeEntry) -> CapabilityStatus {
        let definition = &entry.definition;
        let hidden = |reason| CapabilityStatus::Hidden { reason };
        if definition.disabled {
            return CapabilityStatus::Disabled;
        }
        if entry.untrusted
            && let ProjectTrust::Untrusted { reason } = &self.facts.trust
        {
            return CapabilityStatus::Untrusted { reason: reason.clone() };
        }
        if definition.setup.is_some() && !(self.facts.setup_done)(definition) {
            return hidden(HiddenReason::SetupRequired);
        }
        if definition.project_bound && !self.facts.has_project {
            return hidden(HiddenReason::ProjectMissing);
        }
        match &entry.stale {
            Some(reason) => CapabilityStatus::Stale { reason: reason.clone() },
            None => CapabilityStatus::Ready,
        }
    }
}

/// The order in which reasons not to use a capability count; the first one that applies is reported.
fn rank(status: &CapabilityStatus) -> u8 {
    match status {
        CapabilityStatus::Disabled => 0,
        CapabilityStatus::Untrusted { .. } => 1,
        CapabilityStatus::Hidden { reason: HiddenReason::SetupRequired } => 2,
        CapabilityStatus::Hidden { reason: HiddenReason::ProjectMissing } => 3,
        CapabilityStatus::Stale { .. } => 4,
        CapabilityStatus::Ready => 5,
    }
}

#[cfg(test)]
pub(crate) mod tests;
