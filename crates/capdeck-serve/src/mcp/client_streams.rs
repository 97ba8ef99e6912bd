//! Notifications outside of requests: on the session's stream for legacy clients, on `subscriptions/listen` streams, one long
//! request each, for modern ones; and requests of servers to a client.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use capdeck_host::{CallContext, CallError, CallerHandle, RawMembers};
use capdeck_mcp::{
    Era, ProtocolRevision, RpcError,
    server::{ClientPeer, RequestExchange},
};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{
    failure,
    params::{MethodResult, empty, raw},
};

/// Limit per client.
const MAX_STREAMS: usize = 64;

pub(super) struct ClientStreams {
    /// `None` for modern clients.
    session: Option<ClientPeer>,
    listening: Mutex<Vec<ListenStream>>,
    opened: AtomicU64,
}

struct ListenStream {
    /// Clients with the same identity are one client here and can use the same request ids.
    handle: u64,
    filter: ListenFilter,
    peer: ClientPeer,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ListenFilter {
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) tools_list_changed: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) prompts_list_changed: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) resources_list_changed: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) resource_subscriptions: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) task_ids: Vec<String>,
}

impl ClientStreams {
    pub(super) fn new(revision: ProtocolRevision, peer: ClientPeer) -> Arc<Self> {
        let session = (revision.era() == Era::Legacy).then_some(peer);
        Arc::new(Self { session, listening: Mutex::default(), opened: AtomicU64::new(0) })
    }

    pub(super) fn is_modern(&self) -> bool {
        self.session.is_none()
    }

    /// Notifies the client; a modern one on every stream whose filter matches.
    pub(super) fn notify(&self, method: &str, params: Option<RawMembers>) {
        if let Some(session) = &self.session {
            session.notify(method, params);
            return;
        }
        let member = |key: &str| params.as_ref().and_then(|params| text(params.get(key)?));
        let subject = member("uri").or_else(|| member("taskId"));
        for stream in self.listening.lock().iter() {
            if stream.filter.covers(method, subject.as_deref()) {
                stream.peer.notify(method, params.clone());
            }
        }
    }

    /// Notifies the client that resources have changed.
    pub(super) fn notify_updated(&self, uris: impl IntoIterator<Item = String>) {
        for uri in uris {
            if let Ok(uri) = raw(&uri) {
                let params = RawMembers::from_iter([("uri".to_owned(), uri)]);
                self.notify("notifications/resources/updated", Some(params));
            }
        }
    }

    /// Acknowledges a stream and registers it. Nothing is sent on it before the acknowledgement.
    pub(super) fn open(
        &self,
        exchange: &RequestExchange,
        honoured: ListenFilter,
    ) -> Result<u64, RpcError> {
        let mut listening = self.listening.lock();
        if listening.len() >= MAX_STREAMS {
            return Err(RpcError::new(
                RpcError::REFUSED,
                format!("this client has {MAX_STREAMS} open streams already; close one first"),
            ));
        }
        exchange.acknowledge(&honoured);
        let handle = self.opened.fetch_add(1, Ordering::Relaxed);
        listening.push(ListenStream { handle, filter: honoured, peer: exchange.peer.clone() });
        Ok(handle)
    }

    pub(super) fn close(&self, handle: u64) {
        self.listening.lock().retain(|stream| stream.handle != handle);
    }
}

impl ListenFilter {
    pub(super) fn from_params(params: Option<&RawMembers>) -> Result<Self, RpcError> {
        let filter = params.and_then(|params| params.get("notifications"));
        let filter =
            filter.ok_or_else(|| RpcError::invalid_params("`notifications` is missing"))?;
        serde_json::from_str(filter.get())
            .map_err(|error| RpcError::invalid_params(format!("`notifications`: {error}")))
    }

    fn covers(&self, method: &str, subject: Option<&str>) -> bool {
        match method {
            "notifications/tools/list_changed" => self.tools_list_changed,
            "notifications/prompts/list_changed" => self.prompts_list_changed,
            "notifications/resources/list_changed" => self.resources_list_changed,
            "notifications/resources/updated" => subject.is_some_and(|uri| {
                self.resource_subscriptions.iter().any(|watched| is_same_or_below(uri, watched))
            }),
            "notifications/tasks" => {
                subject.is_some_and(|task| self.task_ids.iter().any(|watched| watched == task))
            }
            _ => false,
        }
    }
}

/// True for a watched resource and for a part of it, which a server can name instead.
fn is_same_or_below(uri: &str, watched: &str) -> bool {
    let Some(rest) = uri.strip_prefix(watched) else { return false };
    rest.is_empty() || watched.ends_with('/') || rest.starts_with(['/', '#', '?', '%'])
}

fn text(value: &RawValue) -> Option<String> {
    serde_json::from_str(value.get()).ok()
}

#[async_trait]
pub(super) trait ListenSource: Sync {
    /// The part of the filter that this session supports. Resources are tried one by one.
    async fn offered(&self, requested: ListenFilter) -> ListenFilter;

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
    requested: ListenFilter,
    exchange: RequestExchange,
    context: &CallContext,
) -> MethodResult {
    let mut honoured = session.offered(requested).await;
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
    Ok(empty())
}

/// How long a client has to answer a request such as `roots/list`.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);

pub(super) struct ClientListener {
    peer: ClientPeer,
    streams: Arc<ClientStreams>,
}

impl ClientListener {
    #[expect(clippy::new_ret_no_self, reason = "callers only ever want the trait object")]
    pub(super) fn new(peer: ClientPeer, streams: Arc<ClientStreams>) -> Arc<dyn CallerHandle> {
        Arc::new(Self { peer, streams })
    }
}

#[async_trait]
impl CallerHandle for ClientListener {
    fn notify(&self, method: &str, params: Option<RawMembers>) {
        self.streams.notify(method, params);
    }

    async fn request(
        &self,
        method: &str,
        params: Option<RawMembers>,
    ) -> Result<Box<RawValue>, CallError> {
        self.peer.request(method, params, ANSWER_TIMEOUT).await.map_err(failure::from_client)
    }
}
