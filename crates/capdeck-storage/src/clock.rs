//! The clock that stamps records.

use std::{fmt, sync::Arc};

use jiff::Timestamp;

/// The time in seconds since 1970, as sealed records have it.
pub fn unix_seconds() -> u64 {
    u64::try_from(Timestamp::now().as_second()).unwrap_or_default()
}

/// Tells the time. Nothing relies on it going forward.
#[derive(Clone)]
pub struct WallClock(Arc<dyn Fn() -> Timestamp + Send + Sync>);

impl WallClock {
    pub fn from_fn(now: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    /// The time in whole milliseconds, as records have it.
    pub fn now(&self) -> Timestamp {
        let now = (self.0)();
        Timestamp::from_millisecond(now.as_millisecond()).unwrap_or(now)
    }
}

impl Default for WallClock {
    fn default() -> Self {
        Self::from_fn(Timestamp::now)
    }
}

impl fmt::Debug for WallClock {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("WallClock")
    }
}
