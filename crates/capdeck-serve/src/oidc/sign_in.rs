//! `GET /api/oidc/begin` redirects the browser to the provider, `GET /api/oidc/callback` handles its response.

use std::sync::Arc;

use axum::{
    Extension,
    extract::{RawQuery, State},
    response::{IntoResponse, Response},
};
use capdeck_auth::{
    OAuthError, ProviderSignInRequest, ProviderSignInResult, RedirectParams, Secret,
    inbound::{Registry, SignInPenalty},
};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use subtle::ConstantTimeEq as _;
use url::Url;

use super::{CALLBACK_PATH, OidcProvider, pages};
use crate::{
    cookies::SIGN_IN_STATE,
    http_state::HttpState,
    oauth::{OauthForm, RepeatedParameter, see_other},
    operators::set_session_cookies,
    transport::http::ClientAddress,
};

pub(super) async fn begin(
    State(http_state): State<Arc<HttpState>>,
    address: Option<Extension<ClientAddress>>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    let address = address.map(|address| address.0);
    let Some(provider) = &http_state.provider else {
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
    let cookie = SIGN_IN_STATE.set(&page.state, provider.sign_in.timeout(), is_https);
    let (Some(cookie), Some(mut response)) = (cookie, see_other(page.url.as_str())) else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    let no_referrer = HeaderValue::from_static("no-referrer");
    response.headers_mut().insert(header::SET_COOKIE, cookie);
    response.headers_mut().insert(header::REFERRER_POLICY, no_referrer);
    response
}

/// True when the browser reports another site as the source. Older browsers and insecure connections report nothing.
fn is_from_elsewhere(headers: &HeaderMap) -> bool {
    headers.get("sec-fetch-site").is_some_and(|site| site != "same-origin" && site != "none")
}

pub(super) async fn callback(
    State(http_state): State<Arc<HttpState>>,
    address: Option<Extension<ClientAddress>>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    let address = address.map(|address| address.0);
    let (Some(provider), Some(registry)) = (&http_state.provider, http_state.registry()) else {
        let why = "This host has no OpenID provider.";
        return pages::unavailable(StatusCode::NOT_FOUND, why);
    };
    let is_https = http_state.is_https(address);
    let form = OauthForm::parse(query.unwrap_or_default().as_bytes());
    let started_state = SIGN_IN_STATE.values(&headers, is_https).next();
    let mut response = match answer_of(&form, started_state) {
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
    if let Some(cookie) = SIGN_IN_STATE.clear(is_https) {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
    response
}

/// The response, if this browser started the sign-in.
fn answer_of(form: &OauthForm, started_state: Option<&str>) -> Option<RedirectParams> {
    let read = || -> Result<_, RepeatedParameter> {
        let text = |name| form.single(name).map(|value| value.map(str::to_owned));
        Ok(RedirectParams {
            state: text("state")?,
            code: form.single("code")?.map(Secret::new),
            issuer: text("iss")?,
            error: text("error")?,
        })
    };
    let answer = read().ok()?;
    let state = answer.state.as_deref().unwrap_or_default().as_bytes();
    let is_theirs = |own: &str| own.as_bytes().ct_eq(state).into();
    started_state.filter(|own| !own.is_empty()).is_some_and(is_theirs).then(|| answer.clone())
}

async fn finish(
    http_state: &HttpState,
    provider: &OidcProvider,
    registry: &Registry,
    headers: &HeaderMap,
    address: Option<ClientAddress>,
    answer: RedirectParams,
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
    let Some(mut response) = see_other(&then) else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
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

/// Long enough for a request to the consent page.
const MAX_PATH_BYTES: usize = 4096;

/// A path of this host; `None` for anything that a browser could read as another host.
pub(super) fn own_path(wanted: &str) -> Option<String> {
    // Browsers read a backslash as a slash and drop line breaks.
    let is_plain = wanted.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    if !is_plain || wanted.len() > MAX_PATH_BYTES || !wanted.starts_with('/') {
        return None;
    }
    let base = Url::parse("http://host.invalid").ok()?;
    let resolved = base.join(wanted).ok()?;
    // Normalize first, as a browser does: `/.//other.example` is another host, too.
    let path = resolved.as_str().strip_prefix(base.as_str().trim_end_matches('/'))?;
    (path.starts_with('/') && !path.starts_with("//")).then(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn security_04_only_paths_of_this_host_are_gone_to() {
        for good in
            ["/", "/#/capsules/team", "/oauth/authorize?client_id=a&state=%2F%2Fx", "/a?b#c"]
        {
            assert_eq!(own_path(good).as_deref(), Some(good));
        }
        for bad in [
            "",
            "https://evil.example/",
            "//evil.example/",
            "///evil.example/",
            "/\\evil.example",
            "\\\\evil.example",
            "/\t/evil.example",
            "/\n/evil.example",
            " //evil.example",
            "javascript:alert(1)",
            "evil.example",
            "#/x",
            "/ü",
        ] {
            assert_eq!(own_path(bad), None, "{bad:?}");
        }
        assert_eq!(own_path(&format!("/{}", "x".repeat(MAX_PATH_BYTES))), None);
        assert_eq!(own_path("/.//evil.example"), None);
        assert_eq!(own_path("/a/..//evil.example"), None);
    }
}
