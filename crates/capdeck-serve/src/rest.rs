//! The REST API: `/v1/*`, and its OpenAPI document.
//!
//! Read [`operation::RestOperation`] first: every operation is declared once, in the files below `capsules`, `deck` and
//! `registry`; the router and `GET /v1/openapi.json` are built from the same table.

mod activity;
mod call;
mod capsules;
mod connect;
mod deck;
mod idempotency;
mod input;
mod openapi;
mod operation;
mod overview;
mod page;
mod problem;
mod registry;
mod response;
mod router;

#[cfg(test)]
mod tests;

use std::{
    fmt,
    sync::{Arc, OnceLock},
    time::Duration,
};

use bytes::Bytes;
use capdeck_host::Host;
use capdeck_mcp::server::ServerLoad;
use jiff::Timestamp;

pub(crate) use self::{
    registry::GrantNarrowing,
    router::{RestRouters, into_problem, is_rest_path, routers},
};
// What the operations below are written with.
use self::{
    activity::ActivityFeed,
    call::{RestCall, version_tag},
    idempotency::IdempotencyCache,
    input::{ArchiveBody, JsonBody, OptionalJsonBody, SmallJsonBody},
    operation::{RequiredAccess, RestOperation, delete, get, patch, post, put},
    page::{ListPage, PageQuery},
    problem::{ApiError, ApiResult},
    response::{
        ArchiveContent, BinaryContent, ByteContent, EmptyBody, EncodedJson, JsonObject, NoContent,
        RawToolResult, RestResponse, ToolDefinition,
    },
};
use crate::http_state::HttpState;

pub(crate) struct RestApi {
    host: Host,
    http_state: Arc<HttpState>,
    operations: Vec<RestOperation>,
    document: OnceLock<Bytes>,
    idempotency: Arc<IdempotencyCache>,
    body_timeout: Duration,
    feed: ActivityFeed,
    connected: LoadProbe,
    started_at: Timestamp,
}

pub(crate) type LoadProbe = Box<dyn Fn() -> ServerLoad + Send + Sync>;

impl RestApi {
    pub(crate) fn new(
        http_state: Arc<HttpState>,
        connected: LoadProbe,
        body_timeout: Duration,
    ) -> Arc<Self> {
        let host = http_state.host.clone();
        Arc::new(Self {
            feed: ActivityFeed::new(host.clone(), http_state.registry().cloned()),
            host,
            http_state,
            connected,
            started_at: Timestamp::now(),
            operations: operations(),
            document: OnceLock::new(),
            idempotency: Arc::default(),
            body_timeout,
        })
    }

    /// The OpenAPI document, made for the first who asks.
    fn document(&self) -> Bytes {
        let make = || openapi::document(&self.operations, &self.host.settings().version);
        self.document.get_or_init(|| make().to_string().into()).clone()
    }

    pub(crate) fn close(&self) {
        self.feed.close();
    }
}

impl fmt::Debug for RestApi {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Rest").field("operations", &self.operations.len()).finish()
    }
}

/// Runs work that waits for the disk or for another process. `what` is the error when it panics.
async fn run_blocking<T: Send + 'static>(
    what: &'static str,
    work: impl FnOnce() -> ApiResult<T> + Send + 'static,
) -> ApiResult<T> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(ApiError::internal(what, &error)))
}

fn operations() -> Vec<RestOperation> {
    let (who, path) = (RequiredAccess::Anyone, "/v1/openapi.json");
    let document = get(who, path, "getDocument", "Get this document")
        .handled_by(async |call: RestCall| Ok(EncodedJson(call.rest.document())));
    let parts = [
        vec![document],
        overview::operations(),
        capsules::operations(),
        deck::operations(),
        registry::operations(),
        connect::operations(),
    ];
    parts.into_iter().flatten().collect()
}
