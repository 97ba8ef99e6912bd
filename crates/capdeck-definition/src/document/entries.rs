//! The entries of a mapping, found by key without a search: a file may have thousands, and every reader asks for each.

use std::{
    collections::HashMap,
    ops::{Deref, DerefMut},
    sync::OnceLock,
};

use super::Entry;

/// A mapping with fewer entries is searched.
const MIN_INDEXED: usize = 16;

/// Entries in the order they are written.
#[derive(Debug, Clone, Default)]
pub(crate) struct Entries {
    list: Vec<Entry>,
    /// The position of each key, made when it is first asked for.
    positions: OnceLock<HashMap<String, usize>>,
}

impl Entries {
    /// The first entry with a key.
    pub(crate) fn find(&self, key: &str) -> Option<&Entry> {
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

impl Deref for Entries {
    type Target = Vec<Entry>;

    fn deref(&self) -> &Vec<Entry> {
        &self.list
    }
}

impl DerefMut for Entries {
    /// Forgets the positions: keys and order may change.
    fn deref_mut(&mut self) -> &mut Vec<Entry> {
        self.positions.take();
        &mut self.list
    }
}

impl From<Vec<Entry>> for Entries {
    fn from(list: Vec<Entry>) -> Self {
        Self { list, positions: OnceLock::new() }
    }
}

impl FromIterator<Entry> for Entries {
    fn from_iter<I: IntoIterator<Item = Entry>>(entries: I) -> Self {
        Self::from(entries.into_iter().collect::<Vec<_>>())
    }
}

impl IntoIterator for Entries {
    type Item = Entry;
    type IntoIter = std::vec::IntoIter<Entry>;

    fn into_iter(self) -> Self::IntoIter {
        self.list.into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::{Entries, MIN_INDEXED};
    use crate::{
        diagnostic::Place,
        document::{Content, Entry, Node},
    };

    fn entries(count: usize) -> Entries {
        let entry = |number: usize| Entry {
            key: format!("k{number}"),
            place: Place::default(),
            value: Node { content: Content::Bool(true), place: Place::default() },
        };
        (0..count).map(entry).collect()
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
