//! Operators sign in with OpenID Connect: `/api/oidc/begin` redirects to the provider, `/api/oidc/callback` handles the
//! response. `capdeck_auth::inbound` maps accounts to operators.
//!
//! Errors are HTML pages without text from the provider or the request.

use std::sync::Arc;

use axum::{
    Extension, Router,
    extract::{RawQuery, State},
    response::{IntoResponse, Response},
    routing::get,
};
use capdeck_auth::{
    GuardedClients, OAuthError, ProviderIdentity, ProviderSettings, ProviderSignIn,
    ProviderSignInRequest, ProviderSignInResult, RedirectParams, Secret,
    inbound::{Registry, RegistryError, SignInPenalty, SignUpDomains},
};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use subtle::ConstantTimeEq as _;
use url::Url;

use crate::{
    cookies::SIGN_IN_STATE,
    http_state::HttpState,
    oauth::{OauthForm, RepeatedParameter, escape, page, see_other},
    operators::set_session_cookies,
    transport::http::ClientAddress,
};

const BEGIN_PATH: &str = "/api/oidc/begin";
const CALLBACK_PATH: &str = "/api/oidc/callback";

/// The OpenID provider of operators, and who becomes an operator.
#[derive(Debug, Clone)]
pub struct OidcSettings {
    pub provider: ProviderSettings,
    /// The label of the sign-in button.
    pub label: String,
    /// Accounts that become members at the first sign-in. Other accounts must be operators already.
    pub newcomers: SignUpDomains,
}

pub(crate) struct OidcProvider {
    sign_in: ProviderSignIn,
    label: String,
    newcomers: SignUpDomains,
}

impl OidcProvider {
    pub(crate) fn new(settings: OidcSettings, clients: GuardedClients) -> Self {
        let OidcSettings { provider, label, newcomers } = settings;
        Self { sign_in: ProviderSignIn::new(provider, clients), label, newcomers }
    }

    pub(crate) fn label(&self) -> &str {
        &self.label
    }

    pub(crate) fn issuer(&self) -> &str {
        &self.sign_in.settings.issuer
    }
}

/// The address that starts a sign-in and continues at `then`, a path of this host.
pub(crate) fn begin_address(then: &str) -> String {
    let query =
        url::form_urlencoded::Serializer::new(String::new()).append_pair("then", then).finish();
    format!("{BEGIN_PATH}?{query}")
}

/// Routes without a session.
pub(crate) fn routes() -> Router<Arc<HttpState>> {
    Router::new().route(BEGIN_PATH, get(begin)).route(CALLBACK_PATH, get(callback))
}

async fn begin(
    State(http_state): State<Arc<HttpState>>,
    address: Option<Extension<ClientAddress>>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    let address = address.map(|address| address.0);
    let Some(provider) = &http_state.provider else {
        let why = "This host has no OpenID provider.";
        return unavailable(StatusCode::NOT_FOUND, why);
    };
    let Some(registry) = http_state.registry() else {
        let why = "This process has no registry, so sign-in is not available.";
        return unavailable(StatusCode::SERVICE_UNAVAILABLE, why);
    };
    // Reject sign-ins started by another site (login CSRF).
    if is_from_elsewhere(&headers) {
        return cross_site();
    }
    if let Err(error) =
        registry.sessions().check_sign_in(address.map(|address| address.rate_limit_key())).await
    {
        return sign_in_forbidden(&provider.label, None, &error);
    }
    let form = OauthForm::parse(query.unwrap_or_default().as_bytes());
    let then = form.last_value("then").and_then(own_path).unwrap_or_else(|| "/".to_owned());
    let redirect_uri = format!("{}{CALLBACK_PATH}", http_state.issuer(&headers, address));
    let page = match provider.sign_in.begin(ProviderSignInRequest { redirect_uri, then }).await {
        Ok(page) => page,
        Err(error) => {
            tracing::warn!(%error, "cannot start a sign-in at the provider");
            return sign_in_failed(&provider.label, &error);
        }
    };
    let is_https = http_state.is_https(address);
    let cookie = SIGN_IN_STATE.set(&page.state, provider.sign_in.settings.timeout, is_https);
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

async fn callback(
    State(http_state): State<Arc<HttpState>>,
    address: Option<Extension<ClientAddress>>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    let address = address.map(|address| address.0);
    let (Some(provider), Some(registry)) = (&http_state.provider, http_state.registry()) else {
        let why = "This host has no OpenID provider.";
        return unavailable(StatusCode::NOT_FOUND, why);
    };
    let is_https = http_state.is_https(address);
    let form = OauthForm::parse(query.unwrap_or_default().as_bytes());
    let started_state = SIGN_IN_STATE.values(&headers, is_https).next();
    let mut response = match answer_of(&form, started_state) {
        Some(answer) => finish(&http_state, provider, registry, &headers, address, answer).await,
        None => {
            let ip = address.map(|address| address.rate_limit_key());
            registry.sessions().record_failure(ip, SignInPenalty::NotCounted).await;
            invalid_state()
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
        return sign_in_forbidden(&provider.label, None, &error);
    }
    let ProviderSignInResult { identity, then } = match provider.sign_in.finish(answer).await {
        Ok(back) => back,
        Err(error) => {
            tracing::warn!(%error, "a sign-in at the provider failed");
            registry.sessions().record_failure(ip, classify_error(&error)).await;
            return sign_in_failed(&provider.label, &error);
        }
    };
    let signed_in =
        registry.sessions().sign_in_identity(ip, identity.clone(), &provider.newcomers).await;
    let begun = match signed_in {
        Ok(begun) => begun,
        Err(error) => return sign_in_forbidden(&provider.label, Some(&identity), &error),
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
fn own_path(wanted: &str) -> Option<String> {
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

/// An error page with a link to the sign-in page.
fn error_page(status: StatusCode, title: &str, paragraphs: &[&str]) -> Response {
    let mut body = format!("<h1>{}</h1>\n", escape(title));
    for text in paragraphs {
        body.push_str(&format!("<p>{}</p>\n", escape(text)));
    }
    body.push_str("<p><a href=\"/\">Back to the sign-in page</a></p>");
    page(status, title, &body, None)
}

fn unavailable(status: StatusCode, why: &str) -> Response {
    error_page(status, "Sign-in is not available", &[why])
}

fn cross_site() -> Response {
    let why = "Another site sent you here. To sign in, start on the sign-in page.";
    error_page(StatusCode::FORBIDDEN, "Start on the sign-in page", &[why])
}

fn invalid_state() -> Response {
    let why =
        "This sign-in was not started in this browser, has ended, or took longer than ten minutes.";
    error_page(StatusCode::BAD_REQUEST, "Start again", &[why])
}

fn sign_in_failed(label: &str, error: &OAuthError) -> Response {
    match error {
        OAuthError::TimedOut { .. } => invalid_state(),
        OAuthError::AuthorizationRefused { .. } => {
            let why = format!("{label} did not sign you in, or you cancelled the sign-in.");
            error_page(StatusCode::FORBIDDEN, "Sign-in failed", &[&why])
        }
        OAuthError::WrongResponder { .. }
        | OAuthError::IdToken { .. }
        | OAuthError::TokenRefused { .. }
        | OAuthError::NoCode => {
            let why = format!("The response of {label} is not valid.");
            let next =
                "Start again. If the error persists, ask an admin of this host to read its log.";
            error_page(StatusCode::BAD_REQUEST, "Sign-in failed", &[&why, next])
        }
        _ => {
            let why = format!("{label} is not available.");
            let next = "Try again later, or sign in with a key. See the log of the host.";
            error_page(StatusCode::BAD_GATEWAY, "Provider not available", &[&why, next])
        }
    }
}

fn sign_in_forbidden(
    label: &str,
    identity: Option<&ProviderIdentity>,
    error: &RegistryError,
) -> Response {
    match (error, identity) {
        (RegistryError::TooSoon { seconds }, _) => {
            let why = format!("Too many failed sign-ins. Try again in {seconds} seconds.");
            let mut response =
                error_page(StatusCode::TOO_MANY_REQUESTS, "Too many attempts", &[&why]);
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
            let next = "Ask an admin of this host to add this account.";
            error_page(StatusCode::FORBIDDEN, "Unknown account", &[&why, next])
        }
        (error, _) => {
            tracing::error!(%error, "an operator cannot sign in");
            let why = "Sign-in is not available. See the log of the host.";
            error_page(StatusCode::SERVICE_UNAVAILABLE, "Sign-in failed", &[why])
        }
    }
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
