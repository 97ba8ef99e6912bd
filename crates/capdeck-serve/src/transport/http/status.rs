//! Health, readiness and metrics.

use std::{
    sync::{Arc, OnceLock},
    time::{Duration, Instant},
};

use axum::{
    Json,
    extract::State,
    response::{IntoResponse, Response},
};
use capdeck_host::{
    CapsuleAuthor, CapsuleCaller, CapsuleProblem, CapsuleServiceExt as _, Host,
    StorageStatusRequest, StorageStatusResponse,
};
use http::{StatusCode, header};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use serde_json::{Value, json};

use super::{endpoints::McpEndpoints, recent_value::RecentValue};

/// Without a response of the capsule store in time, the host is not ready.
const STATUS_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a storage check is cached. The check writes a file, and every program on this machine can request it.
const STORAGE_MAX_AGE: Duration = Duration::from_secs(5);

#[derive(Debug, Clone)]
pub(super) struct ProcessFacts {
    version: Arc<str>,
    started: Instant,
}

impl ProcessFacts {
    pub(super) fn new(version: &str) -> Self {
        Self { version: version.into(), started: Instant::now() }
    }
}

/// Liveness. The version is public: deployments check it.
pub(super) async fn health(State(facts): State<ProcessFacts>) -> Json<Value> {
    let ProcessFacts { version, started } = facts;
    Json(json!({ "status": "ok", "version": &*version, "uptime": started.elapsed().as_secs() }))
}

#[derive(Clone)]
pub(super) struct HostReadiness {
    host: Host,
    storage: RecentValue<StorageStatusResponse>,
}

impl HostReadiness {
    pub(super) fn new(host: Host) -> Self {
        Self { host, storage: RecentValue::new(STORAGE_MAX_AGE) }
    }

    /// Whether data can be written, and which capsules are damaged.
    async fn storage_status(&self) -> StorageStatusResponse {
        let host = self.host.clone();
        let status = self.storage.get(async move { ask_storage(&host).await });
        match tokio::time::timeout(STATUS_TIMEOUT, status).await {
            Ok(Some(status)) => status,
            Ok(None) | Err(_) => unwritable("the process that holds the capsules does not respond"),
        }
    }
}

/// Ready when the deck is loaded and data can be written. A damaged capsule is reported but does not affect readiness: the host
/// still serves the others.
pub(super) async fn ready(State(readiness): State<HostReadiness>) -> Response {
    let (storage, host) = (readiness.storage_status().await, &readiness.host);
    if let Some(reason) = &storage.reason {
        let body = json!({
            "status": "unavailable",
            "version": host.settings().version,
            "reason": reason,
        });
        return (StatusCode::SERVICE_UNAVAILABLE, Json(body)).into_response();
    }
    let catalog = host.catalog();
    let usable = catalog.capabilities().filter(|capability| capability.is_usable()).count();
    let mut body = json!({
        "status": "ready",
        "version": host.settings().version,
        "catalogVersion": catalog.version(),
        "capabilities": { "usable": usable, "all": catalog.capabilities().count() },
        "quarantined": catalog.quarantined().len(),
    });
    if !storage.capsules.is_empty() {
        let named = |one: &CapsuleProblem| json!({ "capsule": one.id, "problem": one.problem });
        body["degraded"] = storage.capsules.iter().map(named).collect();
    }
    Json(body).into_response()
}

async fn ask_storage(host: &Host) -> StorageStatusResponse {
    let Some(service) = host.capsules() else {
        return StorageStatusResponse { writable: true, reason: None, capsules: Vec::new() };
    };
    let author = CapsuleAuthor::client("capdeck").version(&host.settings().version);
    let request = CapsuleCaller::local(author).request(None, StorageStatusRequest);
    service.ask(request).await.unwrap_or_else(|error| {
        tracing::error!(code = error.code.as_str(), "{}", error.message);
        unwritable("the capsules are not available; see the log of the host")
    })
}

fn unwritable(reason: &str) -> StorageStatusResponse {
    let reason = Some(reason.to_owned());
    StorageStatusResponse { writable: false, reason, capsules: Vec::new() }
}

pub(super) async fn metrics(
    State((host, endpoints)): State<(Host, Arc<McpEndpoints>)>,
) -> Response {
    let catalog = host.catalog();
    let load = endpoints.load();
    metrics::gauge!("capdeck_sessions").set(count(load.sessions));
    metrics::gauge!("capdeck_requests").set(count(load.requests));
    metrics::gauge!("capdeck_streams").set(count(load.streams));
    metrics::gauge!("capdeck_suspended_calls").set(count(load.suspended_calls));
    metrics::gauge!("capdeck_capabilities").set(count(catalog.capabilities().count()));
    metrics::gauge!("capdeck_tools").set(count(catalog.tool_count()));
    let text = recorder().map(PrometheusHandle::render).unwrap_or_default();
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], text).into_response()
}

/// The process-wide recorder. Calls before its first use are not counted.
pub(super) fn recorder() -> Option<&'static PrometheusHandle> {
    static RECORDER: OnceLock<Option<PrometheusHandle>> = OnceLock::new();
    RECORDER
        .get_or_init(|| {
            PrometheusBuilder::new()
                .install_recorder()
                .inspect_err(|error| tracing::warn!(%error, "cannot record metrics"))
                .ok()
        })
        .as_ref()
}

fn count(number: usize) -> f64 {
    u32::try_from(number).map_or(f64::INFINITY, f64::from)
}
