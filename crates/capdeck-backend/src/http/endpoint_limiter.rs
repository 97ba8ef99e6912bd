//! Concurrency and rate limits of an endpoint, in arrival order.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use capdeck_definition::{CapabilityId, OutgoingSettings, RateLimit, RatePeriod};
use tokio::{
    sync::{Mutex, OwnedSemaphorePermit, Semaphore},
    time::{Instant, sleep_until, timeout_at},
};

use crate::{CallError, ErrorCode};

#[derive(Debug)]
pub(super) struct EndpointLimiter {
    id: CapabilityId,
    places: Arc<Semaphore>,
    max_concurrency: u16,
    rate: Option<RequestRate>,
}

/// A concurrency permit, until the last clone is dropped.
#[derive(Debug, Clone)]
pub(super) struct ConcurrencyPermit(
    #[expect(dead_code, reason = "it is given back when dropped")] Arc<OwnedSemaphorePermit>,
);

#[derive(Debug)]
struct RequestRate {
    limit: RateLimit,
    /// The times of the last requests, the oldest first. The lock also queues waiting callers.
    sent: Mutex<VecDeque<Instant>>,
}

impl EndpointLimiter {
    pub(super) fn new(id: &CapabilityId, outgoing: OutgoingSettings) -> Self {
        let OutgoingSettings { max_concurrency, rate_limit, .. } = outgoing;
        Self {
            id: id.clone(),
            places: Arc::new(Semaphore::new(max_concurrency.into())),
            max_concurrency,
            rate: rate_limit.map(|limit| RequestRate { limit, sent: Mutex::default() }),
        }
    }

    pub(super) async fn acquire(&self, deadline: Instant) -> Result<ConcurrencyPermit, CallError> {
        let waiting = timeout_at(deadline, Arc::clone(&self.places).acquire_owned()).await;
        match waiting {
            Ok(Ok(permit)) => Ok(ConcurrencyPermit(Arc::new(permit))),
            // The semaphore is never closed, so the wait ended with the deadline.
            Ok(Err(_)) | Err(_) => Err(CallError::new(
                ErrorCode::ToolCallTimeout,
                format!(
                    "no request to `{}` could be made in time: `maxConcurrency` allows {} at once",
                    self.id, self.max_concurrency
                ),
            )
            .hint("try again later, or raise `maxConcurrency`")),
        }
    }

    /// Waits until the rate allows one more request. Fails immediately when that is after the deadline.
    pub(super) async fn wait_for_rate(&self, deadline: Instant) -> Result<(), CallError> {
        let Some(rate) = &self.rate else { return Ok(()) };
        if rate.wait(deadline).await {
            return Ok(());
        }
        let RateLimit { requests, per } = rate.limit;
        Err(CallError::new(
            ErrorCode::ToolCallTimeout,
            format!(
                "no request to `{}` could be made in time: `rateLimit` allows {requests} per {}",
                self.id,
                per.as_str()
            ),
        )
        .hint("try again later, or raise `rateLimit`"))
    }
}

impl RequestRate {
    /// Returns true when a request may be sent, false when the deadline comes first.
    async fn wait(&self, deadline: Instant) -> bool {
        let Ok(mut sent) = timeout_at(deadline, self.sent.lock()).await else { return false };
        if sent.len() >= usize::from(self.limit.requests)
            && let Some(oldest) = sent.front()
        {
            let free = *oldest + period(self.limit.per);
            if free > deadline {
                return false;
            }
            sleep_until(free).await;
            sent.pop_front();
        }
        sent.push_back(Instant::now());
        true
    }
}

fn period(per: RatePeriod) -> Duration {
    Duration::from_secs(match per {
        RatePeriod::Second => 1,
        RatePeriod::Minute => 60,
    })
}

#[cfg(test)]
mod tests {
    use capdeck_definition::NetworkAccess;
    use futures_util::{FutureExt as _, future::join_all};

    use super::*;

    fn turns(max_concurrency: u16, rate: Option<(u16, RatePeriod)>) -> EndpointLimiter {
        let rate_limit = rate.map(|(requests, per)| RateLimit { requests, per });
        let outgoing = OutgoingSettings {
            network: NetworkAccess::Public,
            retries: 0,
            max_concurrency,
            rate_limit,
        };
        EndpointLimiter::new(&CapabilityId::new("thing").unwrap(), outgoing)
    }

    fn after(seconds: u64) -> Instant {
        Instant::now() + Duration::from_secs(seconds)
    }

    #[tokio::test(start_paused = true)]
    async fn no_stretch_of_time_holds_more_than_the_rate() {
        let turns = turns(16, Some((3, RatePeriod::Second)));
        let start = Instant::now();
        let turns = &turns;
        let take = |number: u64| async move {
            turns.wait_for_rate(after(60)).await.unwrap();
            (number, start.elapsed().as_millis())
        };
        let moments = join_all((0..8).map(take)).await;
        let expected =
            [(0, 0), (1, 0), (2, 0), (3, 1000), (4, 1000), (5, 1000), (6, 2000), (7, 2000)];
        // Tokio rounds timers up to the next millisecond.
        for ((number, at), (expected_number, expected_at)) in moments.into_iter().zip(expected) {
            assert_eq!(number, expected_number);
            assert!((expected_at..expected_at + 5).contains(&at), "{number}: {at}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_rate_that_comes_too_late_is_told_at_once() {
        let turns = turns(16, Some((1, RatePeriod::Minute)));
        turns.wait_for_rate(after(1)).await.unwrap();
        let start = Instant::now();
        let error = turns.wait_for_rate(after(30)).await.unwrap_err();
        assert_eq!(start.elapsed(), Duration::ZERO);
        assert_eq!(
            error.message,
            "no request to `thing` could be made in time: `rateLimit` allows 1 per minute"
        );
        // A rejected request does not count.
        turns.wait_for_rate(after(61)).await.unwrap();
        assert!(start.elapsed() <= Duration::from_millis(60_002));
    }

    #[tokio::test(start_paused = true)]
    async fn a_waiting_caller_who_leaves_takes_no_turn() {
        let turns = turns(16, Some((1, RatePeriod::Second)));
        turns.wait_for_rate(after(9)).await.unwrap();
        let mut leaving = Box::pin(turns.wait_for_rate(after(9)));
        assert!(leaving.as_mut().now_or_never().is_none());
        let staying = turns.wait_for_rate(after(9));
        drop(leaving);
        let start = Instant::now();
        staying.await.unwrap();
        assert!(start.elapsed() <= Duration::from_millis(1002), "{:?}", start.elapsed());
    }

    #[tokio::test(start_paused = true)]
    async fn places_are_given_in_order_and_back_when_dropped() {
        let turns = turns(2, None);
        let first = turns.acquire(after(1)).await.unwrap();
        let second = turns.acquire(after(1)).await.unwrap();
        let mut third = Box::pin(turns.acquire(after(60)));
        let mut fourth = Box::pin(turns.acquire(after(60)));
        assert!(third.as_mut().now_or_never().is_none());
        assert!(fourth.as_mut().now_or_never().is_none());
        drop(first.clone());
        assert!(third.as_mut().now_or_never().is_none());
        drop(first);
        assert!(fourth.as_mut().now_or_never().is_none());
        let third = third.await.unwrap();
        drop(second);
        fourth.await.unwrap();
        let (_third, _fourth) = (third, turns.acquire(after(1)).await.unwrap());
        let error = turns.acquire(after(1)).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::ToolCallTimeout);
        assert_eq!(
            error.message,
            "no request to `thing` could be made in time: `maxConcurrency` allows 2 at once"
        );
    }
}
