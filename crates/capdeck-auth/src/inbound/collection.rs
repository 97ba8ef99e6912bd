//! Records by id, shared until they are changed.

use std::{collections::BTreeMap, ops::Deref, sync::Arc};

use serde::{Serialize, de::DeserializeOwned};

/// Something that is kept in a file of its own kind.
pub(super) trait RegistryRecord: Clone + Serialize + DeserializeOwned {
    /// The name of the file.
    const FILE: &'static str;

    /// What tells it from others of its kind.
    fn id(&self) -> &str;
}

/// All records of one kind. Copies are cheap; the first change of a copy makes it a real one.
#[derive(Debug)]
pub(super) struct RecordCollection<T>(Arc<BTreeMap<String, T>>);

impl<T: RegistryRecord> RecordCollection<T> {
    /// A collection of records as they were kept; the error is an id that is there twice.
    pub(super) fn of(records: Vec<T>) -> Result<Self, String> {
        let mut map = BTreeMap::new();
        for record in records {
            let id = record.id().to_owned();
            if map.insert(id.clone(), record).is_some() {
                return Err(id);
            }
        }
        Ok(Self(Arc::new(map)))
    }

    /// The records, to be changed.
    pub(super) fn edit(&mut self) -> &mut BTreeMap<String, T> {
        Arc::make_mut(&mut self.0)
    }

    /// Puts a record in its place.
    pub(super) fn put(&mut self, record: T) {
        self.edit().insert(record.id().to_owned(), record);
    }

    /// Removes what no longer matters, and copies nothing when there is no such thing.
    pub(super) fn keep(&mut self, mut matters: impl FnMut(&T) -> bool) {
        if self.0.values().any(|record| !matters(record)) {
            self.edit().retain(|_, record| matters(record));
        }
    }

    /// Whether nothing was changed since one became a copy of the other.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// The records as they are kept.
    pub(super) fn records(&self) -> Vec<&T> {
        self.0.values().collect()
    }
}

impl<T> Clone for RecordCollection<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Default for RecordCollection<T> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<T> Deref for RecordCollection<T> {
    type Target = BTreeMap<String, T>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}
