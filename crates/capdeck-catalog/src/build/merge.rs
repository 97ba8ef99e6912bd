//! Which definition of each id is in force.

use std::{collections::BTreeMap, sync::Arc};

use capdeck_definition::{CapabilityId, Deck, Definition, Layer, Quarantined, Source};

use super::Trust;
use crate::Catalog;

/// A definition on its way into the catalog.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) definition: Arc<Definition>,
    /// From a project file, or from a set that one declares, while the project is not trusted.
    pub(super) untrusted: bool,
    /// Why this is the last good form, when it is.
    pub(super) stale: Option<String>,
    /// What it replaces, nearest first.
    pub(super) shadows: Vec<Source>,
    /// The set's definition this one is a member of.
    set: Option<Arc<Definition>>,
}

/// The result of merging.
pub(super) struct Merged {
    pub(super) in_force: BTreeMap<CapabilityId, Entry>,
    /// Untrusted entries that would replace one in force.
    pub(super) held_back: Vec<Entry>,
}

pub(super) fn merge(deck: &Deck, trust: &Trust, previous: Option<&Catalog>) -> Merged {
    let definitions = with_last_good(deck, previous);
    let mut layers: BTreeMap<CapabilityId, Vec<Entry>> = BTreeMap::new();
    for (definition, stale) in definitions {
        // Members follow their set, so the set's newest entry so far is the one that brought them.
        let set = definition.member_of.as_ref().and_then(|set| layers.get(set)?.last());
        let needs_trust = definition.source.layer.needs_trust() && *trust != Trust::Trusted;
        let entry = Entry {
            untrusted: needs_trust || set.is_some_and(|set| set.untrusted),
            set: set.map(|set| Arc::clone(&set.definition)),
            stale,
            shadows: Vec::new(),
            definition,
        };
        layers.entry(entry.definition.id.clone()).or_default().push(entry);
    }
    let mut merged = Merged { in_force: BTreeMap::new(), held_back: Vec::new() };
    // A set is decided before its members, which have longer ids.
    let mut ids: Vec<CapabilityId> = layers.keys().cloned().collect();
    ids.sort_by_key(|id| id.as_str().len());
    for id in ids {
        let entries = layers.remove(&id).unwrap_or_default();
        let hidden_below = hidden_below(deck, trust, &id);
        merged.decide(entries, hidden_below.as_ref());
    }
    merged
}

impl Merged {
    /// Puts the highest trusted entry of one id in force, and holds untrusted ones above it back.
    fn decide(&mut self, entries: Vec<Entry>, quarantined: Option<&Source>) {
        let mut lower: Vec<Source> = Vec::new();
        let mut winner: Option<Entry> = None;
        for mut entry in entries {
            if !self.has_its_set(&entry) {
                continue;
            }
            let source = entry.definition.source.clone();
            entry.shadows = lower.iter().rev().cloned().collect();
            let hidden = quarantined.is_some_and(|above| source.layer < above.layer);
            match &winner {
                _ if hidden => {}
                Some(trusted) if entry.untrusted && !trusted.untrusted => {
                    self.held_back.push(entry);
                    continue;
                }
                _ => winner = Some(entry),
            }
            lower.push(source);
        }
        if let Some(entry) = winner {
            self.in_force.insert(entry.definition.id.clone(), entry);
        }
    }

    /// True unless the entry is a member of a set that another definition has replaced.
    fn has_its_set(&self, entry: &Entry) -> bool {
        let Some(id) = &entry.definition.member_of else { return true };
        let Some(set) = &entry.set else { return false };
        self.in_force.get(id).is_some_and(|in_force| Arc::ptr_eq(&in_force.definition, set))
    }
}

/// The highest quarantined entry of an id that is allowed to have an effect. Members of sets replace
/// nothing outside their set, so broken ones hide nothing either.
fn hidden_below(deck: &Deck, trust: &Trust, id: &CapabilityId) -> Option<Source> {
    let counts = |entry: &&Quarantined| {
        let layer = entry.source.layer;
        let in_set = matches!(layer, Layer::SetConfig | Layer::SetFile);
        let trusted = *trust == Trust::Trusted || !layer.needs_trust();
        entry.id == id.as_str() && trusted && !in_set
    };
    let sources = deck.quarantined.iter().filter(counts).map(|entry| &entry.source);
    sources.max_by_key(|source| source.layer).cloned()
}

/// The deck's definitions plus the last good forms of quarantined ones, in precedence order.
fn with_last_good(
    deck: &Deck,
    previous: Option<&Catalog>,
) -> Vec<(Arc<Definition>, Option<String>)> {
    let mut all: Vec<(Arc<Definition>, Option<String>)> =
        deck.definitions.iter().map(|definition| (Arc::clone(definition), None)).collect();
    let Some(previous) = previous else { return all };
    let known: Vec<&Arc<Definition>> =
        previous.capabilities().map(|capability| &capability.definition).collect();
    let mut kept: Vec<(&Arc<Definition>, &str)> = Vec::new();
    for quarantined in &deck.quarantined {
        let lost = known.iter().filter(|definition| covers(quarantined, definition));
        kept.extend(lost.map(|definition| (*definition, quarantined.reason.as_str())));
    }
    // A set that is kept keeps its members: nobody could load them without it.
    let mut at = 0;
    while let Some((set, reason)) = kept.get(at).copied() {
        let members =
            known.iter().filter(|definition| definition.member_of.as_ref() == Some(&set.id));
        kept.extend(members.map(|definition| (*definition, reason)));
        at += 1;
    }
    for (definition, reason) in kept {
        let same =
            |other: &Definition| other.id == definition.id && other.source == definition.source;
        if all.iter().any(|(other, _)| same(other)) {
            continue;
        }
        let place = match &definition.member_of {
            Some(_) => all.len(),
            None => all
                .iter()
                .position(|(other, _)| {
                    other.member_of.is_none() && other.source.layer > definition.source.layer
                })
                .unwrap_or(all.len()),
        };
        all.insert(place, (Arc::clone(definition), Some(reason.to_owned())));
    }
    all
}

/// True when the quarantined entry is this definition, its plural file, or the whole file it is in.
fn covers(quarantined: &Quarantined, definition: &Definition) -> bool {
    let is = |id: &CapabilityId| id.as_str() == quarantined.id;
    // A config file that cannot be read at all is quarantined under its file name, inside a set
    // after the set's id.
    let whole_file = quarantined.id.rsplit("__").next();
    let file = quarantined.source.path.file_name();
    quarantined.source == definition.source
        && (is(&definition.id)
            || definition.parent.as_ref().is_some_and(is)
            || file.is_some_and(|file| whole_file.is_some_and(|name| file == name)))
}
