//! `GET <mcp-url>/server-card`: describes an endpoint without a connection.
//!
//! Experimental: follows a proposal (SEP-2127) that may still change. A card lists no tools.

use std::sync::Arc;

use axum::{
    Extension, Router,
    extract::{Path, State},
    response::{IntoResponse, Response},
    routing::get,
};
use capdeck_host::SharedAccess;
use capdeck_mcp::{ProtocolRevision, server::SessionOwner};
use http::{HeaderMap, StatusCode, header};
use serde_json::{Value, json};

use super::ClientAddress;
use crate::http_state::HttpState;

const MEDIA_TYPE: &str = "application/mcp-server-card+json";
const SCHEMA: &str = "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json";

pub(super) fn routes() -> Router<Arc<HttpState>> {
    Router::new()
        .route("/mcp/server-card", get(deck))
        .route("/servers/{id}/mcp/server-card", get(one_server))
        .route("/views/{name}/mcp/server-card", get(one_view))
}

async fn deck(
    State(http_state): State<Arc<HttpState>>,
    address: Option<Extension<ClientAddress>>,
    headers: HeaderMap,
) -> Response {
    let description = "Capabilities of one person's deck, found with search and called by name";
    let issuer = http_state.issuer(&headers, address.as_deref().copied());
    respond(&card(&http_state, "deck", "Capdeck", description, &format!("{issuer}/mcp")))
}

async fn one_server(
    State(http_state): State<Arc<HttpState>>,
    Path(id): Path<String>,
    Extension(principal): Extension<SessionOwner>,
    access: Option<Extension<SharedAccess>>,
    address: Option<Extension<ClientAddress>>,
    headers: HeaderMap,
) -> Response {
    let catalog =
        http_state.host.known_to(&principal.0, access.map(|source| source.access()).as_deref());
    let Some(capability) = catalog.get(&id).filter(|one| one.may_be_served_alone()) else {
        return (StatusCode::NOT_FOUND, format!("there is no capability `{id}`\n")).into_response();
    };
    let definition = &capability.definition;
    let issuer = http_state.issuer(&headers, address.as_deref().copied());
    let url = format!("{issuer}/servers/{id}/mcp");
    respond(&card(&http_state, &id, &definition.name, &definition.description, &url))
}

async fn one_view(
    State(http_state): State<Arc<HttpState>>,
    Path(name): Path<String>,
    access: Option<Extension<SharedAccess>>,
    address: Option<Extension<ClientAddress>>,
    headers: HeaderMap,
) -> Response {
    let catalog = http_state.host.catalog();
    let exists = http_state.host.has_view(&name, access.map(|source| source.access()).as_deref());
    let Some(view) = catalog.parts().views.get(&name).filter(|_| exists) else {
        return (StatusCode::NOT_FOUND, format!("there is no view `{name}`\n")).into_response();
    };
    let description = view.description.as_deref().unwrap_or("A part of one person's deck");
    let issuer = http_state.issuer(&headers, address.as_deref().copied());
    respond(&card(&http_state, &name, &name, description, &format!("{issuer}/views/{name}/mcp")))
}

fn card(http_state: &HttpState, name: &str, title: &str, description: &str, url: &str) -> Value {
    let versions: Vec<&str> =
        ProtocolRevision::SUPPORTED.iter().map(|revision| revision.as_str()).collect();
    json!({
        "$schema": SCHEMA,
        "name": format!("local.capdeck/{name}"),
        "version": http_state.host.settings().version,
        "title": title,
        "description": description,
        "remotes": [
            { "type": "streamable-http", "url": url, "supportedProtocolVersions": versions },
        ],
    })
}

fn respond(card: &Value) -> Response {
    let headers = [(header::CONTENT_TYPE, MEDIA_TYPE), (header::CACHE_CONTROL, "max-age=60")];
    (headers, card.to_string()).into_response()
}
