//! How much somebody may ask for: three buckets that do not affect each other, and a number of requests and of sessions at
//! once.

mod bucket;
mod places;

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

pub use self::bucket::Rate;
use self::{
    bucket::{Allowance, Buckets},
    places::{Held, Places},
};
use super::{ClientAddress, authenticate::is_stream, problem::problem};
use crate::{actor::Actor, http_state::HttpState, rest};

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
    /// How many streams of one credential may be open that it listens to with GET.
    pub streams: u32,
}

impl Default for RateLimits {
    fn default() -> Self {
        Self {
            auth: Rate { per_minute: 30, burst: 20 },
            api: Rate { per_minute: 300, burst: 60 },
            mcp: Rate { per_minute: 600, burst: 120 },
            concurrent: 64,
            sessions: 64,
            streams: 128,
        }
    }
}

/// Counts what everyone asks for. The person at this machine, where that is enough to be let in, is not counted: there is
/// nothing to guard the machine's owner from, and agents on the machine work as fast as they can.
pub(super) struct Limiter {
    auth: Buckets<Key>,
    api: Buckets<Key>,
    mcp: Buckets<Key>,
    places: Places<Key>,
    streams: Places<Key>,
    sessions: SessionLimit,
}

/// By whom is counted.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Key {
    /// The id of a credential, an operator or a share.
    Known(Arc<str>),
    Address(Option<IpAddr>),
}

/// A request that may go on.
pub(super) struct Counted {
    /// What is left; `None` for whoever is not counted.
    allowance: Option<Allowance>,
    /// Its place among those under way.
    held: Option<Held<Key>>,
}

impl Limiter {
    pub(super) fn new(limits: &RateLimits) -> Self {
        Self {
            auth: Buckets::new(limits.auth),
            api: Buckets::new(limits.api),
            mcp: Buckets::new(limits.mcp),
            places: Places::new(limits.concurrent),
            streams: Places::new(limits.streams),
            sessions: SessionLimit(limits.sessions.max(1) as usize),
        }
    }

    /// Counts a request of somebody who is not let in yet, by their address.
    pub(super) fn count_stranger(
        &self,
        http_state: &HttpState,
        request: &Request,
    ) -> Result<(), Response> {
        if http_state.is_at_this_machine(request.headers()) {
            return Ok(());
        }
        let key = Key::Address(address(request.extensions()));
        let allowance = self.auth.take(&key, Instant::now());
        if allowance.retry_after.is_some() { Err(refuse(&allowance)) } else { Ok(()) }
    }

    /// Counts a request of a client that is not signed in yet, by a credential of its own that this host issued.
    pub(super) fn count_recognized(&self, credential: &str) -> Result<(), Response> {
        let allowance = self.auth.take(&Key::Known(credential.into()), Instant::now());
        if allowance.retry_after.is_some() { Err(refuse(&allowance)) } else { Ok(()) }
    }

    /// Counts a request of somebody who is known.
    pub(super) fn count_known(
        &self,
        http_state: &HttpState,
        actor: &Actor,
        parts: &Parts,
    ) -> Result<Counted, Response> {
        if matches!(actor, Actor::Owner) && http_state.is_at_this_machine(&parts.headers) {
            return Ok(Counted { allowance: None, held: None });
        }
        let key = key(actor, &parts.extensions);
        let buckets = if is_for_programs(parts.uri.path()) { &self.api } else { &self.mcp };
        let allowance = buckets.take(&key, Instant::now());
        if allowance.retry_after.is_some() {
            return Err(refuse(&allowance));
        }
        // Streams that a client listens to stay open for hours, so they have places of their own.
        let held = match parts.method {
            Method::GET if is_stream(parts.uri.path()) => {
                Some(self.streams.take(&key).ok_or_else(too_many_streams)?)
            }
            Method::GET => None,
            _ => Some(self.places.take(&key).ok_or_else(too_many_at_once)?),
        };
        Ok(Counted { allowance: Some(allowance), held })
    }

    /// Says with a request how many sessions its sender may have. The owner's key may be shared by any number of agents.
    pub(super) fn bound_sessions(&self, actor: &Actor, extensions: &mut Extensions) {
        if !matches!(actor, Actor::Owner) {
            extensions.insert(self.sessions);
        }
    }
}

impl Counted {
    /// Says in an answer what is left, and keeps the request's place taken while the answer is being read.
    pub(super) fn tell(self, mut response: Response) -> Response {
        if let Some(allowance) = &self.allowance {
            describe(response.headers_mut(), allowance);
        }
        match self.held {
            Some(held) => response.map(|body| Body::new(places::HeldBody::new(body, held))),
            None => response,
        }
    }
}

fn is_for_programs(path: &str) -> bool {
    rest::is_interface(path) || path.starts_with("/api/")
}

fn address(extensions: &Extensions) -> Option<IpAddr> {
    extensions.get::<ClientAddress>().map(ClientAddress::counted)
}

fn key(actor: &Actor, extensions: &Extensions) -> Key {
    let id = match actor {
        Actor::Credential(client) => client.credential.as_str(),
        Actor::Operator(operator) => operator.id.as_str(),
        Actor::Share(via) => via.share.as_str(),
        Actor::Owner => return Key::Address(address(extensions)),
    };
    Key::Known(id.into())
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

fn too_many_streams() -> Response {
    let detail = "too many streams of this credential are open; close some of them";
    let status = StatusCode::TOO_MANY_REQUESTS;
    let mut response = problem(status, "too_many_streams", detail).into_response();
    response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    response
}

fn describe(headers: &mut HeaderMap, allowance: &Allowance) {
    headers.insert(LIMIT, allowance.limit.into());
    headers.insert(REMAINING, allowance.remaining.into());
    let reset = allowance.reset;
    headers.insert(RESET, (reset.as_secs() + u64::from(reset.subsec_nanos() > 0)).into());
}
