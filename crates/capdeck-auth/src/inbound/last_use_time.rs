//! When something was last used: noted in memory with every use, written with the next change of its file.

use std::sync::{
    Arc,
    atomic::{AtomicI64, Ordering},
};

use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The time of the last use. Clones share it, so that a copy that is being changed misses nothing.
#[derive(Debug, Clone)]
pub struct LastUseTime(Arc<AtomicI64>);

/// Stands for "never".
const NEVER_USED: i64 = i64::MIN;

impl LastUseTime {
    /// The time, if there was a use.
    pub fn get(&self) -> Option<Timestamp> {
        match self.0.load(Ordering::Relaxed) {
            NEVER_USED => None,
            milliseconds => Timestamp::from_millisecond(milliseconds).ok(),
        }
    }

    /// Notes a use.
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
        let at = Option::<Timestamp>::deserialize(deserializer)?;
        let milliseconds = at.map_or(NEVER_USED, Timestamp::as_millisecond);
        Ok(Self(Arc::new(AtomicI64::new(milliseconds))))
    }
}
