//! What an endpoint is and where it is reached, without connecting: `GET <mcp-url>/server-card`.
//!
//! Experimental: follows a proposal (SEP-2127) that may still change. A card lists no tools.

use axum::{
    Extension,
    extract::{Path, State},
    response::{IntoResponse, Response},
};
use capdeck_host::{Admission, Host};
use capdeck_mcp::{Revision, server::Principal};
use http::{HeaderMap, StatusCode, header};
use serde_json::{Value, json};

const MEDIA_TYPE: &str = "application/mcp-server-card+json";
const SCHEMA: &str = "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json";

/// The card of the whole deck.
pub(super) async fn deck(State(host): State<Host>, headers: HeaderMap) -> Response {
    let description = "Capabilities of one person's deck, found with search and called by name";
    let url = address(&headers, "/mcp");
    respond(&card("deck", "Capdeck", description, &host.settings().version, &url))
}

/// The card of one capability that is served as it is.
pub(super) async fn one_server(
    State(host): State<Host>,
    Path(id): Path<String>,
    Extension(principal): Extension<Principal>,
    admission: Option<Extension<Admission>>,
    headers: HeaderMap,
) -> Response {
    let admission = admission.as_deref();
    let catalog = host.known_to(&principal.0, admission);
    let Some(capability) = catalog.get(&id).filter(|one| one.may_be_served_alone()) else {
        return (StatusCode::NOT_FOUND, format!("there is no capability `{id}`\n")).into_response();
    };
    let definition = &capability.definition;
    let url = address(&headers, &format!("/servers/{id}/mcp"));
    let version = &host.settings().version;
    respond(&card(&id, &definition.name, &definition.description, version, &url))
}

/// The card of one view.
pub(super) async fn one_view(
    State(host): State<Host>,
    Path(name): Path<String>,
    admission: Option<Extension<Admission>>,
    headers: HeaderMap,
) -> Response {
    let catalog = host.catalog();
    let exists = host.has_view(&name, admission.as_deref());
    let Some(view) = catalog.parts().views.get(&name).filter(|_| exists) else {
        return (StatusCode::NOT_FOUND, format!("there is no view `{name}`\n")).into_response();
    };
    let description = view.description.as_deref().unwrap_or("A part of one person's deck");
    let url = address(&headers, &format!("/views/{name}/mcp"));
    respond(&card(&name, &name, description, &host.settings().version, &url))
}

fn card(name: &str, title: &str, description: &str, version: &str, url: &str) -> Value {
    let versions: Vec<&str> =
        Revision::SUPPORTED.iter().map(|revision| revision.as_str()).collect();
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

/// The address as the client reached it; the name was checked before.
fn address(headers: &HeaderMap, path: &str) -> String {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or("localhost");
    format!("http://{host}{path}")
}

fn respond(card: &Value) -> Response {
    let headers = [(header::CONTENT_TYPE, MEDIA_TYPE), (header::CACHE_CONTROL, "max-age=60")];
    (headers, card.to_string()).into_response()
}
