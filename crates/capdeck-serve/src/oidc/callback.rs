//! `GET /api/oidc/callback`: handles the response of the provider.

use std::sync::Arc;

use axum::{
    Extension,
    extract::{RawQuery, State},
    response::{IntoResponse, Response},
};
use capdeck_auth::{
    OAuthError, ProviderCallback, ProviderSignInResult, Secret,
    inbound::{Registry, SignInPenalty},
};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use subtle::ConstantTimeEq as _;

use super::{OidcProvider, pages, state_cookie};
use crate::{
    http_state::HttpState,
    oauth::{OauthForm, RepeatedParameter},
    operators::set_session_cookies,
    transport::http::ClientAddress,
};

pub(super) async fn callback(
    State(http_state): State<Arc<HttpState>>,
    address: Option<Extension<ClientAddress>>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    let address = address.map(|address| address.0);
    let (Some(provider), Some(registry)) = (http_state.provider(), http_state.registry()) else {
        let why = "This host has no OpenID provider.";
        return pages::unavailable(StatusCode::NOT_FOUND, why);
    };
    let is_https = http_state.is_https(address);
    let form = OauthForm::parse(query.unwrap_or_default().as_bytes());
    let sent_away_with = state_cookie::state_of(&headers, is_https);
    let mut response = match answer_of(&form, sent_away_with) {
        Some(answer) => finish(&http_state, provider, registry, &headers, address, answer).await,
        None => {
            let ip = address.map(|address| address.rate_limit_key());
            registry.sessions().record_failure(ip, SignInPenalty::NotCounted).await;
            pages::invalid_state()
        }
    };
    // The address of this page contains a used code.
    for (name, value) in
        [(header::CACHE_CONTROL, "no-store"), (header::REFERRER_POLICY, "no-referrer")]
    {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    if let Some(cookie) = state_cookie::forget(is_https) {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
    response
}

/// The response, if this browser started the sign-in.
fn answer_of(form: &OauthForm, sent_away_with: Option<&str>) -> Option<ProviderCallback> {
    let read = || -> Result<_, RepeatedParameter> {
        let state = form.single("state")?.unwrap_or_default();
        let text = |name| form.single(name).map(|value| value.map(str::to_owned));
        Ok(ProviderCallback {
            state: state.to_owned(),
            code: form.single("code")?.map(Secret::new),
            issuer: text("iss")?,
            error: text("error")?,
        })
    };
    let answer = read().ok()?;
    let is_theirs = |own: &str| own.as_bytes().ct_eq(answer.state.as_bytes()).into();
    sent_away_with.filter(|own| !own.is_empty()).is_some_and(is_theirs).then_some(answer)
}

async fn finish(
    http_state: &HttpState,
    provider: &OidcProvider,
    registry: &Registry,
    headers: &HeaderMap,
    address: Option<ClientAddress>,
    answer: ProviderCallback,
) -> Response {
    let ip = address.map(|address| address.rate_limit_key());
    if let Err(error) = registry.sessions().check_sign_in(ip).await {
        return pages::forbidden(&provider.label, None, &error);
    }
    let ProviderSignInResult { identity, then } = match provider.sign_in.finish(answer).await {
        Ok(back) => back,
        Err(error) => {
            tracing::warn!(%error, "a sign-in at the provider failed");
            registry.sessions().record_failure(ip, classify_error(&error)).await;
            return pages::failed(&provider.label, &error);
        }
    };
    let signed_in =
        registry.sessions().sign_in_identity(ip, identity.clone(), &provider.newcomers).await;
    let begun = match signed_in {
        Ok(begun) => begun,
        Err(error) => return pages::forbidden(&provider.label, Some(&identity), &error),
    };
    let Ok(then) = HeaderValue::from_str(&then) else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    let mut response = StatusCode::SEE_OTHER.into_response();
    response.headers_mut().insert(header::LOCATION, then);
    let begun = (begun.token.expose(), &begun.session);
    set_session_cookies(http_state, headers, response.headers_mut(), address, begun);
    response
}

/// Distinguishes attacks, provider failures and cancelled sign-ins.
fn classify_error(error: &OAuthError) -> SignInPenalty {
    match error {
        OAuthError::WrongResponder { .. }
        | OAuthError::IdToken { .. }
        | OAuthError::TokenRefused { .. }
        | OAuthError::NoCode => SignInPenalty::Counted,
        _ => SignInPenalty::NotCounted,
    }
}
