//! `GET /attach/manifest`: what another host can attach to.
//!
//! The response has an entity tag. A request with this tag waits for a change, or gets 304 after `wait` seconds.

use std::{sync::Arc, time::Duration};

use axum::{
    Extension,
    extract::{RawQuery, State},
    response::{IntoResponse, Response},
};
use capdeck_host::{
    Access, Host, HostManifest, HostManifestFacts, MANIFEST_VERSION, RemoteCapability, SharedAccess,
};
use capdeck_mcp::server::SessionOwner;
use capdeck_storage::sha256_hex;
use futures_util::{StreamExt as _, stream::pending};
use http::{HeaderMap, StatusCode, header};

/// Below the idle timeout of common proxies.
const MAX_WAIT: Duration = Duration::from_secs(30);

pub(super) async fn manifest(
    State(host): State<Host>,
    Extension(principal): Extension<SessionOwner>,
    access: Option<Extension<SharedAccess>>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    let known = headers.get(header::IF_NONE_MATCH).and_then(|tag| tag.to_str().ok());
    let wait = parse_wait(query.as_deref()).min(MAX_WAIT);
    let deadline = tokio::time::Instant::now() + wait;
    let access = access.as_deref();
    let mut events = host.events();
    let mut grants =
        access.and_then(|source| source.changes()).unwrap_or_else(|| pending().boxed());
    loop {
        let (tag, body) =
            manifest_with_tag(&host, &principal.0, access.map(|source| source.access()).as_deref());
        if known != Some(&*tag) {
            let headers = [
                (header::CONTENT_TYPE, "application/json".to_owned()),
                (header::CACHE_CONTROL, "no-cache".to_owned()),
                (header::ETAG, tag),
            ];
            return (headers, body).into_response();
        }
        // Any event, also a missed one, can change the manifest; compare the tags.
        tokio::select! {
            _ = events.recv() => {}
            Some(()) = grants.next() => {}
            () = tokio::time::sleep_until(deadline) => {
                return (StatusCode::NOT_MODIFIED, [(header::ETAG, tag)]).into_response();
            }
        }
    }
}

fn parse_wait(query: Option<&str>) -> Duration {
    let seconds = query
        .into_iter()
        .flat_map(|query| query.split('&'))
        .find_map(|pair| pair.strip_prefix("wait="))
        .and_then(|seconds| seconds.parse().ok());
    Duration::from_secs(seconds.unwrap_or(0))
}

fn manifest_with_tag(host: &Host, principal: &str, access: Option<&Access>) -> (String, String) {
    let catalog = host.known_to(principal, access);
    let offered = catalog.capabilities().filter(|one| {
        // A set is served with its members.
        one.is_usable() && one.may_be_served_alone() && one.definition.member_of.is_none()
    });
    let capabilities = offered.map(|one| {
        let definition = Arc::clone(&one.definition);
        RemoteCapability {
            id: definition.id.clone(),
            name: definition.name.clone(),
            description: definition.description.trim().to_owned(),
            tags: definition.tags.clone(),
            exposure: one.restrict(one.exposure),
            shadowing: definition.shadowing,
            use_when: definition.hints.use_when.clone(),
            avoid_when: definition.hints.avoid_when.clone(),
        }
    });
    let manifest = HostManifest {
        capdeck: HostManifestFacts {
            manifest: MANIFEST_VERSION,
            version: host.settings().version.clone(),
        },
        capabilities: capabilities.collect(),
    };
    let body = serde_json::to_string(&manifest).unwrap_or_default();
    (format!("\"{}\"", sha256_hex(&body)), body)
}
