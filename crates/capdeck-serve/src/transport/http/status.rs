//! Alive, ready, and in numbers.

use std::{
    sync::{Arc, OnceLock},
    time::{Duration, Instant},
};

use axum::{
    Extension, Json,
    extract::State,
    response::{IntoResponse, Response},
};
use capdeck_host::{Admission, Author, CapsuleCaller, CapsuleOperation, Host, Reach};
use http::{StatusCode, header};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use serde_json::{Value, json};

use super::endpoints::Endpoints;

/// Longest wait for the capsules before the host counts as not ready.
const STATUS_TIMEOUT: Duration = Duration::from_secs(5);

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

/// The deck is read, and data can be written; counts say what is in the deck. A capsule that cannot be used, or not whole, is
/// named and costs nothing else: the host still serves all others.
pub(super) async fn ready(
    State(host): State<Host>,
    admission: Option<Extension<Admission>>,
) -> Response {
    let storage = storage_status(&host, admission.as_deref()).await;
    if storage["writable"] == false {
        let body = json!({
            "status": "unavailable",
            "version": host.settings().version,
            "reason": storage["reason"],
        });
        return (StatusCode::SERVICE_UNAVAILABLE, Json(body)).into_response();
    }
    let catalog = match admission.as_deref() {
        Some(admission) => host.known_to(admission.principal(), Some(admission)),
        None => host.catalog(),
    };
    let usable = catalog.capabilities().filter(|capability| capability.is_usable()).count();
    let mut body = json!({
        "status": "ready",
        "version": host.settings().version,
        "catalogVersion": catalog.version(),
        "capabilities": { "usable": usable, "all": catalog.capabilities().count() },
        "quarantined": catalog.quarantined().len(),
    });
    let degraded = storage["capsules"].as_array().map(Vec::as_slice).unwrap_or_default();
    if !degraded.is_empty() {
        let named = |one: &Value| json!({ "capsule": one["id"], "problem": one["problem"] });
        body["degraded"] = degraded.iter().map(named).collect();
    }
    Json(body).into_response()
}

/// Whether data can be written, and which capsules are not whole, within what the caller reaches.
async fn storage_status(host: &Host, admission: Option<&Admission>) -> Value {
    let Some(desk) = host.capsules() else { return Value::Null };
    let author = Author::client("capdeck").version(&host.settings().version);
    let reach = match admission {
        Some(admission) => Reach::Granted(admission.granted().capsules.clone()),
        None => Reach::All,
    };
    let caller = CapsuleCaller::new(author, reach);
    let asked = desk.ask(caller.request(None, CapsuleOperation::StorageStatus));
    let reason = match tokio::time::timeout(STATUS_TIMEOUT, asked).await {
        Ok(Ok(mut status)) => {
            if admission.is_some() && status["writable"] == false {
                status["reason"] = "data cannot be written now".into();
            }
            return status;
        }
        Ok(Err(failure)) => {
            tracing::error!(code = failure.code, "{}", failure.message);
            "the capsules cannot be reached; the host's log says why"
        }
        Err(_) => "the process that has the capsules does not answer",
    };
    json!({ "writable": false, "reason": reason })
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
