//! The progress and the deadline of a long call.

use std::{fmt, sync::Arc, time::Duration};

use capdeck_catalog::RawMembers;
use parking_lot::Mutex;
use serde_json::value::to_raw_value;
use tokio::time::{Instant, sleep_until};

use crate::{CallContext, CallerHandle};

/// The progress of one call. Progress resets the call's deadline.
pub(crate) struct ProgressDeadline {
    timeout: Duration,
    deadline: Mutex<Instant>,
    caller: Arc<dyn CallerHandle>,
}

impl ProgressDeadline {
    pub(super) fn new(context: &CallContext, timeout: Duration) -> Self {
        let deadline = Mutex::new(Instant::now() + timeout);
        Self { timeout, deadline, caller: Arc::clone(&context.caller) }
    }

    pub(super) fn deadline(&self) -> Instant {
        *self.deadline.lock()
    }

    /// Reports transferred bytes to the caller.
    pub(crate) fn report_progress(&self, done: u64, total: u64) {
        *self.deadline.lock() = Instant::now() + self.timeout;
        if self.caller.wants_progress() {
            let facts = [("progress", done), ("total", total)];
            let params: RawMembers = facts
                .into_iter()
                .filter_map(|(name, bytes)| Some((name.to_owned(), to_raw_value(&bytes).ok()?)))
                .collect();
            self.caller.progress(params);
        }
    }

    /// Resolves at the deadline, which may move.
    pub(super) async fn expired(&self) {
        while Instant::now() < self.deadline() {
            sleep_until(self.deadline()).await;
        }
    }
}

impl fmt::Debug for ProgressDeadline {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Pace").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::sleep;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_call_that_advances_is_not_silent() {
        let pace =
            ProgressDeadline::new(&CallContext::detached(Duration::ZERO), Duration::from_secs(60));
        let started = Instant::now();
        let upload = async {
            for done in 1..=3 {
                sleep(Duration::from_secs(50)).await;
                pace.report_progress(done, 3);
            }
        };
        tokio::join!(upload, pace.expired());
        assert_eq!(started.elapsed(), Duration::from_secs(3 * 50 + 60));
    }
}
