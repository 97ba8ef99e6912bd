//! `GET <mcp-url>/server-card`: describes an endpoint without a connection.
//!
//! Experimental: follows a proposal (SEP-2127) that may still change. A card lists no tools.

use std::sync::Arc;

use axum::{
    Extension, Router,
    extract::{MatchedPath, Path, State},
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

const SERVER_PATH: &str = "/servers/{id}/mcp/server-card";
const VIEW_PATH: &str = "/views/{name}/mcp/server-card";

pub(super) fn routes() -> Router<Arc<HttpState>> {
    Router::new()
        .route("/mcp/server-card", get(server_card))
        .route(SERVER_PATH, get(server_card))
        .route(VIEW_PATH, get(server_card))
}

async fn server_card(
    State(http_state): State<Arc<HttpState>>,
    route: MatchedPath,
    name: Option<Path<String>>,
    Extension(principal): Extension<SessionOwner>,
    access: Option<Extension<SharedAccess>>,
    address: Option<Extension<ClientAddress>>,
    headers: HeaderMap,
) -> Response {
    let host = &http_state.host;
    let access = access.map(|source| source.access());
    let issuer = http_state.issuer(&headers, address.as_deref().copied());
    let name = name.map(|Path(name)| name).unwrap_or_default();
    let not_found = |kind: &str| {
        (StatusCode::NOT_FOUND, format!("there is no {kind} `{name}`\n")).into_response()
    };
    let card = |name: &str, title: &str, description: &str, path: &str| {
        let url = format!("{issuer}{path}");
        respond(&card(&host.settings().version, name, title, description, &url))
    };
    match route.as_str() {
        SERVER_PATH => {
            let catalog = host.known_to(&principal.0, access.as_deref());
            let Some(capability) = catalog.get(&name).filter(|one| one.may_be_served_alone())
            else {
                return not_found("capability");
            };
            let definition = &capability.definition;
            let path = format!("/servers/{name}/mcp");
            card(&name, &definition.name, &definition.description, &path)
        }
        VIEW_PATH => {
            let catalog = host.catalog();
            let exists = host.has_view(&name, access.as_deref());
            let Some(view) = catalog.parts().views.get(&name).filter(|_| exists) else {
                return not_found("view");
            };
            let description = view.description.as_deref();
            let description = description.unwrap_or("A part of one person's deck");
            card(&name, &name, description, &format!("/views/{name}/mcp"))
        }
        _ => {
            let description =
                "Capabilities of one person's deck, found with search and called by name";
            card("deck", "Capdeck", description, "/mcp")
        }
    }
}

fn card(version: &str, name: &str, title: &str, description: &str, url: &str) -> Value {
    let versions: Vec<&str> =
        ProtocolRevision::SUPPORTED.iter().map(|revision| revision.as_str()).collect();
    json!({
        "$schema": SCHEMA,
        "name": format!("local.capdeck/{name}"),
        "version": version,
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
