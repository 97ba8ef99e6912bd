//! Limits of a client's requests: three rates that do not affect each other, and the number of requests, streams and sessions
//! at once.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use axum::{body::Body, extract::Request, response::Response};
use capdeck_mcp::server::SessionLimit;
use http::{
    Extensions, HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header, request::Parts,
};
use parking_lot::Mutex;

use super::{ClientAddress, authenticate::is_stream, body::GuardedBody, problem};
use crate::{http_state::HttpState, request_actor::RequestActor, rest};

const LIMIT_HEADER: HeaderName = HeaderName::from_static("ratelimit-limit");
const REMAINING_HEADER: HeaderName = HeaderName::from_static("ratelimit-remaining");
const RESET_HEADER: HeaderName = HeaderName::from_static("ratelimit-reset");

/// The rate limits of the server.
#[derive(Debug, Clone, Copy)]
pub struct RateLimits {
    /// Sign-ins, `/oauth/*` and enrollments, per address.
    pub auth: BucketRate,
    /// `/v1/*` and `/api/*`, per credential.
    pub api: BucketRate,
    /// The MCP endpoints, per credential.
    pub mcp: BucketRate,
    /// Maximum concurrent requests of one credential.
    pub concurrent: u32,
    /// Maximum MCP sessions of one credential at one endpoint.
    pub sessions: u32,
    /// Maximum open GET streams of one credential.
    pub streams: u32,
}

impl Default for RateLimits {
    fn default() -> Self {
        Self {
            auth: BucketRate { per_minute: 30, burst: 20 },
            api: BucketRate { per_minute: 300, burst: 60 },
            mcp: BucketRate { per_minute: 600, burst: 120 },
            concurrent: 64,
            sessions: 64,
            streams: 128,
        }
    }
}

/// Counts requests. Those of the person at this machine do not come here where they need no token: agents on the machine work
/// as fast as they can.
pub(super) struct RateLimiter {
    auth: TokenBuckets,
    api: TokenBuckets,
    mcp: TokenBuckets,
    places: RequestSlots,
    streams: RequestSlots,
    sessions: SessionLimit,
}

/// The client that requests are counted for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum LimiterKey {
    /// The id of a credential, an operator or a share.
    Known(Arc<str>),
    Address(Option<IpAddr>),
}

/// An accepted request.
pub(super) struct CountedRequest {
    allowance: RateAllowance,
    /// Its slot among the concurrent requests.
    held: Option<SlotGuard>,
}

impl RateLimiter {
    pub(super) fn new(limits: &RateLimits) -> Self {
        Self {
            auth: TokenBuckets::new(limits.auth),
            api: TokenBuckets::new(limits.api),
            mcp: TokenBuckets::new(limits.mcp),
            places: RequestSlots::new(limits.concurrent),
            streams: RequestSlots::new(limits.streams),
            sessions: SessionLimit(limits.sessions.max(1) as usize),
        }
    }

    /// Counts a request of an unknown sender, by the address.
    pub(super) fn count_anonymous(
        &self,
        http_state: &HttpState,
        request: &Request,
    ) -> Result<(), Response> {
        if http_state.is_at_this_machine(request.headers()) {
            return Ok(());
        }
        self.count_sign_in(LimiterKey::Address(address(request.extensions())))
    }

    /// Counts a request of a client that is not signed in yet, by a credential that this host issued.
    pub(super) fn count_recognized(&self, credential: &str) -> Result<(), Response> {
        self.count_sign_in(LimiterKey::Known(credential.into()))
    }

    fn count_sign_in(&self, key: LimiterKey) -> Result<(), Response> {
        let allowance = self.auth.try_take(&key, Instant::now());
        if allowance.retry_after.is_some() { Err(refuse(&allowance)) } else { Ok(()) }
    }

    /// Counts a request of a known sender.
    pub(super) fn count_authenticated(
        &self,
        actor: &RequestActor,
        parts: &Parts,
    ) -> Result<CountedRequest, Response> {
        let key = key(actor, &parts.extensions);
        let buckets = if is_rest_path(parts.uri.path()) { &self.api } else { &self.mcp };
        let allowance = buckets.try_take(&key, Instant::now());
        if allowance.retry_after.is_some() {
            return Err(refuse(&allowance));
        }
        // GET streams stay open for hours, so they have their own slots.
        let held = match parts.method {
            Method::GET if is_stream(parts.uri.path()) => {
                let advice = "too many streams of this credential are open; close some of them";
                let full = || too_many("too_many_streams", advice);
                Some(self.streams.try_acquire(&key).ok_or_else(full)?)
            }
            Method::GET => None,
            _ => {
                let advice = "too many requests of this credential are under way; wait for some of their answers";
                let full = || too_many("too_many_at_once", advice);
                Some(self.places.try_acquire(&key).ok_or_else(full)?)
            }
        };
        Ok(CountedRequest { allowance, held })
    }

    /// Adds the sender's session limit to a request. The owner's key may be shared by any number of agents.
    pub(super) fn bound_sessions(&self, actor: &RequestActor, extensions: &mut Extensions) {
        if !matches!(actor, RequestActor::Owner) {
            extensions.insert(self.sessions);
        }
    }
}

impl CountedRequest {
    /// Describes the allowance in a response, and holds the request's slot until the response is read.
    pub(super) fn add_headers(self, mut response: Response) -> Response {
        describe(response.headers_mut(), &self.allowance);
        match self.held {
            Some(held) => response.map(|body| Body::new(GuardedBody::new(body, held))),
            None => response,
        }
    }
}

fn is_rest_path(path: &str) -> bool {
    rest::is_rest_path(path) || path.starts_with("/api/")
}

fn address(extensions: &Extensions) -> Option<IpAddr> {
    extensions.get::<ClientAddress>().map(ClientAddress::rate_limit_key)
}

fn key(actor: &RequestActor, extensions: &Extensions) -> LimiterKey {
    let id = match actor {
        RequestActor::Credential(client) => client.credential.as_str(),
        RequestActor::Operator(operator) => operator.id.as_str(),
        RequestActor::Share(via) => via.share.as_str(),
        RequestActor::Owner => return LimiterKey::Address(address(extensions)),
    };
    LimiterKey::Known(id.into())
}

fn refuse(allowance: &RateAllowance) -> Response {
    let wait = allowance.retry_after.unwrap_or_default();
    let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
    let detail = format!("too many requests; try again in {seconds} s");
    let mut response = problem(StatusCode::TOO_MANY_REQUESTS, "rate_limited", &detail);
    describe(response.headers_mut(), allowance);
    response.headers_mut().insert(header::RETRY_AFTER, seconds.max(1).into());
    response
}

fn too_many(code: &str, detail: &str) -> Response {
    let mut response = problem(StatusCode::TOO_MANY_REQUESTS, code, detail);
    response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    response
}

fn describe(headers: &mut HeaderMap, allowance: &RateAllowance) {
    headers.insert(LIMIT_HEADER, allowance.limit.into());
    headers.insert(REMAINING_HEADER, allowance.remaining.into());
    let reset = allowance.reset;
    headers.insert(RESET_HEADER, (reset.as_secs() + u64::from(reset.subsec_nanos() > 0)).into());
}

/// Slots for concurrent requests, for each key.
struct RequestSlots {
    each: u32,
    taken: Arc<Mutex<HashMap<LimiterKey, u32>>>,
}

/// A slot that is taken until this is dropped.
struct SlotGuard {
    key: LimiterKey,
    taken: Arc<Mutex<HashMap<LimiterKey, u32>>>,
}

impl RequestSlots {
    fn new(each: u32) -> Self {
        Self { each: each.max(1), taken: Arc::default() }
    }

    /// A slot, if one is free.
    fn try_acquire(&self, key: &LimiterKey) -> Option<SlotGuard> {
        let mut taken = self.taken.lock();
        let count = taken.entry(key.clone()).or_insert(0);
        if *count >= self.each {
            return None;
        }
        *count += 1;
        Some(SlotGuard { key: key.clone(), taken: Arc::clone(&self.taken) })
    }
}

impl Drop for SlotGuard {
    fn drop(&mut self) {
        let mut taken = self.taken.lock();
        let left = taken.get_mut(&self.key).map(|count| {
            *count = count.saturating_sub(1);
            *count
        });
        // Idle clients are not stored.
        if left == Some(0) {
            taken.remove(&self.key);
        }
    }
}

/// Maximum stored keys. Beyond it, full buckets are dropped, then the least used.
const MAX_KEYS: usize = 16 * 1024;

/// A rate and its burst.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BucketRate {
    /// Requests per minute in the long run.
    pub per_minute: u32,
    /// Maximum requests at once.
    pub burst: u32,
}

/// The state of a bucket after a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct RateAllowance {
    /// The burst.
    limit: u32,
    remaining: u32,
    /// The time until the bucket is full.
    reset: Duration,
    /// The time to wait; `None` when the request is allowed.
    retry_after: Option<Duration>,
}

/// Buckets of one rate.
#[derive(Debug)]
struct TokenBuckets {
    rate: BucketRate,
    /// When each bucket is full again. A request moves this by its cost.
    full_at: Mutex<HashMap<LimiterKey, Instant>>,
}

impl TokenBuckets {
    fn new(rate: BucketRate) -> Self {
        Self { rate, full_at: Mutex::default() }
    }

    /// Takes one request from a bucket.
    fn try_take(&self, key: &LimiterKey, now: Instant) -> RateAllowance {
        let cost = Duration::from_secs(60) / self.rate.per_minute.max(1);
        let whole = cost * self.rate.burst.max(1);
        let mut table = self.full_at.lock();
        let before = table.get(key).copied().map_or(now, |full_at| full_at.max(now));
        let after = before + cost;
        let owed = after.duration_since(now);
        if owed > whole {
            let reset = before.duration_since(now);
            let retry_after = Some(owed - whole);
            return RateAllowance {
                limit: self.rate.burst.max(1),
                remaining: 0,
                reset,
                retry_after,
            };
        }
        if table.len() >= MAX_KEYS && !table.contains_key(key) {
            make_room(&mut table, now);
        }
        table.insert(key.clone(), after);
        let left = (whole - owed).as_nanos() / cost.as_nanos().max(1);
        let remaining = u32::try_from(left).unwrap_or(u32::MAX);
        RateAllowance { limit: self.rate.burst.max(1), remaining, reset: owed, retry_after: None }
    }
}

/// Drops idle clients; when all are active, the least active half.
fn make_room(table: &mut HashMap<LimiterKey, Instant>, now: Instant) {
    table.retain(|_, full_at| *full_at > now);
    if table.len() < MAX_KEYS {
        return;
    }
    let mut owed: Vec<Instant> = table.values().copied().collect();
    let (_, middle, _) = owed.select_nth_unstable(MAX_KEYS / 2);
    let middle = *middle;
    table.retain(|_, full_at| *full_at > middle);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(id: &str) -> LimiterKey {
        LimiterKey::Known(id.into())
    }

    #[test]
    fn a_place_is_free_again_when_it_is_dropped() {
        let places = RequestSlots::new(2);
        let first = places.try_acquire(&key("a"));
        let second = places.try_acquire(&key("a"));
        assert!(first.is_some() && second.is_some());
        assert!(places.try_acquire(&key("a")).is_none());
        assert!(places.try_acquire(&key("b")).is_some(), "others are not affected");
        drop(first);
        assert!(places.try_acquire(&key("a")).is_some());
        drop(second);
        assert!(places.taken.lock().is_empty(), "idle clients are not stored");
    }
}

#[cfg(test)]
mod token_buckets_tests {
    use super::*;

    fn key(id: &str) -> LimiterKey {
        LimiterKey::Known(id.into())
    }

    const RATE: BucketRate = BucketRate { per_minute: 60, burst: 3 };

    #[test]
    fn a_burst_is_allowed_and_then_the_rate() {
        let (buckets, start) = (TokenBuckets::new(RATE), Instant::now());
        let left: Vec<u32> = (0..3).map(|_| buckets.try_take(&key("a"), start).remaining).collect();
        assert_eq!(left, [2, 1, 0]);
        let refused = buckets.try_take(&key("a"), start);
        assert_eq!(refused.retry_after, Some(Duration::from_secs(1)));
        assert_eq!(buckets.try_take(&key("b"), start).retry_after, None, "others are not affected");
        let soon = start + Duration::from_millis(999);
        assert_eq!(buckets.try_take(&key("a"), soon).retry_after, Some(Duration::from_millis(1)));
        assert_eq!(buckets.try_take(&key("a"), start + Duration::from_secs(1)).retry_after, None);
        let late = start + Duration::from_secs(3600);
        assert_eq!(
            buckets.try_take(&key("a"), late).remaining,
            2,
            "no more than a burst is saved up"
        );
    }

    #[test]
    fn the_table_stays_small() {
        let (buckets, start) = (TokenBuckets::new(RATE), Instant::now());
        for number in 0..3 * MAX_KEYS {
            assert_eq!(buckets.try_take(&key(&number.to_string()), start).retry_after, None);
        }
        assert!(buckets.full_at.lock().len() <= MAX_KEYS);
    }
}
