//! Responses to refused senders: where to sign in and for what, or that the request is forbidden.

use axum::response::{IntoResponse, Response};
use capdeck_auth::inbound::{FailedAttempt, Scopes};
use http::{HeaderValue, StatusCode, header, request::Parts};

use super::areas;
use crate::{
    http_state::HttpState,
    oauth::OauthResource,
    request_actor::{RefusalLocation, RequestActor},
    transport::http::problem,
};

/// The answer to a request without anything that opens the place.
pub(crate) fn unauthorized(http_state: &HttpState, parts: &Parts) -> Response {
    let has_token = parts.headers.contains_key(header::AUTHORIZATION);
    let mut challenge = "Bearer realm=\"capdeck\"".to_owned();
    // Without the registry there is no sign-in to point to.
    if http_state.registry().is_some() {
        let issuer = http_state.issuer(&parts.headers, parts.extensions.get().copied());
        let resource = OauthResource::at(parts.uri.path());
        if has_token {
            challenge.push_str(", error=\"invalid_token\"");
        }
        if let Some(resource) = resource {
            let about = resource.metadata_address(&issuer);
            let scope = resource.first_scopes();
            challenge.push_str(&format!(", resource_metadata=\"{about}\", scope=\"{scope}\""));
        }
    }
    let advice = "send a token: Authorization: Bearer <key or token>\n";
    with_challenge(StatusCode::UNAUTHORIZED, &challenge, advice)
}

/// The answer to a request whose credential opens nothing. A burst of them is recorded once.
pub(in super::super) async fn refuse_credential(
    http_state: &HttpState,
    attempt: FailedAttempt,
    parts: &Parts,
) -> Response {
    let address = parts.extensions.get().copied();
    http_state.record_failed_credential(address, attempt).await;
    match attempt.retry_after {
        Some(seconds) => wait_response(seconds),
        None => unauthorized(http_state, parts),
    }
}

/// The answer to a sender who has to wait after credentials that opened nothing.
fn wait_response(seconds: u64) -> Response {
    let detail =
        format!("too many wrong credentials came from this address; try again in {seconds} s");
    let mut response = problem(StatusCode::TOO_MANY_REQUESTS, "too_many_failures", &detail);
    response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
    response
}

/// The answer to a request that the token's scopes do not cover: everything that it would need, in one challenge.
pub(crate) fn insufficient_scope(
    resource: &OauthResource,
    issuer: &str,
    needed: &Scopes,
) -> Response {
    let about = resource.metadata_address(issuer);
    let challenge = format!(
        "Bearer realm=\"capdeck\", error=\"insufficient_scope\", scope=\"{needed}\", resource_metadata=\"{about}\""
    );
    let advice = format!("this needs a token with the scopes: {needed}\n");
    with_challenge(StatusCode::FORBIDDEN, &challenge, &advice)
}

fn with_challenge(status: StatusCode, challenge: &str, advice: &str) -> Response {
    let plain = HeaderValue::from_static("Bearer realm=\"capdeck\"");
    let challenge = HeaderValue::from_str(challenge).unwrap_or(plain);
    (status, [(header::WWW_AUTHENTICATE, challenge)], advice.to_owned()).into_response()
}

/// A known sender whose request is refused.
#[derive(Debug)]
pub(in super::super) struct Forbidden {
    pub(in super::super) actor: RequestActor,
    reason: ForbiddenReason,
}

/// Why a request is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ForbiddenReason {
    /// A change that comes with a cookie and without what proves that a page of ours sent it.
    NoCsrf,
    /// A token for another resource.
    OtherAudience,
    /// The sender has nothing there.
    Closed,
}

impl Forbidden {
    pub(super) fn new(actor: RequestActor, reason: ForbiddenReason) -> Self {
        Self { actor, reason }
    }

    /// The code of the reason in the audit.
    fn code(&self) -> &'static str {
        match self.reason {
            ForbiddenReason::NoCsrf => "csrf_required",
            ForbiddenReason::OtherAudience => "other_audience",
            ForbiddenReason::Closed => "forbidden",
        }
    }
}

/// Answers a refused request.
pub(in super::super) async fn refuse_forbidden(
    http_state: &HttpState,
    forbidden: Forbidden,
    parts: &Parts,
) -> Response {
    let place = RefusalLocation::of(&parts.method, &parts.extensions);
    http_state.record_refusal(&forbidden.actor, place, forbidden.code()).await;
    match forbidden.reason {
        ForbiddenReason::NoCsrf => {
            let advice = "a change that comes with a session cookie needs the header x-capdeck-csrf; GET /api/me tells its value\n";
            (StatusCode::FORBIDDEN, advice).into_response()
        }
        ForbiddenReason::OtherAudience => unauthorized(http_state, parts),
        ForbiddenReason::Closed => areas::refuse(&forbidden.actor),
    }
}
