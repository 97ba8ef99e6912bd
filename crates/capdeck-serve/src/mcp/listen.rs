//! `subscriptions/listen`: one long request per client stream.

use async_trait::async_trait;
use capdeck_host::{CallContext, CallError};
use capdeck_mcp::{RpcError, server::RequestExchange};
use serde_json::value::RawValue;

use super::client_streams::{ClientStreams, ListenFilter};

#[async_trait]
pub(super) trait ListenSource: Sync {
    /// The part of the filter that this session supports. Resources are tried one by one.
    async fn offered(&self, wanted: ListenFilter) -> ListenFilter;

    async fn watch(&self, uri: &str, context: &CallContext) -> Result<(), CallError>;

    async fn unwatch(&self, uri: &str);

    async fn watch_task(&self, _id: &str) -> Result<(), CallError> {
        Ok(())
    }

    async fn unwatch_task(&self, _id: &str) {}
}

/// Acknowledges the supported part of the filter, then sends notifications until the client closes the stream.
pub(super) async fn listen(
    session: &impl ListenSource,
    streams: &ClientStreams,
    wanted: ListenFilter,
    exchange: RequestExchange,
    context: &CallContext,
) -> Result<Box<RawValue>, RpcError> {
    let mut honoured = session.offered(wanted).await;
    let mut watched = Vec::new();
    for uri in std::mem::take(&mut honoured.resource_subscriptions) {
        match session.watch(&uri, context).await {
            Ok(()) => watched.push(uri),
            Err(error) => tracing::debug!(uri, %error, "cannot watch a resource"),
        }
    }
    honoured.resource_subscriptions.clone_from(&watched);
    let mut tasks = Vec::new();
    for id in std::mem::take(&mut honoured.task_ids) {
        match session.watch_task(&id).await {
            Ok(()) => tasks.push(id),
            Err(error) => tracing::debug!(task = id, %error, "cannot watch a task"),
        }
    }
    honoured.task_ids.clone_from(&tasks);
    let opened = streams.open(&exchange, honoured);
    if opened.is_ok() {
        exchange.cancel.cancelled().await;
    }
    if let Ok(handle) = &opened {
        streams.close(*handle);
    }
    for uri in &watched {
        session.unwatch(uri).await;
    }
    for id in &tasks {
        session.unwatch_task(id).await;
    }
    opened?;
    RawValue::from_string("{}".to_owned()).map_err(|error| RpcError::internal(error.to_string()))
}
