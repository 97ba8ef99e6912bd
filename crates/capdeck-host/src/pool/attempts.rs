//! Failed attempts to connect: callers that waited share a failure, and the next attempt is later.

use std::time::Duration;

use capdeck_backend::{CallError, ErrorKind};
use capdeck_definition::CapabilityId;
use tokio::time::Instant;

/// The first failure may be retried at once; then 0.5 s, 1 s, … up to this.
const MAX_BACKOFF: Duration = Duration::from_secs(30);

#[derive(Default)]
pub(super) struct ConnectAttempts {
    failures: u32,
    last: Option<(Instant, CallError)>,
    /// True when no caller waited for the end of the last one.
    is_unreported: bool,
}

impl ConnectAttempts {
    pub(super) fn note(&mut self, error: Option<&CallError>, is_reported: bool) {
        let Some(error) = error else {
            *self = Self::default();
            return;
        };
        // After a sign-in the next attempt must not wait, and a refusal costs no start-up. What the
        // host itself refuses says nothing about the server.
        if error.kind() != ErrorKind::NeedsLogin && !error.host_stopped {
            self.failures += 1;
            self.last = Some((Instant::now(), error.clone()));
            self.is_unreported = !is_reported;
        }
    }

    /// Refuses an attempt that would not help now. Callers that waited for a failed attempt share its
    /// failure instead of waiting for another.
    pub(super) fn check(
        &mut self,
        id: &CapabilityId,
        requested_at: Instant,
    ) -> Result<(), CallError> {
        let is_unreported = std::mem::take(&mut self.is_unreported);
        let Some((at, error)) = &self.last else { return Ok(()) };
        if *at >= requested_at || is_unreported {
            return Err(error.clone());
        }
        let doublings = self.failures.saturating_sub(2).min(6);
        let pause = (Duration::from_millis(500) * 2_u32.pow(doublings)).min(MAX_BACKOFF);
        let wait = (*at + pause).saturating_duration_since(Instant::now());
        if self.failures < 2 || wait.is_zero() {
            return Ok(());
        }
        let (times, seconds) = (self.failures, wait.as_secs_f32());
        let message = format!(
            "`{id}` failed to start {times} times, next try in {seconds:.1} s; the last error was: {}",
            error.message
        );
        Err(CallError { message, ..error.clone() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_that_no_caller_saw_is_the_answer_to_the_next() {
        let id = CapabilityId::new("one").unwrap();
        let error = CallError::unavailable("no such package");
        let mut attempts = ConnectAttempts::default();
        for (is_reported, next) in [(false, Err("no such package")), (true, Ok(()))] {
            attempts.note(Some(&error), is_reported);
            let later = Instant::now() + Duration::from_secs(3600);
            let answer = attempts.check(&id, later).map_err(|error| error.message);
            assert_eq!(answer, next.map_err(str::to_owned));
            attempts.failures = 0;
        }
    }
}
