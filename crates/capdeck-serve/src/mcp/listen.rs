//! `subscriptions/listen`: one long request that stands for a client's interest in changes.

use async_trait::async_trait;
use capdeck_host::{CallContext, CallError};
use capdeck_mcp::{RpcError, server::Exchange};
use serde_json::value::RawValue;

use super::client_streams::{ClientStreams, Wanted};

/// What can be listened to.
#[async_trait]
pub(super) trait Listenable: Sync {
    /// The part of a wish that this session can fulfil. Resources are tried one by one.
    async fn offered(&self, wanted: Wanted) -> Wanted;

    /// Begins to watch a resource.
    async fn watch(&self, uri: &str, context: &CallContext) -> Result<(), CallError>;

    /// Stops watching a resource.
    async fn unwatch(&self, uri: &str);

    /// Begins to hear of a task.
    async fn watch_task(&self, _id: &str) -> Result<(), CallError> {
        Ok(())
    }

    /// Hears no more of a task.
    async fn unwatch_task(&self, _id: &str) {}
}

/// Acknowledges what is honoured of the client's wish, then tells it of changes until it stops listening.
pub(super) async fn listen(
    session: &impl Listenable,
    streams: &ClientStreams,
    wanted: Wanted,
    exchange: Exchange,
    context: &CallContext,
) -> Result<Box<RawValue>, RpcError> {
    let mut honoured = session.offered(wanted).await;
    let mut watched = Vec::new();
    for uri in std::mem::take(&mut honoured.resource_subscriptions) {
        match session.watch(&uri, context).await {
            Ok(()) => watched.push(uri),
            Err(error) => tracing::debug!(uri, %error, "a resource cannot be watched"),
        }
    }
    honoured.resource_subscriptions.clone_from(&watched);
    let mut tasks = Vec::new();
    for id in std::mem::take(&mut honoured.task_ids) {
        match session.watch_task(&id).await {
            Ok(()) => tasks.push(id),
            Err(error) => tracing::debug!(task = id, %error, "a task cannot be watched"),
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
