//! The time, as a value that tests can set.

use std::{fmt, sync::Arc};

use jiff::Timestamp;

/// Tells the time. Nothing relies on it going forward.
#[derive(Clone)]
pub struct RegistryClock(Arc<dyn Fn() -> Timestamp + Send + Sync>);

impl RegistryClock {
    /// A clock of one's own.
    pub fn from_fn(now: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    /// The time in whole milliseconds, as it is written down.
    pub fn now(&self) -> Timestamp {
        let now = (self.0)();
        Timestamp::from_millisecond(now.as_millisecond()).unwrap_or(now)
    }
}

impl Default for RegistryClock {
    fn default() -> Self {
        Self::from_fn(Timestamp::now)
    }
}

impl fmt::Debug for RegistryClock {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Clock")
    }
}
