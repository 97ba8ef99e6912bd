//! What is only in memory, and may be lost: failed sign-ins, when sign-ups were asked about, codes, fresh renewals.

use std::{collections::HashMap, time::Duration};

use jiff::Timestamp;
use parking_lot::Mutex;

use super::{RegistryError, failures::Failures};

/// See above.
#[derive(Debug, Default)]
pub(super) struct Volatile {
    pub(super) failures: Failures,
    /// When each sign-up may be asked about again.
    polls: Mutex<HashMap<String, Timestamp>>,
}

impl Volatile {
    /// Forgets what is over.
    pub(super) fn sweep(&self, now: Timestamp) {
        self.polls.lock().retain(|_, next| now < *next);
    }

    /// Notes that a sign-up was asked about, unless it was too soon.
    pub(super) fn note_poll(
        &self,
        id: &str,
        now: Timestamp,
        interval: Duration,
    ) -> Result<(), RegistryError> {
        let mut polls = self.polls.lock();
        if let Some(next) = polls.get(id).filter(|next| now < **next) {
            let seconds = u64::try_from(next.duration_since(now).as_secs()).unwrap_or(0);
            return Err(RegistryError::TooSoon { seconds: seconds + 1 });
        }
        polls.insert(id.to_owned(), now.checked_add(interval).unwrap_or(Timestamp::MAX));
        Ok(())
    }
}
