//! Which addresses an endpoint may use, how many requests it may have at once and how often; in arrival order.
//!
//! The definition's network setting applies to its own addresses, to those in its documents and to those of redirects. One
//! exception: an address of this machine written in the definition allows that origin.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use capdeck_auth::{GuardedClients, GuardedResolver, NameResolver, NetworkReach, ReachError};
use capdeck_definition::{
    CapabilityId, HttpBlock, NetworkAccess as Networks, OutgoingSettings, RateLimit, RatePeriod,
};
use reqwest::Client;
use tokio::{
    sync::{Mutex, OwnedSemaphorePermit, Semaphore},
    time::{Instant, sleep_until, timeout_at},
};
use url::{Host, Origin, Url};

use crate::{CallError, ErrorCode, connect::ResolvedBackend};

#[derive(Debug)]
pub(crate) struct EndpointNetwork {
    id: CapabilityId,
    clients: GuardedClients,
    reach: NetworkReach,
    local: Vec<Origin>,
    /// What opens private networks.
    hint: String,
}

impl EndpointNetwork {
    pub(crate) fn new(prepared: &ResolvedBackend<impl HttpBlock>) -> Self {
        let block = &prepared.block;
        let reach = match block.outgoing().network {
            Networks::Public => NetworkReach::Public,
            Networks::Private => NetworkReach::Inside,
        };
        let local = block.addresses().into_iter().filter(|address| is_local(address));
        let local = local.filter_map(|address| Some(Url::parse(address).ok()?.origin())).collect();
        Self {
            id: prepared.id.clone(),
            clients: prepared.surroundings.guarded_clients.clone(),
            reach,
            local,
            hint: prepared.network_hint.clone(),
        }
    }

    pub(super) fn client(&self, url: &Url) -> Result<Client, CallError> {
        self.client_within(self.reach_of(url), url)
    }

    fn reach_of(&self, url: &Url) -> NetworkReach {
        if self.local.contains(&url.origin()) { NetworkReach::Loopback } else { self.reach }
    }

    /// Why no request to this address would be made, as far as the address itself tells. Nothing is sent.
    pub(crate) fn check(&self, url: &Url) -> Result<(), CallError> {
        self.reach_of(url).check(url).map_err(|reason| self.blocked_error(&reason))
    }

    /// The same for the addresses of its name. A name that nothing answers for is no finding.
    pub(crate) async fn check_name(
        &self,
        url: &Url,
        names: Arc<dyn NameResolver>,
    ) -> Result<(), CallError> {
        let Some(Host::Domain(name)) = url.host() else { return Ok(()) };
        let resolver = GuardedResolver::new(self.reach_of(url), names);
        let refused = resolver.refusal(name).await;
        refused.map_or(Ok(()), |reason| Err(self.blocked_error(&reason)))
    }

    /// The same for an address that only a remote named.
    pub(super) fn client_for_remote_url(&self, url: &Url) -> Result<Client, CallError> {
        self.client_within(self.reach, url)
    }

    fn client_within(&self, reach: NetworkReach, url: &Url) -> Result<Client, CallError> {
        reach.check(url).map_err(|reason| self.blocked_error(&reason))?;
        self.clients
            .get(reach)
            .map_err(|error| CallError::internal("the HTTP client cannot be built").detail(error))
    }

    pub(super) fn blocked_error(&self, reason: &ReachError) -> CallError {
        let id = &self.id;
        let message = format!("`{id}` names an address that is not contacted: {reason}");
        let error = CallError::new(ErrorCode::Denied, message);
        match reason {
            ReachError::Inside { .. } => error.hint(self.hint.clone()),
            ReachError::NotProtected | ReachError::NotWeb | ReachError::NoHost => {
                error.hint("an https address is needed")
            }
            ReachError::UserInfo => error.hint("put credentials under `auth`"),
            ReachError::Never { .. } => error.hint("no setting opens this address"),
        }
    }
}

/// Returns true when this machine is named plainly. Other notations of its address may hide it.
fn is_local(address: &str) -> bool {
    let address = address.to_ascii_lowercase();
    let rest = address.strip_prefix("http://").or_else(|| address.strip_prefix("https://"));
    ["localhost", "127.0.0.1", "[::1]"].into_iter().any(|host| {
        let after = rest.and_then(|rest| rest.strip_prefix(host));
        after.is_some_and(|after| after.is_empty() || after.starts_with([':', '/', '?', '#']))
    })
}

#[derive(Debug)]
pub(super) struct EndpointLimiter {
    id: CapabilityId,
    places: Arc<Semaphore>,
    max_concurrency: u16,
    rate: Option<RequestRate>,
}

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

    /// Returns a permit, which holds until its last clone is dropped.
    pub(super) async fn acquire(
        &self,
        deadline: Instant,
    ) -> Result<Arc<OwnedSemaphorePermit>, CallError> {
        let waiting = timeout_at(deadline, Arc::clone(&self.places).acquire_owned()).await;
        match waiting {
            Ok(Ok(permit)) => Ok(Arc::new(permit)),
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
        let period = Duration::from_secs(match self.limit.per {
            RatePeriod::Second => 1,
            RatePeriod::Minute => 60,
        });
        let Ok(mut sent) = timeout_at(deadline, self.sent.lock()).await else { return false };
        if sent.len() >= usize::from(self.limit.requests)
            && let Some(oldest) = sent.front()
        {
            let free = *oldest + period;
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

#[cfg(test)]
mod network_tests {
    use super::is_local;

    #[test]
    fn only_a_plainly_written_address_says_that_this_machine_is_meant() {
        for plain in [
            "http://localhost",
            "http://localhost:8080/v1",
            "HTTPS://LocalHost/",
            "http://127.0.0.1?x",
            "http://[::1]:1#x",
        ] {
            assert!(is_local(plain), "{plain}");
        }
        for hidden in [
            "http://2130706433/",
            "http://0x7f.1/",
            "http://0177.0.0.1/",
            "http://127.1/",
            "http://127.0.0.2/",
            "http://127.0.0.1.example.com/",
            "http://localhost.example.com/",
            "http://localhost.",
            "http://x.localhost/",
            "http://x@localhost/",
            "http://localhost@evil.example/",
            "http://localhost\\@evil.example/",
            "http://[::ffff:127.0.0.1]/",
            "http://[0:0:0:0:0:0:0:1]/",
            "http:/localhost",
            " http://localhost",
            "ftp://localhost",
        ] {
            assert!(!is_local(hidden), "{hidden}");
        }
    }
}

#[cfg(test)]
mod endpoint_limiter_tests {
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
