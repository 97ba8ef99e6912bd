//! Health, readiness and metrics.

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use axum::{
    Json,
    extract::State,
    response::{IntoResponse, Response},
};
use capdeck_host::{
    CallAuditProblem, CapsuleAuthor, CapsuleCaller, CapsuleProblem, CapsuleServiceExt as _, Host,
    StorageStatusRequest, StorageStatusResponse,
};
use http::{StatusCode, header};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use serde_json::{Value, json};
use tokio::{sync::Mutex, time::Instant};

use super::endpoints::McpEndpoints;

/// Without a response of the capsule store in time, the host is not ready.
const STATUS_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a storage check is cached. The check writes a file, and every program on this machine can request it.
const STORAGE_MAX_AGE: Duration = Duration::from_secs(5);

#[derive(Debug, Clone)]
pub(super) struct ProcessFacts {
    version: Arc<str>,
    started: std::time::Instant,
}

impl ProcessFacts {
    pub(super) fn new(version: &str) -> Self {
        Self { version: version.into(), started: std::time::Instant::now() }
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
    let audit = CallAuditProblem::of(host);
    let refuses_calls = audit.as_ref().filter(|problem| problem.refuses_calls);
    let refused = refuses_calls.map(|problem| format!("the audit trail: {}", problem.reason));
    if let Some(reason) = storage.reason.as_ref().or(refused.as_ref()) {
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
    let named = |one: &CapsuleProblem| json!({ "capsule": one.id, "problem": one.problem });
    let mut degraded: Vec<Value> = storage.capsules.iter().map(named).collect();
    degraded
        .extend(audit.map(|one| json!({ "audit": "calls run unaudited", "problem": one.reason })));
    if !degraded.is_empty() {
        body["degraded"] = degraded.into();
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

/// Computed by at most one task at a time. Clones share the value.
pub(super) struct RecentValue<T> {
    max_age: Duration,
    latest: Arc<Mutex<Option<(Instant, T)>>>,
}

impl<T> Clone for RecentValue<T> {
    fn clone(&self) -> Self {
        Self { max_age: self.max_age, latest: Arc::clone(&self.latest) }
    }
}

impl<T: Clone + Send + 'static> RecentValue<T> {
    pub(super) fn new(max_age: Duration) -> Self {
        Self { max_age, latest: Arc::default() }
    }

    /// The value, no older than the maximum age; `None` when the computation failed.
    pub(super) async fn get(
        &self,
        find_out: impl Future<Output = T> + Send + 'static,
    ) -> Option<T> {
        let mut latest = Arc::clone(&self.latest).lock_owned().await;
        if let Some((at, value)) = &*latest
            && at.elapsed() < self.max_age
        {
            return Some(value.clone());
        }
        // A separate task continues when the caller is gone, and holds the lock until it is done.
        let finding = tokio::spawn(async move {
            let value = find_out.await;
            *latest = Some((Instant::now(), value.clone()));
            value
        });
        finding.await.ok()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tokio::{sync::Semaphore, time::advance};

    use super::*;

    const MAX_AGE: Duration = Duration::from_secs(5);

    /// Counts the computations; each waits for a permit.
    #[derive(Clone)]
    struct Source {
        recent: RecentValue<usize>,
        started_count: Arc<AtomicUsize>,
        permits: Arc<Semaphore>,
    }

    impl Source {
        fn new() -> Self {
            let (started_count, permits) = (Arc::default(), Arc::new(Semaphore::new(0)));
            Self { recent: RecentValue::new(MAX_AGE), started_count, permits }
        }

        async fn get(&self) -> usize {
            let (started_count, permits) =
                (Arc::clone(&self.started_count), Arc::clone(&self.permits));
            let finding = async move {
                let number = started_count.fetch_add(1, Ordering::SeqCst) + 1;
                permits.acquire().await.unwrap().forget();
                number
            };
            self.recent.get(finding).await.unwrap()
        }

        fn ask(&self) -> tokio::task::JoinHandle<usize> {
            let source = self.clone();
            tokio::spawn(async move { source.get().await })
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_value_is_found_out_once_for_all_who_ask_and_again_when_it_is_old() {
        let source = Source::new();
        let asking: Vec<_> = (0..20).map(|_| source.ask()).collect();
        source.permits.add_permits(1);
        for one in asking {
            assert_eq!(one.await.unwrap(), 1);
        }
        advance(MAX_AGE.saturating_sub(Duration::from_millis(1))).await;
        assert_eq!(source.get().await, 1);
        advance(Duration::from_millis(1)).await;
        source.permits.add_permits(1);
        assert_eq!(source.get().await, 2);
        assert_eq!(source.started_count.load(Ordering::SeqCst), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn one_who_asks_and_leaves_does_not_start_another_one() {
        let source = Source::new();
        for _ in 0..20 {
            let asking = source.ask();
            // Yield until it waits for a permit or for the lock.
            tokio::task::yield_now().await;
            tokio::task::yield_now().await;
            asking.abort();
            assert!(asking.await.unwrap_err().is_cancelled());
        }
        assert_eq!(source.started_count.load(Ordering::SeqCst), 1);
        source.permits.add_permits(1);
        assert_eq!(source.get().await, 1);
    }
}
