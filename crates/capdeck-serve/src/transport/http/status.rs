//! Alive, ready, and in numbers.

use std::{
    sync::{Arc, OnceLock},
    time::Instant,
};

use axum::{
    Extension, Json,
    extract::State,
    response::{IntoResponse, Response},
};
use capdeck_host::{Admission, Host};
use http::{StatusCode, header};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use serde_json::{Value, json};

use super::endpoints::Endpoints;

/// What is known of the process without asking anything.
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

/// The process answers. Its version is no secret: deployments check it, and the program is public.
pub(super) async fn health(State(facts): State<ProcessFacts>) -> Json<Value> {
    let ProcessFacts { version, started } = facts;
    Json(json!({ "status": "ok", "version": &*version, "uptime": started.elapsed().as_secs() }))
}

/// The deck is read; counts say what is in it.
pub(super) async fn ready(
    State(host): State<Host>,
    admission: Option<Extension<Admission>>,
) -> Json<Value> {
    let catalog = match admission.as_deref() {
        Some(admission) => host.known_to(admission.principal(), Some(admission)),
        None => host.catalog(),
    };
    let usable = catalog.capabilities().filter(|capability| capability.is_usable()).count();
    Json(json!({
        "status": "ready",
        "version": host.settings().version,
        "catalogVersion": catalog.version(),
        "capabilities": { "usable": usable, "all": catalog.capabilities().count() },
        "quarantined": catalog.quarantined().len(),
    }))
}

/// Prometheus text: calls by capability and outcome, how long they took, and what is open now.
pub(super) async fn metrics(
    State((host, endpoints)): State<(Host, Arc<Endpoints>)>,
    admission: Option<Extension<Admission>>,
) -> Response {
    if admission.is_some() {
        // They name everything that was ever called.
        return (StatusCode::FORBIDDEN, "metrics are for the person who runs the host\n")
            .into_response();
    }
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

/// The process-wide recorder. Metrics of calls made before the first call of this are not counted.
pub(super) fn recorder() -> Option<&'static PrometheusHandle> {
    static RECORDER: OnceLock<Option<PrometheusHandle>> = OnceLock::new();
    RECORDER
        .get_or_init(|| {
            PrometheusBuilder::new()
                .install_recorder()
                .inspect_err(|error| tracing::warn!(%error, "metrics are not recorded"))
                .ok()
        })
        .as_ref()
}

fn count(number: usize) -> f64 {
    u32::try_from(number).map_or(f64::INFINITY, f64::from)
}
