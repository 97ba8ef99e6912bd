//! Keeps a timer due soon while requests are sent.
//!
//! Every request has a deadline. A new timer that is due before all others makes the runtime wake itself through the
//! kernel: a system call and an extra loop turn with every request. An earlier timer avoids both.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

/// Earlier than any deadline of a request, and rare enough to cost nothing.
const WAKEUP_INTERVAL: Duration = Duration::from_millis(100);

/// Runs while it is used, and ends by itself.
#[derive(Debug, Default)]
pub(super) struct WakeupTimer(Arc<WakeupState>);

#[derive(Debug, Default)]
struct WakeupState {
    was_used: AtomicBool,
    is_running: AtomicBool,
}

impl WakeupTimer {
    pub(super) fn mark_used(&self) {
        self.0.was_used.store(true, Ordering::Relaxed);
        if self.0.is_running.swap(true, Ordering::Relaxed) {
            return;
        }
        let state = Arc::clone(&self.0);
        tokio::spawn(async move {
            while state.was_used.swap(false, Ordering::Relaxed) {
                tokio::time::sleep(WAKEUP_INTERVAL).await;
            }
            state.is_running.store(false, Ordering::Relaxed);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_beating(pulse: &WakeupTimer) -> bool {
        pulse.0.is_running.load(Ordering::Relaxed)
    }

    #[tokio::test(start_paused = true)]
    async fn it_ends_when_nothing_is_asked_any_more_and_begins_again() {
        let pulse = WakeupTimer::default();
        for _ in 0..2 {
            pulse.mark_used();
            tokio::time::sleep(WAKEUP_INTERVAL / 2).await;
            pulse.mark_used();
            tokio::time::sleep(WAKEUP_INTERVAL).await;
            assert!(is_beating(&pulse), "it was used since the last beat");
            tokio::time::sleep(WAKEUP_INTERVAL).await;
            assert!(!is_beating(&pulse));
        }
    }
}
