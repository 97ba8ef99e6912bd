//! How a call that takes long shows that it is alive.

use std::{fmt, sync::Arc, time::Duration};

use capdeck_catalog::RawObject;
use serde_json::value::to_raw_value;
use tokio::sync::Notify;

use crate::{CallContext, Caller};

/// The progress of one call. As long as it advances, the call's deadline starts again.
pub(crate) struct Pace {
    moved: Notify,
    caller: Arc<dyn Caller>,
}

impl Pace {
    /// The pace of a call that has just begun.
    pub(super) fn new(context: &CallContext) -> Self {
        Self { moved: Notify::new(), caller: Arc::clone(&context.caller) }
    }

    /// So many bytes of the whole have been moved; whoever called hears of it.
    pub(crate) fn advance(&self, done: u64, total: u64) {
        self.moved.notify_one();
        if self.caller.wants_progress() {
            let facts = [("progress", done), ("total", total)];
            let params: RawObject = facts
                .into_iter()
                .filter_map(|(name, bytes)| Some((name.to_owned(), to_raw_value(&bytes).ok()?)))
                .collect();
            self.caller.progress(params);
        }
    }

    /// Ends once nothing has moved for this long.
    pub(super) async fn silence(&self, longest: Duration) {
        while tokio::time::timeout(longest, self.moved.notified()).await.is_ok() {}
    }
}

impl fmt::Debug for Pace {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Pace").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::{Instant, sleep};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_call_that_advances_is_not_silent() {
        let pace = Pace::new(&CallContext::detached(Duration::ZERO));
        let started = Instant::now();
        let upload = async {
            for done in 1..=3 {
                sleep(Duration::from_secs(50)).await;
                pace.advance(done, 3);
            }
        };
        tokio::join!(upload, pace.silence(Duration::from_secs(60)));
        assert_eq!(started.elapsed(), Duration::from_secs(3 * 50 + 60));
    }
}
