//! How much somebody may ask for: three buckets that do not affect each other, and a number of requests and of sessions at
//! once.

mod request_slots;
mod token_buckets;

use std::{net::IpAddr, sync::Arc, time::Instant};

use axum::{
    body::Body,
    extract::Request,
    response::{IntoResponse, Response},
};
use capdeck_mcp::server::SessionLimit;
use http::{
    Extensions, HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header, request::Parts,
};

pub use self::token_buckets::BucketRate;
use self::{
    request_slots::{RequestSlots, SlotGuard},
    token_buckets::{RateAllowance, TokenBuckets},
};
use super::{ClientAddress, authenticate::is_stream, problem::problem};
use crate::{http_state::HttpState, request_actor::RequestActor, rest};

const LIMIT_HEADER: HeaderName = HeaderName::from_static("ratelimit-limit");
const REMAINING_HEADER: HeaderName = HeaderName::from_static("ratelimit-remaining");
const RESET_HEADER: HeaderName = HeaderName::from_static("ratelimit-reset");

/// How much somebody may ask for.
#[derive(Debug, Clone, Copy)]
pub struct RateLimits {
    /// Sign-ins, `/oauth/*` and enrollments, per address.
    pub auth: BucketRate,
    /// `/v1/*` and `/api/*`, per credential.
    pub api: BucketRate,
    /// The MCP endpoints, per credential.
    pub mcp: BucketRate,
    /// How many requests of one credential may be under way at once.
    pub concurrent: u32,
    /// How many MCP sessions of one credential may be open at one endpoint.
    pub sessions: u32,
    /// How many streams of one credential may be open that it listens to with GET.
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

/// Counts what everyone asks for. The person at this machine, where that is enough to be let in, is not counted: there is
/// nothing to guard the machine's owner from, and agents on the machine work as fast as they can.
pub(super) struct RateLimiter {
    auth: TokenBuckets<LimiterKey>,
    api: TokenBuckets<LimiterKey>,
    mcp: TokenBuckets<LimiterKey>,
    places: RequestSlots<LimiterKey>,
    streams: RequestSlots<LimiterKey>,
    sessions: SessionLimit,
}

/// By whom is counted.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum LimiterKey {
    /// The id of a credential, an operator or a share.
    Known(Arc<str>),
    Address(Option<IpAddr>),
}

/// A request that may go on.
pub(super) struct CountedRequest {
    /// What is left; `None` for whoever is not counted.
    allowance: Option<RateAllowance>,
    /// Its place among those under way.
    held: Option<SlotGuard<LimiterKey>>,
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

    /// Counts a request of somebody who is not let in yet, by their address.
    pub(super) fn count_anonymous(
        &self,
        http_state: &HttpState,
        request: &Request,
    ) -> Result<(), Response> {
        if http_state.is_at_this_machine(request.headers()) {
            return Ok(());
        }
        let key = LimiterKey::Address(address(request.extensions()));
        let allowance = self.auth.try_take(&key, Instant::now());
        if allowance.retry_after.is_some() { Err(refuse(&allowance)) } else { Ok(()) }
    }

    /// Counts a request of a client that is not signed in yet, by a credential of its own that this host issued.
    pub(super) fn count_recognized(&self, credential: &str) -> Result<(), Response> {
        let allowance = self.auth.try_take(&LimiterKey::Known(credential.into()), Instant::now());
        if allowance.retry_after.is_some() { Err(refuse(&allowance)) } else { Ok(()) }
    }

    /// Counts a request of somebody who is known.
    pub(super) fn count_authenticated(
        &self,
        http_state: &HttpState,
        actor: &RequestActor,
        parts: &Parts,
    ) -> Result<CountedRequest, Response> {
        if matches!(actor, RequestActor::Owner) && http_state.is_at_this_machine(&parts.headers) {
            return Ok(CountedRequest { allowance: None, held: None });
        }
        let key = key(actor, &parts.extensions);
        let buckets = if is_rest_path(parts.uri.path()) { &self.api } else { &self.mcp };
        let allowance = buckets.try_take(&key, Instant::now());
        if allowance.retry_after.is_some() {
            return Err(refuse(&allowance));
        }
        // Streams that a client listens to stay open for hours, so they have places of their own.
        let held = match parts.method {
            Method::GET if is_stream(parts.uri.path()) => {
                Some(self.streams.try_acquire(&key).ok_or_else(too_many_streams)?)
            }
            Method::GET => None,
            _ => Some(self.places.try_acquire(&key).ok_or_else(too_many_at_once)?),
        };
        Ok(CountedRequest { allowance: Some(allowance), held })
    }

    /// Says with a request how many sessions its sender may have. The owner's key may be shared by any number of agents.
    pub(super) fn bound_sessions(&self, actor: &RequestActor, extensions: &mut Extensions) {
        if !matches!(actor, RequestActor::Owner) {
            extensions.insert(self.sessions);
        }
    }
}

impl CountedRequest {
    /// Says in an answer what is left, and keeps the request's place taken while the answer is being read.
    pub(super) fn add_headers(self, mut response: Response) -> Response {
        if let Some(allowance) = &self.allowance {
            describe(response.headers_mut(), allowance);
        }
        match self.held {
            Some(held) => {
                response.map(|body| Body::new(request_slots::SlotGuardBody::new(body, held)))
            }
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

fn too_many_at_once() -> Response {
    let detail =
        "too many requests of this credential are under way; wait for some of their answers";
    let status = StatusCode::TOO_MANY_REQUESTS;
    let mut response = problem(status, "too_many_at_once", detail).into_response();
    response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    response
}

fn too_many_streams() -> Response {
    let detail = "too many streams of this credential are open; close some of them";
    let status = StatusCode::TOO_MANY_REQUESTS;
    let mut response = problem(status, "too_many_streams", detail).into_response();
    response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    response
}

fn describe(headers: &mut HeaderMap, allowance: &RateAllowance) {
    headers.insert(LIMIT_HEADER, allowance.limit.into());
    headers.insert(REMAINING_HEADER, allowance.remaining.into());
    let reset = allowance.reset;
    headers.insert(RESET_HEADER, (reset.as_secs() + u64::from(reset.subsec_nanos() > 0)).into());
}
