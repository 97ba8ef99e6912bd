//! Requests of somebody who is known and still not let through: counted like all others, answered, and recorded once.

use axum::response::{IntoResponse, Response};
use http::{StatusCode, request::Parts};

use super::{areas, unauthorized};
use crate::{actor::Actor, reception::Reception, refusals::Place};

/// Somebody who is known, and not let through.
#[derive(Debug)]
pub(in super::super) struct TurnedAway {
    pub(in super::super) actor: Actor,
    reason: Reason,
}

/// Why somebody is not let through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reason {
    /// A change that comes with a cookie and without what proves that a page of ours sent it.
    NoCsrf,
    /// A token for another place.
    OtherAudience,
    /// There is nothing for them there.
    Closed,
}

impl TurnedAway {
    pub(super) fn new(actor: Actor, reason: Reason) -> Self {
        Self { actor, reason }
    }

    /// The word for the reason in the audit.
    fn code(&self) -> &'static str {
        match self.reason {
            Reason::NoCsrf => "csrf_required",
            Reason::OtherAudience => "other_audience",
            Reason::Closed => "forbidden",
        }
    }
}

/// Answers somebody who is not let through.
pub(in super::super) async fn turn_away(
    reception: &Reception,
    turned_away: TurnedAway,
    parts: &Parts,
) -> Response {
    let place = Place::of(&parts.method, &parts.extensions);
    reception.note_refusal(&turned_away.actor, place, turned_away.code()).await;
    match turned_away.reason {
        Reason::NoCsrf => {
            let advice = "a change that comes with a session cookie needs the header x-capdeck-csrf; GET /api/me tells its value\n";
            (StatusCode::FORBIDDEN, advice).into_response()
        }
        Reason::OtherAudience => unauthorized(reception, parts),
        Reason::Closed => areas::refuse(&turned_away.actor),
    }
}
