//! The parts of the host, and the senders that may use them.

use axum::response::{IntoResponse, Response};
use capdeck_auth::inbound::OperatorRole;
use http::StatusCode;

use crate::request_actor::RequestActor;

/// A part of the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HttpArea {
    /// The deck's endpoint, and the endpoints of capsules.
    Capsules,
    /// Other endpoints of the deck.
    Deck,
    /// `/v1` and `/api`, whose handlers look closer.
    Interface,
    /// What is about the host itself.
    Host,
}

impl HttpArea {
    pub(super) fn at(path: &str) -> Self {
        let parts: Vec<&str> = path.split('/').skip(1).collect();
        match parts.as_slice() {
            ["mcp"] => Self::Capsules,
            ["mcp", "server-card"] => Self::Host,
            ["mcp", _] => Self::Capsules,
            ["views" | "servers", _, "mcp"] => Self::Deck,
            ["v1" | "api", ..] => Self::Interface,
            _ => Self::Host,
        }
    }
}

/// Whether the answer to a GET there is a stream that stays open.
pub(in super::super) fn is_stream(path: &str) -> bool {
    path == "/api/activity" || matches!(HttpArea::at(path), HttpArea::Capsules | HttpArea::Deck)
}

/// Whether a sender may use an area.
pub(super) fn is_open_to(area: HttpArea, actor: &RequestActor) -> bool {
    match actor {
        RequestActor::Owner => true,
        RequestActor::Operator(operator) => match area {
            HttpArea::Interface => true,
            HttpArea::Host => operator.role == OperatorRole::Admin,
            HttpArea::Capsules | HttpArea::Deck => false,
        },
        RequestActor::Credential(_) => {
            matches!(area, HttpArea::Capsules | HttpArea::Deck | HttpArea::Interface)
        }
        RequestActor::Share(_) => area == HttpArea::Capsules,
    }
}

/// Names the place that is open to the sender.
pub(super) fn refuse(actor: &RequestActor) -> Response {
    let advice = match actor {
        RequestActor::Share(_) => "this token opens a capsule, at /mcp or /mcp/<capsule>\n",
        RequestActor::Credential(_) => "this token opens what was granted, at /mcp\n",
        RequestActor::Owner | RequestActor::Operator(_) => {
            "operators use the dashboard and /v1; MCP clients sign in for a token of their own\n"
        }
    };
    (StatusCode::FORBIDDEN, advice).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcp::ShareAccess;

    #[test]
    fn streams_are_at_the_endpoints_and_the_feed() {
        for stream in ["/mcp", "/mcp/team", "/views/a/mcp", "/servers/a/mcp", "/api/activity"] {
            assert!(is_stream(stream), "{stream}");
        }
        for other in ["/mcp/server-card", "/api/me", "/v1/grants", "/metrics", "/"] {
            assert!(!is_stream(other), "{other}");
        }
    }

    #[test]
    fn shares_have_their_places() {
        let share = RequestActor::Share(ShareAccess { share: "s".to_owned() });
        for good in ["/mcp", "/mcp/team", "/mcp/a-b"] {
            assert!(is_open_to(HttpArea::at(good), &share), "{good}");
        }
        for bad in [
            "/",
            "/mcp/server-card",
            "/mcp/a/server-card",
            "/mcpx",
            "/servers/a/mcp",
            "/metrics",
            "/v1/grants",
            "/api/me",
            "/views/a/mcp",
        ] {
            assert!(!is_open_to(HttpArea::at(bad), &share), "{bad}");
        }
    }
}
