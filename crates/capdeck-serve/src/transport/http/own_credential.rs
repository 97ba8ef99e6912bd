//! Requests of clients that are not signed in yet are counted by their address. When the rate of the address is used up, a
//! request with a secret that this host issued is counted by that secret instead.

use axum::{body::Body, extract::Request};
use http::request::Parts;
use serde::Deserialize;

use super::{
    authenticate::bearer,
    body::{MAX_SIGN_IN_BYTES, SIGN_IN_TIMEOUT, read_body},
};
use crate::http_state::HttpState;

/// The id of what a request's own secret belongs to, and the request as it was. Reads the body only where a secret is in it.
pub(super) async fn own_credential(
    http_state: &HttpState,
    request: Request,
) -> (Option<String>, Request) {
    let (parts, body) = request.into_parts();
    if let Some(id) = in_headers(http_state, &parts) {
        return (Some(id), Request::from_parts(parts, body));
    }
    let recognize = match parts.uri.path() {
        "/oauth/token" => in_grant,
        "/api/login" => in_login,
        "/oauth/sign-in" => in_sign_in,
        _ => return (None, Request::from_parts(parts, body)),
    };
    // A body that cannot be read is nothing that would be recognized.
    let Ok(bytes) = read_body(body, MAX_SIGN_IN_BYTES, SIGN_IN_TIMEOUT).await else {
        return (None, Request::from_parts(parts, Body::empty()));
    };
    let id = recognize(http_state, &bytes);
    (id, Request::from_parts(parts, Body::from(bytes)))
}

/// A session, or the token of an enrollment.
fn in_headers(http_state: &HttpState, parts: &Parts) -> Option<String> {
    let address = parts.extensions.get().copied();
    if let Some(session) = http_state.session_of(&parts.headers, address) {
        return Some(session.id);
    }
    let id = parts.uri.path().strip_prefix("/v1/agent-enrollments/")?;
    let token = bearer(&parts.headers)?;
    http_state.registry()?.enrollments().is_token(id, token).then(|| id.to_owned())
}

fn in_grant(http_state: &HttpState, body: &[u8]) -> Option<String> {
    let registry = http_state.registry()?;
    let refresh =
        field(body, "refresh_token").and_then(|token| registry.tokens().refresh_credential(&token));
    refresh.or_else(|| registry.tokens().code_principal(&field(body, "code")?))
}

fn in_login(http_state: &HttpState, body: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct LoginKey {
        key: String,
    }
    let LoginKey { key } = serde_json::from_slice(body).ok()?;
    http_state.recognize_key(&key)
}

fn in_sign_in(http_state: &HttpState, body: &[u8]) -> Option<String> {
    let key = field(body, "key")?;
    http_state.recognize_key(key.trim())
}

/// A field of a form.
fn field(body: &[u8], name: &str) -> Option<String> {
    let mut fields = url::form_urlencoded::parse(body);
    fields.find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
}
