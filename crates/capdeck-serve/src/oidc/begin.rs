//! `GET /api/oidc/begin`: redirects the browser to the provider.

use std::sync::Arc;

use axum::{
    Extension,
    extract::{RawQuery, State},
    response::{IntoResponse, Response},
};
use capdeck_auth::ProviderSignInRequest;
use http::{HeaderMap, HeaderValue, StatusCode, header};

use super::{CALLBACK_PATH, destination::own_path, pages, state_cookie};
use crate::{http_state::HttpState, oauth::OauthForm, transport::http::ClientAddress};

pub(super) async fn begin(
    State(http_state): State<Arc<HttpState>>,
    address: Option<Extension<ClientAddress>>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    let address = address.map(|address| address.0);
    let Some(provider) = http_state.provider() else {
        let why = "This host has no OpenID provider.";
        return pages::unavailable(StatusCode::NOT_FOUND, why);
    };
    let Some(registry) = http_state.registry() else {
        let why = "This process has no registry, so sign-in is not available.";
        return pages::unavailable(StatusCode::SERVICE_UNAVAILABLE, why);
    };
    // Reject sign-ins started by another site (login CSRF).
    if is_from_elsewhere(&headers) {
        return pages::cross_site();
    }
    if let Err(error) =
        registry.sessions().check_sign_in(address.map(|address| address.rate_limit_key())).await
    {
        return pages::forbidden(&provider.label, None, &error);
    }
    let form = OauthForm::parse(query.unwrap_or_default().as_bytes());
    let then = form.last_value("then").and_then(own_path).unwrap_or_else(|| "/".to_owned());
    let redirect_uri = format!("{}{CALLBACK_PATH}", http_state.issuer(&headers, address));
    let page = match provider.sign_in.begin(ProviderSignInRequest { redirect_uri, then }).await {
        Ok(page) => page,
        Err(error) => {
            tracing::warn!(%error, "cannot start a sign-in at the provider");
            return pages::failed(&provider.label, &error);
        }
    };
    let is_https = http_state.is_https(address);
    let cookie = state_cookie::remember(&page.state, provider.sign_in.patience(), is_https);
    let (Some(cookie), Ok(place)) = (cookie, HeaderValue::from_str(page.url.as_str())) else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    let mut response = StatusCode::SEE_OTHER.into_response();
    let no_store = HeaderValue::from_static("no-store");
    let no_referrer = HeaderValue::from_static("no-referrer");
    response.headers_mut().insert(header::LOCATION, place);
    response.headers_mut().insert(header::SET_COOKIE, cookie);
    response.headers_mut().insert(header::CACHE_CONTROL, no_store);
    response.headers_mut().insert(header::REFERRER_POLICY, no_referrer);
    response
}

/// True when the browser reports another site as the source. Older browsers and insecure connections report nothing.
fn is_from_elsewhere(headers: &HeaderMap) -> bool {
    headers.get("sec-fetch-site").is_some_and(|site| site != "same-origin" && site != "none")
}
