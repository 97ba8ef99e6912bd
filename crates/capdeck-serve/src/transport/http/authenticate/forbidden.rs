//! Requests of a known sender that are refused: counted like all others, answered, and recorded once.

use axum::response::{IntoResponse, Response};
use http::{StatusCode, request::Parts};

use super::{areas, unauthorized};
use crate::{http_state::HttpState, refusals::RefusalLocation, request_actor::RequestActor};

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

    /// The word for the reason in the audit.
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
