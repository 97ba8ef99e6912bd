//! What somebody is told who is not let in: where to sign in, and for what.

use axum::response::{IntoResponse, Response};
use capdeck_auth::inbound::Scopes;
use http::{HeaderValue, StatusCode, header, request::Parts};

use crate::{oauth::Resource, reception::Reception};

/// The answer to a request without anything that opens the place.
pub(crate) fn unauthorized(reception: &Reception, parts: &Parts) -> Response {
    let has_token = parts.headers.contains_key(header::AUTHORIZATION);
    let mut challenge = "Bearer realm=\"capdeck\"".to_owned();
    // Without the registry nobody can sign in, so there is nothing to point to.
    if reception.registry().is_some() {
        let issuer = reception.issuer(&parts.headers, parts.extensions.get().copied());
        let resource = Resource::at(parts.uri.path());
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

/// The answer to a request that the token's scopes do not cover: everything that it would need, in one challenge.
pub(crate) fn insufficient_scope(resource: &Resource, issuer: &str, needed: &Scopes) -> Response {
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
