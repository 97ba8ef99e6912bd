//! Dynamic client registration (RFC 7591).

use std::sync::Arc;

use axum::{
    Json,
    extract::{Request, State},
    response::{IntoResponse, Response},
};
use capdeck_auth::inbound::{ClientMetadata, EventCaller, RegistryError};
use http::{StatusCode, header};
use serde_json::json;

use super::{metadata::no_registry, token::oauth_error};
use crate::{
    http_state::HttpState,
    transport::http::{ClientAddress, read_json},
};

/// `POST /oauth/register`.
pub(super) async fn register(
    State(http_state): State<Arc<HttpState>>,
    request: Request,
) -> Response {
    let (parts, body) = request.into_parts();
    let metadata: ClientMetadata = match read_json(&parts.headers, body).await {
        Ok(metadata) => metadata,
        Err(refusal) if refusal.status() == StatusCode::BAD_REQUEST => {
            let advice = "the body is not client metadata in JSON";
            return oauth_error(StatusCode::BAD_REQUEST, "invalid_client_metadata", advice);
        }
        Err(refusal) => return refusal,
    };
    let Some(registry) = http_state.registry() else { return no_registry() };
    let address = parts.extensions.get::<ClientAddress>().map(|address| address.ip);
    let registered =
        match registry.clients().register(&EventCaller::unknown(address), metadata).await {
            Ok(registered) => registered,
            Err(error) => return refused(&error),
        };
    let client = registered.client;
    let mut answer = json!({
        "client_id": client.id,
        "client_id_issued_at": client.created_at.as_second(),
        "client_name": client.name,
        "redirect_uris": client.redirect_uris,
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": client.auth_method.as_str(),
    });
    if let Some(page) = client.client_uri {
        answer["client_uri"] = page.into();
    }
    if let Some(secret) = registered.secret {
        answer["client_secret"] = secret.expose().into();
        answer["client_secret_expires_at"] = 0.into();
    }
    let headers = [(header::CACHE_CONTROL, "no-store")];
    (StatusCode::CREATED, headers, Json(answer)).into_response()
}

fn refused(error: &RegistryError) -> Response {
    match error {
        RegistryError::Invalid { what: "redirect_uris", .. } => {
            oauth_error(StatusCode::BAD_REQUEST, "invalid_redirect_uri", &error.to_string())
        }
        RegistryError::Invalid { .. } => {
            oauth_error(StatusCode::BAD_REQUEST, "invalid_client_metadata", &error.to_string())
        }
        RegistryError::Full { .. } => oauth_error(
            StatusCode::SERVICE_UNAVAILABLE,
            "temporarily_unavailable",
            &error.to_string(),
        ),
        error => {
            tracing::error!(%error, "cannot register a client");
            let advice = "cannot write the registry; see the log of the host";
            oauth_error(StatusCode::SERVICE_UNAVAILABLE, "temporarily_unavailable", advice)
        }
    }
}
