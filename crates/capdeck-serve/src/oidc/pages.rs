//! Error pages of a failed sign-in.

use axum::response::Response;
use capdeck_auth::{OAuthError, ProviderIdentity, inbound::RegistryError};
use http::{StatusCode, header};

use crate::oauth::{escape, page};

/// An error page with a link to the sign-in page.
fn refusal(status: StatusCode, title: &str, paragraphs: &[String]) -> Response {
    let mut body = format!("<h1>{}</h1>\n", escape(title));
    for text in paragraphs {
        body.push_str(&format!("<p>{}</p>\n", escape(text)));
    }
    body.push_str("<p><a href=\"/\">Back to the sign-in page</a></p>");
    page(status, title, &body, None)
}

pub(super) fn unavailable(status: StatusCode, why: &str) -> Response {
    refusal(status, "Sign-in is not available", &[why.to_owned()])
}

pub(super) fn cross_site() -> Response {
    let why = "Another site sent you here. To sign in, start on the sign-in page.";
    refusal(StatusCode::FORBIDDEN, "Start on the sign-in page", &[why.to_owned()])
}

pub(super) fn invalid_state() -> Response {
    let why =
        "This sign-in was not started in this browser, has ended, or took longer than ten minutes.";
    refusal(StatusCode::BAD_REQUEST, "Start again", &[why.to_owned()])
}

pub(super) fn failed(label: &str, error: &OAuthError) -> Response {
    match error {
        OAuthError::TimedOut { .. } => invalid_state(),
        OAuthError::AuthorizationRefused { .. } => {
            let why = format!("{label} did not sign you in, or you cancelled the sign-in.");
            refusal(StatusCode::FORBIDDEN, "Sign-in failed", &[why])
        }
        OAuthError::WrongResponder { .. }
        | OAuthError::IdToken { .. }
        | OAuthError::TokenRefused { .. }
        | OAuthError::NoCode => {
            let why = format!("The response of {label} is not valid.");
            let next =
                "Start again. If the error persists, ask an admin of this host to read its log."
                    .to_owned();
            refusal(StatusCode::BAD_REQUEST, "Sign-in failed", &[why, next])
        }
        _ => {
            let why = format!("{label} is not available.");
            let next =
                "Try again later, or sign in with a key. See the log of the host.".to_owned();
            refusal(StatusCode::BAD_GATEWAY, "Provider not available", &[why, next])
        }
    }
}

pub(super) fn forbidden(
    label: &str,
    identity: Option<&ProviderIdentity>,
    error: &RegistryError,
) -> Response {
    match (error, identity) {
        (RegistryError::TooSoon { seconds }, _) => {
            let why = format!("Too many failed sign-ins. Try again in {seconds} seconds.");
            let mut response = refusal(StatusCode::TOO_MANY_REQUESTS, "Too many attempts", &[why]);
            response.headers_mut().insert(header::RETRY_AFTER, (*seconds).into());
            response
        }
        (RegistryError::Forbidden { .. }, Some(identity)) => {
            let who = match (&identity.email, &identity.subject) {
                (Some(email), _) => format!("{email} (account {})", identity.subject),
                (None, subject) => format!("account {subject}"),
            };
            let why = format!(
                "You signed in with {label} as {who}, but this account is not an operator."
            );
            let next = "Ask an admin of this host to add this account.".to_owned();
            refusal(StatusCode::FORBIDDEN, "Unknown account", &[why, next])
        }
        (error, _) => {
            tracing::error!(%error, "an operator cannot sign in");
            let why = "Sign-in is not available. See the log of the host.".to_owned();
            refusal(StatusCode::SERVICE_UNAVAILABLE, "Sign-in failed", &[why])
        }
    }
}
