//! The client half: requests, responses, and messages that a server sends on its own.
//!
//! A [`McpClient`] is a cheap handle. [`McpClient::connect`] selects the era that the server supports; requests are the
//! same in both. Every request has a deadline and a cancellation token; when either ends it, the server gets a
//! cancellation and a late response is dropped. Dropping a request's future does the same.

mod call;
mod chaos;
mod connect;
mod credentials;
mod error;
mod exchange;
mod http_target;
mod initialize;
mod input_required;
mod legacy_sse;
mod message_hub;
mod modern;
mod request_head;
mod request_options;
mod result_type;
mod stdio;
mod streamable_http;
mod subscription;
mod tool_headers;
mod transport;
mod wakeup_timer;

use std::{fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use parking_lot::RwLock;
use serde_json::value::RawValue;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    time::Instant,
};

pub use chaos::{FaultSettings, FaultSource};
pub use connect::EraChoice;
pub use credentials::CredentialProvider;
pub use error::ClientError;
pub use http_target::HttpTarget;
pub use initialize::{ClientDescription, ServerHello};
pub use request_options::{InputRequiredMode, ProgressCallback, RequestOptions};

use crate::{MAX_MESSAGE_BYTES, RawObject, RpcError, encode};
use exchange::{OutgoingRequest, exchange, saturating_deadline};
use message_hub::MessageHub;
use modern::ModernProtocol;
use subscription::SubscriptionTargets;
use transport::ClientTransport;

/// Receives messages of a server, for the connection or for one request.
///
/// Called from the reading task, so `notification` must not block.
#[async_trait]
pub trait ClientHandler: Send + Sync {
    /// Handles a notification, other than progress and cancellation.
    fn notification(&self, method: &str, params: Option<RawObject>);

    /// Answers a request of the server. The future is dropped when the server cancels the request.
    async fn request(
        &self,
        method: &str,
        params: Option<RawObject>,
    ) -> Result<Box<RawValue>, RpcError>;

    /// The server ended the stream of this request before its response; the client resumes it.
    fn paused(&self) {}
}

/// A connection to one MCP server. Clones share it; it ends when the last is dropped.
#[derive(Clone)]
pub struct McpClient {
    inner: Arc<McpClientInner>,
}

struct McpClientInner {
    hub: Arc<MessageHub>,
    transport: Arc<dyn ClientTransport>,
    modern: RwLock<Option<Arc<ModernProtocol>>>,
}

impl McpClient {
    /// Opens newline-framed JSON over a pair of pipes.
    pub fn stdio(
        reader: impl AsyncRead + Send + Unpin + 'static,
        writer: impl AsyncWrite + Send + Unpin + 'static,
        handler: Arc<dyn ClientHandler>,
    ) -> Self {
        Self::stdio_with_limit(reader, writer, handler, MAX_MESSAGE_BYTES)
    }

    /// Same as [`McpClient::stdio`], with another limit on the size of one message.
    pub fn stdio_with_limit(
        reader: impl AsyncRead + Send + Unpin + 'static,
        writer: impl AsyncWrite + Send + Unpin + 'static,
        handler: Arc<dyn ClientHandler>,
        limit: usize,
    ) -> Self {
        let hub = MessageHub::new(handler);
        let transport = stdio::open(reader, writer, &hub, limit);
        Self::over(hub, transport)
    }

    /// Opens Streamable HTTP without sending anything.
    pub fn http(target: HttpTarget, handler: Arc<dyn ClientHandler>) -> Self {
        let hub = MessageHub::new(handler);
        let transport = streamable_http::open(target, &hub);
        Self::over(hub, transport)
    }

    /// Opens the older HTTP+SSE transport and waits for the endpoint event.
    pub async fn sse(
        target: HttpTarget,
        handler: Arc<dyn ClientHandler>,
        timeout: Duration,
    ) -> Result<Self, ClientError> {
        let hub = MessageHub::new(handler);
        let transport =
            tokio::time::timeout(timeout, legacy_sse::open(target, &hub)).await.map_err(
                |_| ClientError::Timeout { method: "endpoint".to_owned(), after: timeout },
            )??;
        Ok(Self::over(hub, transport))
    }

    fn over(hub: Arc<MessageHub>, transport: Arc<dyn ClientTransport>) -> Self {
        Self { inner: Arc::new(McpClientInner { hub, transport, modern: RwLock::default() }) }
    }

    /// Injects faults. Has an effect only before the client is shared.
    #[must_use]
    pub fn with_chaos(mut self, faults: Arc<FaultSource>) -> Self {
        if let Some(inner) = Arc::get_mut(&mut self.inner) {
            inner.transport = chaos::wrap(faults, &inner.hub, Arc::clone(&inner.transport));
        }
        self
    }

    /// Sends a request and waits for its response within the limits of the options.
    pub async fn request(
        &self,
        method: &str,
        mut params: Option<RawObject>,
        options: RequestOptions,
    ) -> Result<Box<RawValue>, ClientError> {
        let McpClientInner { hub, transport, .. } = &*self.inner;
        hub.check_open()?;
        if let Some(modern) = self.inner.modern() {
            return modern.request(method, params, &options).await;
        }
        let outgoing =
            OutgoingRequest { method, params: &mut params, head: None, acknowledged: None };
        let hard_end = saturating_deadline(Instant::now(), options.max_timeout);
        exchange(hub, transport, outgoing, &options, hard_end).await
    }

    /// Sends a notification. One that the server's era does not have is skipped.
    pub async fn notify(&self, method: &str, params: Option<RawObject>) -> Result<(), ClientError> {
        let McpClientInner { hub, transport, .. } = &*self.inner;
        hub.check_open()?;
        let removed = ["notifications/initialized", "notifications/roots/list_changed"];
        if hub.is_modern() && removed.contains(&method) {
            return Ok(());
        }
        transport.send(Some(method), encode::notification(method, params.as_ref())).await
    }

    /// Sets the resource subscriptions at a modern server and waits for the acknowledgement.
    pub async fn watch_resources(
        &self,
        uris: Vec<String>,
        timeout: Duration,
    ) -> Result<(), ClientError> {
        self.watch(SubscriptionTargets::Resources(uris), timeout).await
    }

    /// Sets the task subscriptions at a modern server and waits for the acknowledgement.
    pub async fn watch_tasks(
        &self,
        ids: Vec<String>,
        timeout: Duration,
    ) -> Result<(), ClientError> {
        self.watch(SubscriptionTargets::Tasks(ids), timeout).await
    }

    async fn watch(
        &self,
        watched: SubscriptionTargets,
        timeout: Duration,
    ) -> Result<(), ClientError> {
        self.inner.hub.check_open()?;
        match self.inner.modern() {
            Some(modern) => modern.watch(watched, timeout).await,
            None => Err(ClientError::protocol("the server has no stream of subscriptions")),
        }
    }

    pub fn ended(&self) -> Option<String> {
        self.inner.hub.ended()
    }

    pub async fn wait_ended(&self) {
        self.inner.hub.stopped().await;
    }

    /// Closes the connection and fails all pending requests. Over HTTP also deletes the session.
    pub async fn close(&self) {
        self.inner.transport.close().await;
        self.inner.hub.end("the connection was closed");
    }
}

impl McpClientInner {
    fn modern(&self) -> Option<Arc<ModernProtocol>> {
        self.modern.read().clone()
    }

    fn enter(&self, modern: Arc<ModernProtocol>, found: &ServerHello) {
        self.hub.enter_modern(true);
        self.transport.negotiated(found.revision);
        modern.adopt_server(found);
        *self.modern.write() = Some(modern);
    }

    fn reset_era(&self) {
        self.hub.enter_modern(false);
        *self.modern.write() = None;
    }
}

impl Drop for McpClientInner {
    fn drop(&mut self) {
        self.hub.end("the connection was dropped");
    }
}

impl fmt::Debug for McpClient {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Client").field("ended", &self.ended()).finish_non_exhaustive()
    }
}
