//! The entries of a mapping, found by key without a search: a file may have thousands, and every reader asks for each.

use std::{
    collections::HashMap,
    ops::{Deref, DerefMut},
    sync::OnceLock,
};

use super::MapEntry;

/// A mapping with fewer entries is searched.
const MIN_INDEXED: usize = 16;

/// Entries in the order they are written.
#[derive(Debug, Clone, Default)]
pub(crate) struct MapEntries {
    list: Vec<MapEntry>,
    /// The position of each key, made when it is first asked for.
    positions: OnceLock<HashMap<String, usize>>,
}

impl MapEntries {
    /// The first entry with a key.
    pub(crate) fn find(&self, key: &str) -> Option<&MapEntry> {
        if self.list.len() < MIN_INDEXED {
            return self.list.iter().find(|entry| entry.key == key);
        }
        let positions = self.positions.get_or_init(|| {
            let mut positions = HashMap::with_capacity(self.list.len());
            for (position, entry) in self.list.iter().enumerate() {
                positions.entry(entry.key.clone()).or_insert(position);
            }
            positions
        });
        self.list.get(*positions.get(key)?)
    }
}

impl Deref for MapEntries {
    type Target = Vec<MapEntry>;

    fn deref(&self) -> &Vec<MapEntry> {
        &self.list
    }
}

impl DerefMut for MapEntries {
    /// Forgets the positions: keys and order may change.
    fn deref_mut(&mut self) -> &mut Vec<MapEntry> {
        self.positions.take();
        &mut self.list
    }
}

impl From<Vec<MapEntry>> for MapEntries {
    fn from(list: Vec<MapEntry>) -> Self {
        Self { list, positions: OnceLock::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::{MIN_INDEXED, MapEntries};
    use crate::{
        diagnostic::TextPosition,
        document::{MapEntry, NodeValue, ValueNode},
    };

    fn entries(count: usize) -> MapEntries {
        let entry = |number: usize| MapEntry {
            key: format!("k{number}"),
            place: TextPosition::default(),
            value: ValueNode { content: NodeValue::Bool(true), place: TextPosition::default() },
        };
        (0..count).map(entry).collect::<Vec<_>>().into()
    }

    #[test]
    fn keys_are_found_after_every_change() {
        for count in [MIN_INDEXED - 1, MIN_INDEXED, 100] {
            let mut entries = entries(count);
            assert_eq!(entries.find("k3").map(|entry| entry.key.as_str()), Some("k3"));
            entries.retain(|entry| entry.key != "k3");
            assert!(entries.find("k3").is_none());
            assert_eq!(entries.find("k4").map(|entry| entry.key.as_str()), Some("k4"));
            entries[0].key = "renamed".to_owned();
            assert!(entries.find("k0").is_none() && entries.find("renamed").is_some());
        }
    }
}
