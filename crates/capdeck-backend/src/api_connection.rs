//! APIs that a document describes: the document says which tools there are and how each is called.
//!
//! [`ApiConnection`] is the connection of every such kind. A kind brings a [`ApiReader`], which fetches and reads the document
//! into an [`CallableApi`]. Reading is done on first use and again when the tools are asked for later than `operationCacheTtlMs`;
//! a call never waits for a second reading.

mod answer_schema;
mod document;
mod document_cache;

use std::{
    fmt::Debug,
    sync::Arc,
    time::{Duration, Instant},
};

use arc_swap::ArcSwapOption;
use async_trait::async_trait;
use capdeck_catalog::Discovery;
use serde_json::{Map, Value, value::RawValue};
use tokio::sync::Mutex;

pub(crate) use self::{
    answer_schema::answer_schema,
    document::{DocumentLocation, read_body, read_document},
    document_cache::DocumentCache,
};
use crate::{
    CallContext, CallError, Connection, ToolCall,
    arguments::read_arguments,
    http::{ApiEndpoint, ProgressDeadline},
};

/// A document that has been read: its tools and the way to call each.
#[async_trait]
pub(crate) trait CallableApi: Debug + Send + Sync {
    /// The tools, sorted by name, and what could not be imported.
    fn discovery(&self) -> Discovery;

    /// Calls one tool, within whatever bounds the caller of this sets.
    async fn call(
        &self,
        endpoint: &ApiEndpoint,
        tool: &str,
        arguments: Map<String, Value>,
        pace: &ProgressDeadline,
    ) -> Result<Box<RawValue>, CallError>;
}

/// Fetches and reads the document of one capability.
#[async_trait]
pub(crate) trait ApiReader: Debug + Send + Sync {
    async fn read(&self, endpoint: &ApiEndpoint) -> Result<Arc<dyn CallableApi>, CallError>;
}

/// The connection to an API that a document describes.
#[derive(Debug)]
pub(crate) struct ApiConnection<Kind> {
    reader: Kind,
    endpoint: ApiEndpoint,
    time_to_live: Duration,
    last: ArcSwapOption<LoadedApi>,
    /// One reading at a time.
    turn: Mutex<()>,
}

#[derive(Debug)]
struct LoadedApi {
    api: Arc<dyn CallableApi>,
    at: Instant,
}

impl<Kind: ApiReader> ApiConnection<Kind> {
    pub(crate) fn new(reader: Kind, endpoint: ApiEndpoint, time_to_live_ms: u64) -> Self {
        Self {
            reader,
            endpoint,
            time_to_live: Duration::from_millis(time_to_live_ms),
            last: ArcSwapOption::empty(),
            turn: Mutex::new(()),
        }
    }

    /// The last reading if `is_good` says so, otherwise a new one.
    async fn api(
        &self,
        is_good: impl Fn(&LoadedApi) -> bool,
    ) -> Result<Arc<dyn CallableApi>, CallError> {
        let known = || {
            self.last.load().as_ref().filter(|last| is_good(last)).map(|last| Arc::clone(&last.api))
        };
        if let Some(api) = known() {
            return Ok(api);
        }
        let _turn = self.turn.lock().await;
        if let Some(api) = known() {
            return Ok(api);
        }
        let api = self.reader.read(&self.endpoint).await?;
        self.last.store(Some(Arc::new(LoadedApi { api: Arc::clone(&api), at: Instant::now() })));
        Ok(api)
    }
}

#[async_trait]
impl<Kind: ApiReader> Connection for ApiConnection<Kind> {
    async fn discover(&self, context: &CallContext) -> Result<Discovery, CallError> {
        let fresh = |last: &LoadedApi| last.at.elapsed() < self.time_to_live;
        let api = self.endpoint.bounded("list of tools", context, self.api(fresh)).await?;
        Ok(api.discovery())
    }

    async fn call_tool(
        &self,
        call: ToolCall<'_>,
        context: &CallContext,
    ) -> Result<Box<RawValue>, CallError> {
        let run = async |pace: &ProgressDeadline| {
            let arguments = read_arguments(call.arguments)?;
            let api = self.api(|_any| true).await?;
            api.call(&self.endpoint, call.name, arguments, pace).await
        };
        self.endpoint.bounded_by_progress(call.name, context, run).await
    }

    fn ended(&self) -> Option<String> {
        self.endpoint.ended()
    }

    async fn close(&self) {
        self.endpoint.close();
    }
}
