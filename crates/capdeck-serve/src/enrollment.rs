//! Agents without a browser sign up: `/v1/agent-enrollments`. Making one and asking about it needs no other token than the
//! one that the sign-up itself gave.

use std::sync::Arc;

use axum::{
    Extension, Json, Router,
    extract::{Path, Request, State},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use capdeck_auth::inbound::{
    Caller, EnrollmentState, EnrollmentStatus, GrantTarget, NewEnrollment, Registry, RegistryError,
    Role, Scope, Scopes,
};
use capdeck_host::Reach;
use http::{HeaderMap, StatusCode, header, request::Parts};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::{
    CapsulePlace,
    reception::Reception,
    transport::http::{ClientAddress, bearer, problem, read_json},
};

/// Routes that need no token of an operator or a client.
pub(crate) fn routes() -> Router<Arc<Reception>> {
    Router::new()
        .route("/v1/agent-enrollments", post(create))
        .route("/v1/agent-enrollments/{id}", get(poll).delete(withdraw))
}

/// What an agent asks for: one role in one capsule, or a part of the deck.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    client_id: String,
    #[serde(default)]
    client_name: Option<String>,
    /// The id or the name of a capsule.
    #[serde(default)]
    capsule: Option<String>,
    #[serde(default)]
    role: Option<Role>,
    #[serde(default)]
    uri_prefixes: Vec<String>,
    #[serde(default)]
    denied_prefixes: Vec<String>,
    /// A part of the deck instead of a capsule.
    #[serde(default)]
    deck: Option<WantedDeck>,
    #[serde(default)]
    scopes: Option<Scopes>,
    #[serde(default)]
    reason: Option<String>,
    #[serde(default)]
    contact: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WantedDeck {
    /// Patterns of capability ids; all of them when left out.
    #[serde(default)]
    capabilities: Option<Vec<String>>,
    #[serde(default)]
    tools: Vec<String>,
}

async fn create(State(reception): State<Arc<Reception>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let wanted: Wanted = match read_json(&parts.headers, body).await {
        Ok(wanted) => wanted,
        Err(refusal) => return refusal,
    };
    let Some(registry) = reception.registry() else { return no_registry() };
    let new = match as_enrollment(&reception, wanted).await {
        Ok(new) => new,
        Err(refusal) => return refusal,
    };
    let issuer = issuer(&reception, &parts);
    match registry.enroll(&Caller::unknown(ip(&parts)), new).await {
        Ok(enrolled) => {
            let is_new = enrolled.token.is_some();
            let mut answer = described(&enrolled.state, &issuer);
            answer.insert("user_code".into(), enrolled.state.enrollment.user_code.clone().into());
            if let Some(token) = enrolled.token {
                answer.insert("enrollment_token".into(), token.expose().into());
            }
            let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
            let headers = [(header::CACHE_CONTROL, "no-store")];
            (status, headers, Json(Value::Object(answer))).into_response()
        }
        Err(error) => refused(&error),
    }
}

async fn as_enrollment(reception: &Reception, wanted: Wanted) -> Result<NewEnrollment, Response> {
    let invalid = |detail: &str| problem(StatusCode::BAD_REQUEST, "invalid_input", detail);
    let (target, default) = match (wanted.capsule, wanted.deck) {
        (Some(name), None) => {
            let role = wanted.role.unwrap_or(Role::Reader);
            // What does not exist is signed up for just the same, so that nobody learns here what does.
            let place = CapsulePlace::reached(&reception.host, &name, Reach::All).await;
            let capsule = place.ok().flatten().map_or(name, |place| place.id);
            let (uri_prefixes, denied_prefixes) = (wanted.uri_prefixes, wanted.denied_prefixes);
            let target = GrantTarget::Capsule { capsule, role, uri_prefixes, denied_prefixes };
            (target, Scopes::of_role(role))
        }
        (None, Some(WantedDeck { capabilities, tools })) => {
            if wanted.role.is_some() {
                return Err(invalid("`role` is for a capsule; the deck has none"));
            }
            let capabilities = capabilities.unwrap_or_else(|| vec!["*".to_owned()]);
            let (denied_tools, modes) = (Vec::new(), Vec::new());
            let target = GrantTarget::Deck { capabilities, tools, denied_tools, modes };
            (target, Scopes::from_iter([Scope::DeckCall]))
        }
        (None, None) | (Some(_), Some(_)) => {
            return Err(invalid("give either `capsule` or `deck`"));
        }
    };
    Ok(NewEnrollment {
        client_id: wanted.client_id,
        client_name: wanted.client_name,
        target,
        scopes: wanted.scopes.unwrap_or(default),
        reason: wanted.reason,
        contact: wanted.contact,
    })
}

async fn poll(
    State(reception): State<Arc<Reception>>,
    address: Option<Extension<ClientAddress>>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Response {
    let Some(registry) = reception.registry() else { return no_registry() };
    let address = address.map(|address| address.0);
    let caller = Caller::unknown(address.map(|address| address.ip));
    // Without a token the answer is the same as with a wrong one.
    let token = bearer(&headers).unwrap_or_default();
    match registry.poll_enrollment(&caller, &id, token).await {
        Ok(state) => {
            let issuer = reception.issuer(&headers, address);
            let answer = Value::Object(described(&state, &issuer));
            ([(header::CACHE_CONTROL, "no-store")], Json(answer)).into_response()
        }
        Err(error) => refused(&error),
    }
}

async fn withdraw(
    State(reception): State<Arc<Reception>>,
    address: Option<Extension<ClientAddress>>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Response {
    let Some(registry): Option<&Registry> = reception.registry() else { return no_registry() };
    let caller = Caller::unknown(address.map(|address| address.0.ip));
    let token = bearer(&headers).unwrap_or_default();
    match registry.withdraw_enrollment(&caller, &id, token).await {
        Ok(()) => StatusCode::NO_CONTENT.into_response(),
        Err(error) => refused(&error),
    }
}

/// A sign-up for whoever made it. What it opens is told once it opens something.
fn described(state: &EnrollmentState, issuer: &str) -> Map<String, Value> {
    let id = &state.enrollment.id;
    let mut answer = Map::new();
    let mut add = |key: &str, value: Value| {
        answer.insert(key.to_owned(), value);
    };
    add("id", id.as_str().into());
    add("status", state.status.as_str().into());
    add("poll_url", format!("{issuer}/v1/agent-enrollments/{id}").into());
    add("approval_url", format!("{issuer}/").into());
    add("interval", state.interval.into());
    add("expires_at", json!(state.expires_at.map(|at| at.to_string())));
    if matches!(state.status, EnrollmentStatus::Approved | EnrollmentStatus::Active) {
        add("scopes", json!(state.scopes));
        match &state.target {
            GrantTarget::Capsule { capsule, role, .. } => {
                add("capsule_id", capsule.as_str().into());
                add("role", role.as_str().into());
                add("mcp_url", format!("{issuer}/mcp/{capsule}").into());
            }
            GrantTarget::Deck { .. } => add("mcp_url", format!("{issuer}/mcp").into()),
        }
    }
    answer
}

fn refused(error: &RegistryError) -> Response {
    match error {
        // Without a detail: neither the id nor whether the token was wrong.
        RegistryError::NotFound { .. } => {
            problem(StatusCode::NOT_FOUND, "not_found", "there is no such enrollment")
        }
        RegistryError::TooSoon { seconds } => {
            let detail = format!("that was too soon; ask again in {seconds} s");
            let mut response = problem(StatusCode::TOO_MANY_REQUESTS, "rate_limited", &detail);
            response.headers_mut().insert(header::RETRY_AFTER, (*seconds).into());
            response
        }
        RegistryError::Invalid { .. } | RegistryError::Widens { .. } => {
            problem(StatusCode::BAD_REQUEST, "invalid_input", &error.to_string())
        }
        RegistryError::Full { .. } => {
            problem(StatusCode::SERVICE_UNAVAILABLE, "full", &error.to_string())
        }
        error => {
            tracing::error!(%error, "an enrollment failed");
            let detail = "the registry cannot be used now; the host's log says why";
            problem(StatusCode::SERVICE_UNAVAILABLE, "unavailable", detail)
        }
    }
}

fn no_registry() -> Response {
    let detail = "this process has no registry, so nobody can sign up here";
    problem(StatusCode::SERVICE_UNAVAILABLE, "no_registry", detail)
}

fn issuer(reception: &Reception, parts: &Parts) -> String {
    reception.issuer(&parts.headers, parts.extensions.get().copied())
}

fn ip(parts: &Parts) -> Option<std::net::IpAddr> {
    parts.extensions.get::<ClientAddress>().map(|address| address.ip)
}
