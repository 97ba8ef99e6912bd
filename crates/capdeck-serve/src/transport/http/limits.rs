//! How much somebody may ask for: three buckets that do not affect each other, and a number of requests and of sessions at
//! once.

mod bucket;
mod places;

use std::{net::IpAddr, sync::Arc, time::Instant};

use axum::{
    body::Body,
    extract::{Request, State},
    middleware::Next,
    response::{IntoResponse, Response},
};
use capdeck_mcp::server::SessionLimit;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};

pub use self::bucket::Rate;
use self::{
    bucket::{Allowance, Buckets},
    places::{Held, Places},
};
use super::{
    ClientAddress,
    access::{TurnedAway, turn_away},
    problem::problem,
};
use crate::{actor::Actor, reception::Reception};

const LIMIT: HeaderName = HeaderName::from_static("ratelimit-limit");
const REMAINING: HeaderName = HeaderName::from_static("ratelimit-remaining");
const RESET: HeaderName = HeaderName::from_static("ratelimit-reset");

/// How much somebody may ask for.
#[derive(Debug, Clone, Copy)]
pub struct RateLimits {
    /// Sign-ins, `/oauth/*` and enrollments, per address.
    pub auth: Rate,
    /// `/v1/*` and `/api/*`, per credential.
    pub api: Rate,
    /// The MCP endpoints, per credential.
    pub mcp: Rate,
    /// How many requests of one credential may be under way at once.
    pub concurrent: u32,
    /// How many MCP sessions of one credential may be open at one endpoint.
    pub sessions: u32,
}

impl Default for RateLimits {
    fn default() -> Self {
        Self {
            auth: Rate { per_minute: 30, burst: 20 },
            api: Rate { per_minute: 300, burst: 60 },
            mcp: Rate { per_minute: 600, burst: 120 },
            concurrent: 64,
            sessions: 64,
        }
    }
}

/// Counts what everyone asks for. The person at this machine, where that is enough to be let in, is not counted: there is
/// nothing to guard the machine's owner from, and agents on the machine work as fast as they can.
pub(crate) struct Limiter {
    reception: Arc<Reception>,
    auth: Buckets<Option<IpAddr>>,
    api: Buckets<Counted>,
    mcp: Buckets<Counted>,
    places: Places<Counted>,
    sessions: SessionLimit,
}

/// By whom is counted.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Counted {
    /// The id of a credential, an operator or a share.
    Known(Arc<str>),
    Address(Option<IpAddr>),
}

impl Limiter {
    pub(crate) fn new(reception: Arc<Reception>, limits: &RateLimits) -> Arc<Self> {
        Arc::new(Self {
            reception,
            auth: Buckets::new(limits.auth),
            api: Buckets::new(limits.api),
            mcp: Buckets::new(limits.mcp),
            places: Places::new(limits.concurrent),
            sessions: SessionLimit(limits.sessions.max(1) as usize),
        })
    }
}

/// Counts requests of people and programs that are not let in yet, by their address.
pub(crate) async fn limit_strangers(
    State(limiter): State<Arc<Limiter>>,
    request: Request,
    next: Next,
) -> Response {
    if limiter.reception.is_at_this_machine(request.headers()) {
        return next.run(request).await;
    }
    let address = request.extensions().get::<ClientAddress>().map(ClientAddress::counted);
    let allowance = limiter.auth.take(&address, Instant::now());
    if allowance.retry_after.is_some() {
        return refuse(&allowance);
    }
    next.run(request).await
}

/// Counts requests of those who are known, and answers those that are not let through.
pub(crate) async fn limit_known(
    State(limiter): State<Arc<Limiter>>,
    mut request: Request,
    next: Next,
) -> Response {
    let is_owner = matches!(request.extensions().get::<Actor>(), Some(Actor::Owner));
    if is_owner && limiter.reception.is_at_this_machine(request.headers()) {
        return next.run(request).await;
    }
    let counted = counted(&request);
    let path = request.uri().path();
    let is_interface = path.starts_with("/v1/") || path.starts_with("/api/");
    let buckets = if is_interface { &limiter.api } else { &limiter.mcp };
    let allowance = buckets.take(&counted, Instant::now());
    if allowance.retry_after.is_some() {
        return refuse(&allowance);
    }
    // Streams that a client listens to stand open for hours and cost nothing.
    let is_counted = request.method() != Method::GET;
    let held = if is_counted {
        match limiter.places.take(&counted) {
            Some(held) => Some(held),
            None => return too_many_at_once(),
        }
    } else {
        None
    };
    // The owner's key may be shared by any number of agents.
    if !is_owner {
        request.extensions_mut().insert(limiter.sessions);
    }
    let mut response = match request.extensions_mut().remove::<TurnedAway>() {
        Some(turned_away) => turn_away(&limiter.reception, turned_away, request).await,
        None => next.run(request).await,
    };
    describe(response.headers_mut(), &allowance);
    match held {
        Some(held) => held_until_the_end(response, held),
        None => response,
    }
}

fn counted(request: &Request) -> Counted {
    let address = request.extensions().get::<ClientAddress>().map(ClientAddress::counted);
    let turned_away = || request.extensions().get::<TurnedAway>().map(|one| &one.actor);
    let id = match request.extensions().get::<Actor>().or_else(turned_away) {
        Some(Actor::Credential(standing)) => standing.credential.as_str(),
        Some(Actor::Operator(operator)) => operator.id.as_str(),
        Some(Actor::Share(via)) => via.share.as_str(),
        Some(Actor::Owner) | None => return Counted::Address(address),
    };
    Counted::Known(id.into())
}

/// Keeps a place taken while the answer is being read.
fn held_until_the_end(response: Response, held: Held<Counted>) -> Response {
    response.map(|body| Body::new(places::HeldBody::new(body, held)))
}

fn refuse(allowance: &Allowance) -> Response {
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

fn describe(headers: &mut HeaderMap, allowance: &Allowance) {
    headers.insert(LIMIT, allowance.limit.into());
    headers.insert(REMAINING, allowance.remaining.into());
    let reset = allowance.reset;
    headers.insert(RESET, (reset.as_secs() + u64::from(reset.subsec_nanos() > 0)).into());
}
