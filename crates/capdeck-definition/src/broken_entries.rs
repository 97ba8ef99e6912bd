//! The entries of a file's maps that a schema violation rules out, so that the rest of the file can be used.

use std::collections::{HashMap, HashSet};

use indexmap::IndexMap;

use crate::{
    document::{PathStep, ValueNode},
    shape::PLURAL_KEYS,
    violation::SchemaViolation,
};

/// Broken entries by map and id, each with its first problem.
#[derive(Debug, Default)]
pub(crate) struct BrokenEntries(IndexMap<(String, String), String>);

impl BrokenEntries {
    /// Notes the entry a violation is about. False when it is about no single entry.
    pub(crate) fn record_violation(&mut self, violation: &SchemaViolation) -> bool {
        let [PathStep::Key(map), PathStep::Key(id), ..] = violation.steps.as_slice() else {
            return false;
        };
        if !PLURAL_KEYS.contains(&map.as_str()) {
            return false;
        }
        self.add(map, id, &violation.diagnostic.message);
        true
    }

    pub(crate) fn add(&mut self, map: &str, id: &str, reason: &str) {
        self.0.entry((map.to_owned(), id.to_owned())).or_insert_with(|| reason.to_owned());
    }

    /// Takes the broken entries out of the document.
    pub(crate) fn remove_from(&self, root: &mut ValueNode) {
        let mut ids: HashMap<&str, HashSet<&str>> = HashMap::new();
        for (map, id) in self.0.keys() {
            ids.entry(map).or_default().insert(id);
        }
        for (map, ids) in ids {
            root.remove_entries(map, &ids);
        }
    }

    /// Each broken id once, with its first problem, in file order.
    pub(crate) fn reasons(&self) -> IndexMap<&str, &str> {
        let mut reasons = IndexMap::new();
        for ((_, id), reason) in &self.0 {
            reasons.entry(id.as_str()).or_insert(reason.as_str());
        }
        reasons
    }
}
