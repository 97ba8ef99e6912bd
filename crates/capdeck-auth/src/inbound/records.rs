//! The records that a registry stores, in collections that are shared until they are changed.

use std::{
    collections::BTreeMap,
    ops::Deref,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
};

use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::DeserializeOwned};

use super::{
    AccessProfile, CapsuleOwner, Credential, Enrollment, Grant, GrantPolicy, GrantRequest,
    OAuthClient, Operator, PrincipalRecord, RegistryError, RegistryResult, SessionRecord,
};

/// A record with an id.
pub trait RegistryRecord: Clone + Serialize + DeserializeOwned {
    /// The word that people use for it.
    const NAME: &'static str;

    fn id(&self) -> &str;
}

/// All records of one kind by id. Copies are cheap; the first change of a copy makes it a real one.
#[derive(Debug)]
pub struct RecordCollection<T>(Arc<BTreeMap<String, T>>);

impl<T: RegistryRecord> RecordCollection<T> {
    /// A collection of stored records; the error is an id that is there twice.
    pub fn new(records: Vec<T>) -> Result<Self, String> {
        let mut map = BTreeMap::new();
        for record in records {
            let id = record.id().to_owned();
            if map.insert(id.clone(), record).is_some() {
                return Err(id);
            }
        }
        Ok(Self(Arc::new(map)))
    }

    pub(super) fn edit(&mut self) -> &mut BTreeMap<String, T> {
        Arc::make_mut(&mut self.0)
    }

    pub(super) fn put(&mut self, record: T) {
        self.edit().insert(record.id().to_owned(), record);
    }

    pub(super) fn require(&self, id: &str) -> RegistryResult<T> {
        self.0.get(id).cloned().ok_or_else(|| RegistryError::not_found(T::NAME, id))
    }

    pub(super) fn remove(&mut self, id: &str) -> RegistryResult<()> {
        self.require(id)?;
        self.edit().remove(id);
        Ok(())
    }

    pub(super) fn select(&self, is_wanted: impl Fn(&T) -> bool) -> Vec<T> {
        self.0.values().filter(|record| is_wanted(record)).cloned().collect()
    }

    /// Removes the other records, and copies nothing when there are none.
    pub(super) fn keep(&mut self, mut is_kept: impl FnMut(&T) -> bool) {
        if self.0.values().any(|record| !is_kept(record)) {
            self.edit().retain(|_, record| is_kept(record));
        }
    }

    /// Whether nothing was changed since one became a copy of the other.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || (self.is_empty() && other.is_empty())
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

/// Names every collection once: its field, its records, the field with their id, and what people call one of them.
macro_rules! each_collection {
    ($use:ident) => {
        $use! {
            credentials: Credential[id] = "connection",
            principals: PrincipalRecord[id] = "principal",
            clients: OAuthClient[id] = "client",
            grants: Grant[id] = "grant",
            requests: GrantRequest[id] = "request",
            enrollments: Enrollment[id] = "enrollment",
            profiles: AccessProfile[id] = "profile",
            operators: Operator[id] = "operator",
            sessions: SessionRecord[id] = "session",
            owners: CapsuleOwner[capsule] = "owner"
        }
    };
}
pub(super) use each_collection;

macro_rules! define_records {
    ($($field:ident: $record:ty[$id:ident] = $name:literal),*) => {
        /// All records of a registry. Copies share what is not changed.
        #[derive(Debug, Clone, Default)]
        pub struct RegistryRecords {
            $(pub $field: RecordCollection<$record>,)*
            pub policy: Arc<GrantPolicy>,
        }

        impl RegistryRecords {
            /// Whether nothing was changed since one became a copy of the other.
            pub(super) fn is_same(&self, other: &Self) -> bool {
                $(self.$field.is_same(&other.$field) &&)* self.policy == other.policy
            }
        }

        $(impl RegistryRecord for $record {
            const NAME: &'static str = $name;

            fn id(&self) -> &str {
                &self.$id
            }
        })*
    };
}
each_collection!(define_records);

/// The time of the last use: noted in memory with every use, written with the next change of its collection. Clones share it,
/// so that a copy that is being changed misses nothing.
#[derive(Debug, Clone)]
pub struct LastUseTime(Arc<AtomicI64>);

/// Means "never".
const NEVER_USED: i64 = i64::MIN;

impl LastUseTime {
    pub fn get(&self) -> Option<Timestamp> {
        match self.0.load(Ordering::Relaxed) {
            NEVER_USED => None,
            milliseconds => Timestamp::from_millisecond(milliseconds).ok(),
        }
    }

    pub(super) fn record(&self, now: Timestamp) {
        self.0.store(now.as_millisecond(), Ordering::Relaxed);
    }
}

impl Default for LastUseTime {
    fn default() -> Self {
        Self(Arc::new(AtomicI64::new(NEVER_USED)))
    }
}

impl PartialEq for LastUseTime {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl Eq for LastUseTime {}

impl Serialize for LastUseTime {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.get().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for LastUseTime {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let time = Self::default();
        if let Some(at) = Option::<Timestamp>::deserialize(deserializer)? {
            time.record(at);
        }
        Ok(time)
    }
}
