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

use self::merge::{Entry, Merged, merge};
use crate::{Capability, Catalog, Discovery, Held, HiddenReason, Parts, Status};

/// What the deck's files cannot say.
pub struct Facts<'a> {
    /// Whether the project's files may be used.
    pub trust: Trust,
    /// Whether there is a project at all.
    pub has_project: bool,
    /// Whether a definition's `setup` has been approved and verified.
    pub setup_done: &'a dyn Fn(&Definition) -> bool,
    /// The last known answer of a definition's backend.
    pub discoveries: &'a dyn Fn(&Definition) -> Option<Arc<Discovery>>,
    /// What is held of a definition's tools; asked only where changes are blocked.
    pub held: &'a dyn Fn(&Definition, &Arc<Discovery>) -> Held,
    /// How capabilities are offered that say nothing, in a deck that says nothing.
    pub default_exposure: Exposure,
}

/// Whether project files may be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trust {
    Trusted,
    Untrusted { reason: String },
}

/// Builds the catalog of a deck. Pure: the same input gives the same catalog.
pub fn build(deck: &Deck, facts: &Facts<'_>, previous: Option<&Catalog>) -> Catalog {
    let Merged { in_force, held_back } = merge(deck, &facts.trust, previous);
    let mut config = match facts.trust {
        Trust::Trusted => deck.config.clone(),
        Trust::Untrusted { .. } => deck.user_config.clone(),
    };
    // Rules that no longer load keep their last good form, as capabilities do.
    if let Some(previous) = previous.map(|previous| &previous.config().policy)
        && config.policy.is_incomplete
        && !previous.is_incomplete
    {
        config.policy = previous.clone();
    }
    let is_trusted = facts.trust == Trust::Trusted;
    let file = deck.capability_file.clone().filter(|_| is_trusted);
    let mut maker = Maker { config: &config, facts, done: BTreeMap::new() };
    let mut capabilities = BTreeMap::new();
    for id in in_force.keys() {
        let status = maker.status(id, &in_force);
        if let Some(entry) = in_force.get(id) {
            capabilities.insert(id.clone(), maker.capability(entry, &in_force, status));
        }
    }
    let reason = match &facts.trust {
        Trust::Untrusted { reason } => reason.clone(),
        Trust::Trusted => String::new(),
    };
    let untrusted = held_back
        .iter()
        .map(|entry| {
            let status = Status::Untrusted { reason: reason.clone() };
            maker.capability(entry, &in_force, status)
        })
        .collect();
    Catalog {
        holds_tools: capabilities.values().any(|one: &Arc<Capability>| !one.held.is_empty()),
        version: previous.map_or(1, |previous| previous.version() + 1),
        capabilities: Arc::new(capabilities),
        untrusted,
        quarantined: deck.quarantined.clone().into(),
        diagnostics: deck.diagnostics.clone().into(),
        parts: Arc::new(Parts::of(&config, file.as_deref())),
        config: Arc::new(config),
        ..Catalog::default()
    }
}

/// Turns merged entries into capabilities.
struct Maker<'a> {
    config: &'a DeckConfig,
    facts: &'a Facts<'a>,
    done: BTreeMap<CapabilityId, Status>,
}

impl Maker<'_> {
    fn capability(
        &self,
        entry: &Entry,
        in_force: &BTreeMap<CapabilityId, Entry>,
        status: Status,
    ) -> Arc<Capability> {
        let definition = Arc::clone(&entry.definition);
        let chosen = chosen_exposure(&definition, in_force).or(self.config.exposure);
        let discovery = (self.facts.discoveries)(&definition);
        let pins = self.pin_mode(&definition);
        let held = match &discovery {
            Some(known) if pins == PinMode::Block => (self.facts.held)(&definition, known),
            _ => Held::new(),
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

    /// The state of one entry: what keeps its set from being used keeps it from being used too.
    fn status(&mut self, id: &CapabilityId, in_force: &BTreeMap<CapabilityId, Entry>) -> Status {
        if let Some(known) = self.done.get(id) {
            return known.clone();
        }
        let Some(entry) = in_force.get(id) else { return Status::Disabled };
        let own = self.own_status(entry);
        let set = entry.definition.member_of.as_ref().map(|set| self.status(set, in_force));
        let status = match set {
            Some(set) if rank(&set) < rank(&own) => set,
            _ => own,
        };
        self.done.insert(id.clone(), status.clone());
        status
    }

    fn own_status(&self, entry: &Entry) -> Status {
        let definition = &entry.definition;
        let hidden = |reason| Status::Hidden { reason };
        if definition.disabled {
            return Status::Disabled;
        }
        if entry.untrusted
            && let Trust::Untrusted { reason } = &self.facts.trust
        {
            return Status::Untrusted { reason: reason.clone() };
        }
        if definition.setup.is_some() && !(self.facts.setup_done)(definition) {
            return hidden(HiddenReason::SetupRequired);
        }
        if definition.project_bound && !self.facts.has_project {
            return hidden(HiddenReason::ProjectMissing);
        }
        match &entry.stale {
            Some(reason) => Status::Stale { reason: reason.clone() },
            None => Status::Ready,
        }
    }
}

/// What a file says about the exposure. A member is offered as its set is, or not at all.
fn chosen_exposure(
    definition: &Definition,
    in_force: &BTreeMap<CapabilityId, Entry>,
) -> Option<Exposure> {
    let set = definition.member_of.as_ref().and_then(|set| in_force.get(set));
    match (set, definition.exposure) {
        (Some(set), own) if own != Some(Exposure::None) => {
            chosen_exposure(&set.definition, in_force)
        }
        (_, own) => own,
    }
}

/// The order in which reasons not to use a capability count; the first one that applies is reported.
fn rank(status: &Status) -> u8 {
    match status {
        Status::Disabled => 0,
        Status::Untrusted { .. } => 1,
        Status::Hidden { reason: HiddenReason::SetupRequired } => 2,
        Status::Hidden { reason: HiddenReason::ProjectMissing } => 3,
        Status::Stale { .. } => 4,
        Status::Ready => 5,
    }
}

#[cfg(test)]
pub(crate) mod tests;
