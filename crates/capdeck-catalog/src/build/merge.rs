//! Which definition of each id is in force.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    path::Path,
    sync::Arc,
};

use capdeck_definition::{CapabilityId, Deck, Definition, DefinitionSource, SourceLayer};
use indexmap::IndexMap;

use super::ProjectTrust;
use crate::Catalog;

/// A definition on its way into the catalog.
#[derive(Debug, Clone)]
pub(super) struct MergeEntry {
    pub(super) definition: Arc<Definition>,
    /// From a project file, or from a set that one declares, while the project is not trusted.
    pub(super) untrusted: bool,
    /// Why this is the last good form, when it is.
    pub(super) stale: Option<String>,
    /// What it replaces, nearest first.
    pub(super) shadows: Vec<DefinitionSource>,
    /// The set's definition this one is a member of.
    set: Option<Arc<Definition>>,
}

pub(super) struct MergeResult {
    pub(super) in_force: BTreeMap<CapabilityId, MergeEntry>,
    /// Untrusted entries that would replace one in force.
    pub(super) held_back: Vec<MergeEntry>,
}

pub(super) fn merge(deck: &Deck, trust: &ProjectTrust, previous: Option<&Catalog>) -> MergeResult {
    let definitions = with_last_good(deck, previous);
    let mut layers: BTreeMap<CapabilityId, Vec<MergeEntry>> = BTreeMap::new();
    for (definition, stale) in definitions {
        // Members follow their set, so the set's newest entry so far is the one that brought them.
        let set = definition.member_of.as_ref().and_then(|set| layers.get(set)?.last());
        let needs_trust = definition.source.layer.needs_trust() && *trust != ProjectTrust::Trusted;
        let entry = MergeEntry {
            untrusted: needs_trust || set.is_some_and(|set| set.untrusted),
            set: set.map(|set| Arc::clone(&set.definition)),
            stale,
            shadows: Vec::new(),
            definition,
        };
        layers.entry(entry.definition.id.clone()).or_default().push(entry);
    }
    let mut merged = MergeResult { in_force: BTreeMap::new(), held_back: Vec::new() };
    // A set is decided before its members, which have longer ids.
    let mut ids: Vec<CapabilityId> = layers.keys().cloned().collect();
    ids.sort_by_key(|id| id.as_str().len());
    let hidden_below = hidden_below(deck, trust);
    for id in ids {
        let entries = layers.remove(&id).unwrap_or_default();
        merged.decide(entries, hidden_below.get(id.as_str()).copied());
    }
    merged
}

impl MergeResult {
    /// Puts the highest trusted entry of one id in force, and holds untrusted ones above it back.
    fn decide(&mut self, entries: Vec<MergeEntry>, quarantined: Option<&DefinitionSource>) {
        let mut lower: Vec<DefinitionSource> = Vec::new();
        let mut winner: Option<MergeEntry> = None;
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
    fn has_its_set(&self, entry: &MergeEntry) -> bool {
        let Some(id) = &entry.definition.member_of else { return true };
        let Some(set) = &entry.set else { return false };
        self.in_force.get(id).is_some_and(|in_force| Arc::ptr_eq(&in_force.definition, set))
    }
}

/// The highest quarantined entry of each id that is allowed to have an effect. Members of sets replace
/// nothing outside their set, so broken ones hide nothing either.
fn hidden_below<'a>(
    deck: &'a Deck,
    trust: &ProjectTrust,
) -> HashMap<&'a str, &'a DefinitionSource> {
    let mut highest: HashMap<&str, &DefinitionSource> = HashMap::new();
    for entry in &deck.quarantined {
        let layer = entry.source.layer;
        let in_set = matches!(layer, SourceLayer::SetConfig | SourceLayer::SetFile);
        let trusted = *trust == ProjectTrust::Trusted || !layer.needs_trust();
        if !trusted || in_set {
            continue;
        }
        let known = highest.entry(entry.id.as_str()).or_insert(&entry.source);
        if known.layer <= layer {
            *known = &entry.source;
        }
    }
    highest
}

/// The deck's definitions plus the last good forms of quarantined ones, in precedence order.
fn with_last_good(
    deck: &Deck,
    previous: Option<&Catalog>,
) -> Vec<(Arc<Definition>, Option<String>)> {
    let all: Vec<(Arc<Definition>, Option<String>)> =
        deck.definitions.iter().map(|definition| (Arc::clone(definition), None)).collect();
    let Some(previous) = previous else { return all };
    if deck.quarantined.is_empty() {
        return all;
    }
    let mut known: HashMap<(SourceLayer, &Path), Vec<&Arc<Definition>>> = HashMap::new();
    let mut members: HashMap<&CapabilityId, Vec<&Arc<Definition>>> = HashMap::new();
    for definition in previous.capabilities().map(|capability| &capability.definition) {
        known.entry(file_of(&definition.source)).or_default().push(definition);
        if let Some(set) = &definition.member_of {
            members.entry(set).or_default().push(definition);
        }
    }
    let mut restored: Vec<(&Arc<Definition>, &str)> = Vec::new();
    for (file, broken) in broken_by_file(deck) {
        let of_file = known.get(&file).into_iter().flatten();
        restored.extend(of_file.filter_map(|known| Some((*known, broken.reason_for(known)?))));
    }
    // A set that is restored keeps its members: nothing else can load them.
    let mut at = 0;
    while let Some((set, reason)) = restored.get(at).copied() {
        let members = members.get(&set.id).into_iter().flatten();
        restored.extend(members.map(|definition| (*definition, reason)));
        at += 1;
    }
    let mut present: HashSet<(&CapabilityId, SourceLayer, &Path)> = HashSet::new();
    for definition in &deck.definitions {
        let (layer, path) = file_of(&definition.source);
        present.insert((&definition.id, layer, path));
    }
    // Where the first entry of a higher layer is.
    let mut places: HashMap<SourceLayer, usize> = HashMap::new();
    let mut placed = Vec::new();
    for (definition, reason) in restored {
        let (layer, path) = file_of(&definition.source);
        if !present.insert((&definition.id, layer, path)) {
            continue;
        }
        let is_higher = |(other, _): &(Arc<Definition>, Option<String>)| {
            other.member_of.is_none() && other.source.layer > layer
        };
        // Members go after their set. Entries with equal keys keep their order.
        let place = match &definition.member_of {
            Some(_) => (all.len(), false, true, None),
            None => {
                let place = places
                    .entry(layer)
                    .or_insert_with(|| all.iter().position(is_higher).unwrap_or(all.len()));
                (*place, false, false, Some(layer))
            }
        };
        placed.push((place, (Arc::clone(definition), Some(reason.to_owned()))));
    }
    let present = all.into_iter().enumerate();
    placed.extend(present.map(|(position, entry)| ((position, true, false, None), entry)));
    placed.sort_by_key(|(place, _)| *place);
    placed.into_iter().map(|(_, entry)| entry).collect()
}

/// The quarantined entries of one file, with the reason of each.
#[derive(Default)]
struct BrokenFile<'a> {
    /// Why the whole file cannot be read.
    whole: Option<&'a str>,
    by_id: HashMap<&'a str, &'a str>,
}

fn file_of(source: &DefinitionSource) -> (SourceLayer, &Path) {
    (source.layer, &source.path)
}

fn broken_by_file(deck: &Deck) -> IndexMap<(SourceLayer, &Path), BrokenFile<'_>> {
    let mut files: IndexMap<(SourceLayer, &Path), BrokenFile<'_>> = IndexMap::new();
    for quarantined in &deck.quarantined {
        let broken = files.entry(file_of(&quarantined.source)).or_default();
        // A config file that cannot be read at all is quarantined under its file name, inside a set
        // after the set's id.
        let name = quarantined.id.rsplit("__").next();
        let file = quarantined.source.path.file_name();
        let reason = quarantined.reason.as_str();
        if file.is_some_and(|file| name.is_some_and(|name| file == name)) {
            broken.whole.get_or_insert(reason);
        }
        broken.by_id.entry(quarantined.id.as_str()).or_insert(reason);
    }
    files
}

impl<'a> BrokenFile<'a> {
    /// Why a definition of the file is lost: it is quarantined itself, or its plural file, or the whole file is.
    fn reason_for(&self, definition: &Definition) -> Option<&'a str> {
        let parent = definition.parent.as_ref().and_then(|id| self.by_id.get(id.as_str()));
        self.by_id.get(definition.id.as_str()).or(parent).copied().or(self.whole)
    }
}
