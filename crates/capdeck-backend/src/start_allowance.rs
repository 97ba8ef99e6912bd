//! The time that one start of a server has, and turns for starts that install.

use std::{
    num::NonZeroUsize,
    sync::Arc,
    thread::available_parallelism,
    time::{Duration, Instant},
};

use capdeck_definition::StartLimit;
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::{process::Process, process_log::ProcessLog};

/// Installing is mostly work of the processor; more at once would only make each slower.
const INSTALLS_PER_CORE: usize = 2;

/// How often a start is looked at.
const POLL_INTERVAL: Duration = Duration::from_secs(2);

/// Less work between two looks is no progress: an idle server wakes up now and then.
const MIN_WORK: Duration = Duration::from_millis(100);

/// Turns for starts that may install something.
#[derive(Debug)]
pub(crate) struct InstallTurns(Arc<Semaphore>);

impl Default for InstallTurns {
    fn default() -> Self {
        let cores = available_parallelism().map_or(1, NonZeroUsize::get);
        Self(Arc::new(Semaphore::new(cores * INSTALLS_PER_CORE)))
    }
}

impl InstallTurns {
    /// Waits for a turn. There is always one, since the semaphore is never closed.
    pub(crate) async fn take(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.0).acquire_owned().await.ok()
    }
}

/// How long a start may go on.
pub(crate) struct StartAllowance {
    pub(crate) limit: StartLimit,
    begun: Instant,
    turn: Mutex<Option<OwnedSemaphorePermit>>,
}

impl StartAllowance {
    pub(crate) fn begin(limit: StartLimit, turn: Option<OwnedSemaphorePermit>) -> Self {
        Self { limit, begun: Instant::now(), turn: Mutex::new(turn) }
    }

    /// The time that is left if the server goes on writing.
    pub(crate) fn remaining(&self) -> Duration {
        self.limit.most.saturating_sub(self.begun.elapsed())
    }

    /// Waits until the time is over, and returns how long it was. A server that does nothing for long gives back its turn.
    pub(crate) async fn ended(&self, log: &ProcessLog, process: Option<&Process>) -> Duration {
        let (mut last_progress, mut worked) = (self.begun, Duration::ZERO);
        loop {
            if let Some(last_write) = log.last_write() {
                last_progress = last_progress.max(last_write);
            }
            // npm writes nothing while it installs.
            if let Some(now) = process.filter(|_| self.is_extended()).and_then(Process::cpu_time)
                && now >= worked + MIN_WORK
            {
                (worked, last_progress) = (now, Instant::now());
            }
            let (now, end) = (Instant::now(), self.end(last_progress));
            if now >= end {
                return end.duration_since(self.begun);
            }
            if now >= last_progress + StartLimit::INSTALLING.quiet {
                drop(self.turn.lock().take());
            }
            tokio::time::sleep_until(end.min(now + POLL_INTERVAL).into()).await;
        }
    }

    fn is_extended(&self) -> bool {
        self.limit.most > self.limit.least
    }

    fn end(&self, last_progress: Instant) -> Instant {
        let StartLimit { least, quiet, most } = self.limit;
        let end = (self.begun + least).max(last_progress + quiet);
        end.min(self.begun + most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_extends_the_time_up_to_a_bound() {
        let allowance = StartAllowance::begin(StartLimit::INSTALLING, None);
        let after = |seconds| allowance.begun + Duration::from_secs(seconds);
        assert_eq!(allowance.end(allowance.begun), after(90));
        assert_eq!(allowance.end(after(59)), after(90));
        assert_eq!(allowance.end(after(85)), after(115));
        assert_eq!(allowance.end(after(595)), after(600));
        let exact = StartLimit::fixed(Duration::from_secs(5));
        let exact = StartAllowance::begin(exact, None);
        assert_eq!(exact.end(exact.begun + Duration::from_secs(4)), exact.begun + exact.limit.most);
    }

    #[tokio::test]
    async fn a_start_waits_for_the_turn_of_another() {
        let turns = InstallTurns(Arc::new(Semaphore::new(1)));
        let first = turns.take().await;
        let mut second = std::pin::pin!(turns.take());
        assert!(futures_util::poll!(second.as_mut()).is_pending());
        drop(first);
        assert!(second.await.is_some());
    }
}
