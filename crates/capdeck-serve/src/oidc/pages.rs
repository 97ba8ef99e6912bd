//! What a person is told whose sign-in came to nothing.

use axum::response::Response;
use capdeck_auth::{OAuthError, ProviderIdentity, inbound::RegistryError};
use http::{StatusCode, header};

use crate::oauth::{escape, page};

/// A page that says why, and leads back to where one signs in.
fn refusal(status: StatusCode, title: &str, paragraphs: &[String]) -> Response {
    let mut body = format!("<h1>{}</h1>\n", escape(title));
    for text in paragraphs {
        body.push_str(&format!("<p>{}</p>\n", escape(text)));
    }
    body.push_str("<p><a href=\"/\">Back to the sign-in page</a></p>");
    page(status, title, &body, None)
}

/// There is no provider, or no registry.
pub(super) fn not_here(status: StatusCode, why: &str) -> Response {
    refusal(status, "This is no way to sign in here", &[why.to_owned()])
}

/// The browser came from somewhere else than a page of ours.
pub(super) fn not_from_here() -> Response {
    let why = "Another site sent you here. If you want to sign in, begin on the sign-in page.";
    refusal(StatusCode::FORBIDDEN, "Begin on the sign-in page", &[why.to_owned()])
}

/// What came back does not belong to a sign-in of this browser.
pub(super) fn begin_again() -> Response {
    let why = "This sign-in was not begun in this browser, is over already, or took longer than ten minutes.";
    refusal(StatusCode::BAD_REQUEST, "Begin again", &[why.to_owned()])
}

/// The provider could not be used, or did not say who somebody is.
pub(super) fn failed(label: &str, error: &OAuthError) -> Response {
    match error {
        OAuthError::TimedOut { .. } => begin_again(),
        OAuthError::AuthorizationRefused { .. } => {
            let why = format!("{label} did not sign you in, or you said no there.");
            refusal(StatusCode::FORBIDDEN, "You are not signed in", &[why])
        }
        OAuthError::WrongResponder { .. }
        | OAuthError::IdToken { .. }
        | OAuthError::TokenRefused { .. }
        | OAuthError::NoCode => {
            let why =
                format!("What came back from {label} cannot be trusted, so nobody was signed in.");
            let next = "Begin again. If it stays so, ask an admin of this host: its log says why."
                .to_owned();
            refusal(StatusCode::BAD_REQUEST, "You are not signed in", &[why, next])
        }
        _ => {
            let why = format!("{label} cannot be used at the moment.");
            let next =
                "Try again later, or sign in with a key. The host's log says why.".to_owned();
            refusal(
                StatusCode::BAD_GATEWAY,
                "The provider does not answer as it should",
                &[why, next],
            )
        }
    }
}

/// The registry lets nobody in, or not this person.
pub(super) fn not_let_in(
    label: &str,
    identity: Option<&ProviderIdentity>,
    error: &RegistryError,
) -> Response {
    match (error, identity) {
        (RegistryError::TooSoon { seconds }, _) => {
            let why = format!("Too many sign-ins failed. Try again in {seconds} seconds.");
            let mut response = refusal(StatusCode::TOO_MANY_REQUESTS, "Wait a moment", &[why]);
            response.headers_mut().insert(header::RETRY_AFTER, (*seconds).into());
            response
        }
        (RegistryError::Forbidden { .. }, Some(identity)) => {
            let who = match (&identity.email, &identity.subject) {
                (Some(email), _) => format!("{email} (account {})", identity.subject),
                (None, subject) => format!("account {subject}"),
            };
            let why =
                format!("You signed in with {label} as {who}, but nobody here knows this account.");
            let next =
                "Ask an admin of this host to add you, and tell them this account.".to_owned();
            refusal(StatusCode::FORBIDDEN, "Nobody here knows you", &[why, next])
        }
        (error, _) => {
            tracing::error!(%error, "an operator could not sign in");
            let why = "Nobody can sign in here now; the host's log says why.".to_owned();
            refusal(StatusCode::SERVICE_UNAVAILABLE, "You are not signed in", &[why])
        }
    }
}
