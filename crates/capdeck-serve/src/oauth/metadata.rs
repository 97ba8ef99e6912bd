//! Well-known documents for OAuth clients and for agents.

use std::sync::Arc;

use axum::{
    Json, Router,
    extract::State,
    response::{IntoResponse, Response},
    routing::get,
};
use capdeck_auth::inbound::Scopes;
use http::{HeaderMap, StatusCode, Uri, header};
use serde_json::{Value, json};

use super::OauthResource;
use crate::{http_state::HttpState, transport::http::ClientAddress};

const PROTECTED_RESOURCE: &str = "/.well-known/oauth-protected-resource";

pub(super) fn routes() -> Router<Arc<HttpState>> {
    let mut router = Router::new();
    for path in ["", "/mcp", "/mcp/{capsule}", "/views/{name}/mcp", "/servers/{id}/mcp"] {
        router = router.route(&format!("{PROTECTED_RESOURCE}{path}"), get(protected_resource));
    }
    router
        .route("/.well-known/oauth-authorization-server", get(authorization_server))
        .route("/.well-known/openid-configuration", get(authorization_server))
        .route("/.well-known/capsol-agent.json", get(agent_document))
}

/// RFC 9728. Every name has a document, so that it does not reveal what exists.
async fn protected_resource(
    State(http_state): State<Arc<HttpState>>,
    address: Option<axum::Extension<ClientAddress>>,
    uri: Uri,
    headers: HeaderMap,
) -> Response {
    let path = uri.path().strip_prefix(PROTECTED_RESOURCE).unwrap_or_default();
    let path = if path.is_empty() { "/" } else { path };
    let Some(resource) = OauthResource::at(path).filter(|resource| resource.path() == path) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    if http_state.registry().is_none() {
        return no_registry();
    }
    let issuer = http_state.issuer(&headers, address.map(|address| address.0));
    document(&json!({
        "resource": resource.address(&issuer),
        "authorization_servers": [issuer],
        "scopes_supported": scope_names(&resource.scopes()),
        "bearer_methods_supported": ["header"],
        "resource_name": "Capdeck",
    }))
}

/// RFC 8414, also at the path of OpenID Connect discovery.
async fn authorization_server(
    State(http_state): State<Arc<HttpState>>,
    address: Option<axum::Extension<ClientAddress>>,
    headers: HeaderMap,
) -> Response {
    if http_state.registry().is_none() {
        return no_registry();
    }
    let issuer = http_state.issuer(&headers, address.map(|address| address.0));
    document(&json!({
        "issuer": issuer,
        "authorization_endpoint": format!("{issuer}/oauth/authorize"),
        "token_endpoint": format!("{issuer}/oauth/token"),
        "registration_endpoint": format!("{issuer}/oauth/register"),
        "revocation_endpoint": format!("{issuer}/oauth/revoke"),
        "scopes_supported": scope_names(&OauthResource::Deck.scopes()),
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": ["authorization_code", "refresh_token"],
        "token_endpoint_auth_methods_supported": AUTH_METHODS,
        "revocation_endpoint_auth_methods_supported": AUTH_METHODS,
        "code_challenge_methods_supported": ["S256"],
        "authorization_response_iss_parameter_supported": true,
        "client_id_metadata_document_supported": true,
    }))
}

const AUTH_METHODS: [&str; 3] = ["none", "client_secret_post", "client_secret_basic"];

async fn agent_document(
    State(http_state): State<Arc<HttpState>>,
    address: Option<axum::Extension<ClientAddress>>,
    headers: HeaderMap,
) -> Response {
    let Some(registry) = http_state.registry() else { return no_registry() };
    let issuer = http_state.issuer(&headers, address.map(|address| address.0));
    let redirects = registry.redirect_policy();
    let about = format!("{issuer}{PROTECTED_RESOURCE}");
    document(&json!({
        "name": "capdeck",
        "version": http_state.host.settings().version,
        "mcp": {
            "url": format!("{issuer}/mcp/:capsuleId"),
            "universal_url": format!("{issuer}/mcp"),
            "auth": {
                "type": "oauth_required",
                "oauth": {
                    "protected_resource": format!("{about}/mcp"),
                    "protected_resource_template": format!("{about}/mcp/:capsuleId"),
                    "authorization_server": format!("{issuer}/.well-known/oauth-authorization-server"),
                    "registration_endpoint": format!("{issuer}/oauth/register"),
                    "dcr": true,
                    "cimd": true,
                    "redirect_policy": {
                        "hosts": redirects.hosts,
                        "native_schemes": redirects.native_schemes,
                    },
                    "pkce": true,
                },
                "token_in_url": false,
            },
        },
        "enrollment": {
            "endpoint": format!("{issuer}/v1/agent-enrollments"),
            "method": "POST",
            "approval": registry.approval().policy().mode,
            "idempotency_key": "client_id, capsule and role together, while the request is pending; the token is shown once",
            "flow": [
                "1. POST {client_id, capsule, role} to the endpoint and store the enrollment_token",
                "2. show the user_code to the operator of this host",
                "3. GET poll_url with Authorization: Bearer <enrollment_token>, no more often than every `interval` seconds",
                "4. once the status is approved, use the same token at mcp_url",
            ],
        },
        "grants": {
            "list": format!("{issuer}/v1/grants"),
            "decide": format!("{issuer}/v1/grants/:id/approve"),
            "dashboard": format!("{issuer}/"),
        },
        "cli": { "serve": "capdeck up", "connect": "capdeck connect" },
        "docs": { "api": format!("{issuer}/v1/openapi.json") },
        "scopes": scope_names(&Scopes::all()),
    }))
}

fn scope_names(scopes: &Scopes) -> Vec<&'static str> {
    scopes.iter().map(capdeck_auth::inbound::OAuthScope::as_str).collect()
}

fn document(value: &Value) -> Response {
    ([(header::CACHE_CONTROL, "no-cache")], Json(value.clone())).into_response()
}

pub(crate) fn no_registry() -> Response {
    let advice = "this process has no registry, so sign-in is not available; see its log\n";
    (StatusCode::SERVICE_UNAVAILABLE, advice).into_response()
}
