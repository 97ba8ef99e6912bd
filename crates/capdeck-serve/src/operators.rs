//! Sessions of operators: `/api/login`, `/api/logout`, `/api/me`, and the sign-in methods at `/api/sign-in`.

use std::{sync::Arc, time::Duration};

use axum::{
    Extension, Json, Router,
    extract::{Request, State},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use capdeck_auth::inbound::{
    AuthenticatedOperator, EventCaller, NewSession, OperatorSession, RegistryError,
};
use capdeck_host::ServeAuthMode;
use http::{HeaderMap, StatusCode, header};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    cookies::{self, SESSION},
    http_state::HttpState,
    request_actor::{RefusalLocation, RequestActor},
    transport::http::{ClientAddress, problem, read_json},
};

/// Routes without a session.
pub(crate) fn open_routes() -> Router<Arc<HttpState>> {
    Router::new().route("/api/login", post(login))
}

pub(crate) fn documents() -> Router<Arc<HttpState>> {
    Router::new().route("/api/sign-in", get(sign_in_methods))
}

/// Routes with a session.
pub(crate) fn routes() -> Router<Arc<HttpState>> {
    Router::new().route("/api/me", get(me)).route("/api/logout", post(logout))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LoginBody {
    key: String,
}

/// A key always works; a provider account only where one is configured.
async fn sign_in_methods(State(http_state): State<Arc<HttpState>>) -> Response {
    let provider =
        http_state.provider.as_ref().map(|provider| json!({ "label": provider.label() }));
    ([(header::CACHE_CONTROL, "no-store")], Json(json!({ "provider": provider }))).into_response()
}

async fn login(
    State(http_state): State<Arc<HttpState>>,
    request: Request,
) -> Result<Response, Response> {
    let (parts, LoginBody { key }) = read_json(request).await?;
    let address = parts.extensions.get::<ClientAddress>().copied();
    let NewSession { token, session } = begin_session(&http_state, address, &key).await?;
    let about = operator_info(&http_state, &session.operator, Some(&session));
    let mut response = ([(header::CACHE_CONTROL, "no-store")], Json(about)).into_response();
    let begun = (token.expose(), &session);
    set_session_cookies(&http_state, &parts.headers, response.headers_mut(), address, begun);
    Ok(response)
}

pub(crate) async fn begin_session(
    http_state: &HttpState,
    address: Option<ClientAddress>,
    key: &str,
) -> Result<NewSession, Response> {
    let Some(registry) = http_state.registry() else {
        let detail = "this process has no registry, so sign-in is not available";
        return Err(problem(StatusCode::SERVICE_UNAVAILABLE, "no_registry", detail));
    };
    let ip = address.map(|address| address.rate_limit_key());
    registry
        .sessions()
        .sign_in(ip, key, http_state.key.as_ref())
        .await
        .map_err(|error| refused(&error))
}

pub(crate) fn set_session_cookies(
    http_state: &HttpState,
    sent: &HeaderMap,
    headers: &mut HeaderMap,
    address: Option<ClientAddress>,
    (token, session): (&str, &OperatorSession),
) {
    let left = session.expires_at.duration_since(jiff::Timestamp::now());
    let left = Duration::try_from(left).unwrap_or_default();
    let is_https = http_state.is_https(address);
    let cookies = [SESSION.set(token, left, is_https), cookies::mark_browser(sent, is_https)];
    for cookie in cookies.into_iter().flatten() {
        headers.append(header::SET_COOKIE, cookie);
    }
}

fn refused(error: &RegistryError) -> Response {
    match error {
        RegistryError::TooSoon { seconds } => {
            let detail = format!("too many invalid keys; try again in {seconds} s");
            let mut response = problem(StatusCode::TOO_MANY_REQUESTS, "rate_limited", &detail);
            response.headers_mut().insert(header::RETRY_AFTER, (*seconds).into());
            response
        }
        RegistryError::Forbidden { .. } => {
            problem(StatusCode::UNAUTHORIZED, "wrong_key", "invalid key")
        }
        error => {
            tracing::error!(%error, "an operator cannot sign in");
            let detail = "cannot write the registry; see the log of the host";
            problem(StatusCode::SERVICE_UNAVAILABLE, "unavailable", detail)
        }
    }
}

async fn me(
    State(http_state): State<Arc<HttpState>>,
    Extension(actor): Extension<RequestActor>,
    session: Option<Extension<Arc<OperatorSession>>>,
    request: Request,
) -> Response {
    let Some(operator) = http_state.operator(&actor) else {
        let place = RefusalLocation::of(request.method(), request.extensions());
        http_state.record_refusal(&actor, place, "forbidden").await;
        let detail = "only operators can use this; sign in instead of sending a client token";
        return problem(StatusCode::FORBIDDEN, "forbidden", detail);
    };
    let session = session.map(|session| session.0);
    let about = operator_info(&http_state, &operator, session.as_deref());
    ([(header::CACHE_CONTROL, "no-store")], Json(about)).into_response()
}

fn operator_info(
    http_state: &HttpState,
    operator: &AuthenticatedOperator,
    session: Option<&OperatorSession>,
) -> Value {
    let mode = match http_state.mode {
        ServeAuthMode::Local => "local",
        ServeAuthMode::Required => "required",
    };
    let registry = match &http_state.registry {
        Ok(_) => json!({ "available": true }),
        Err(missing) => json!({
            "available": false,
            "reason": missing.reason,
            "served_at": missing.served_at,
        }),
    };
    json!({
        "operator": { "id": operator.id, "name": operator.name },
        "role": operator.role.as_str(),
        "csrf": session.map(OperatorSession::csrf),
        "expires_at": session.map(|session| session.expires_at.to_string()),
        "mode": mode,
        "registry": registry,
        "version": http_state.host.settings().version,
    })
}

async fn logout(
    State(http_state): State<Arc<HttpState>>,
    address: Option<Extension<ClientAddress>>,
    session: Option<Extension<Arc<OperatorSession>>>,
) -> Response {
    if let (Some(Extension(session)), Some(registry)) = (session, http_state.registry()) {
        let ip = address.map(|address| address.0.ip);
        let caller = EventCaller::new(session.operator.id.clone(), ip);
        if let Err(error) = registry.sessions().sign_out(&caller, &session.id).await {
            return refused(&error);
        }
    }
    let mut response = StatusCode::NO_CONTENT.into_response();
    for cookie in [true, false].into_iter().filter_map(|is_https| SESSION.clear(is_https)) {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
    response
}
