//! The client half: requests, responses, and messages that a server sends on its own.
//!
//! A [`McpClient`] is a cheap handle. [`McpClient::connect`] selects the era that the server supports; requests are the
//! same in both. Every request has a deadline and a cancellation token; when either ends it, the server gets a
//! cancellation and a late response is dropped. Dropping a request's future does the same.

mod call;
mod chaos;
mod connect;
mod http_target;
mod input_required;
mod legacy_sse;
mod message_hub;
mod modern;
mod sse_reader;
mod stdio;
mod streamable_http;
mod subscription;
mod tool_headers;
mod wakeup_timer;

use std::{fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use parking_lot::RwLock;
use serde_json::value::RawValue;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    time::Instant,
};
use tokio_util::sync::CancellationToken;

pub use chaos::{FaultSettings, FaultSource};
pub use connect::{ClientDescription, EraChoice, ServerHello};
pub use http_target::{CredentialProvider, HttpTarget};

use crate::{MAX_MESSAGE_BYTES, RawObject, RpcError, encode};
use call::{ClientTransport, OutgoingRequest, exchange, saturating_deadline};
use message_hub::MessageHub;
use modern::ModernProtocol;
use subscription::SubscriptionFilter;

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
        let transport = tokio::time::timeout(timeout, legacy_sse::open(target, &hub))
            .await
            .map_err(|_| ClientError::timeout("endpoint", timeout))??;
        Ok(Self::over(hub, transport))
    }

    fn over(hub: Arc<MessageHub>, transport: Arc<dyn ClientTransport>) -> Self {
        Self { inner: Arc::new(McpClientInner { hub, transport, modern: RwLock::default() }) }
    }

    /// Injects faults. Only the first source has an effect.
    #[must_use]
    pub fn with_chaos(self, faults: Arc<FaultSource>) -> Self {
        self.inner.hub.faults.set(faults).ok();
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
        self.watch(|filter| filter.resource_subscriptions = uris, timeout).await
    }

    /// Sets the task subscriptions at a modern server and waits for the acknowledgement.
    pub async fn watch_tasks(
        &self,
        ids: Vec<String>,
        timeout: Duration,
    ) -> Result<(), ClientError> {
        self.watch(|filter| filter.task_ids = ids, timeout).await
    }

    async fn watch(
        &self,
        change: impl FnOnce(&mut SubscriptionFilter),
        timeout: Duration,
    ) -> Result<(), ClientError> {
        self.inner.hub.check_open()?;
        let Some(modern) = self.inner.modern() else {
            return Err(ClientError::protocol("the server has no stream of subscriptions"));
        };
        let Some(listening) = modern.listening.get() else {
            return Err(self.inner.hub.closed_error());
        };
        tokio::time::timeout(timeout, listening.watch(change))
            .await
            .unwrap_or_else(|_| Err(ClientError::timeout("subscriptions/listen", timeout)))
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

#[derive(Debug, Clone, thiserror::Error)]
pub enum ClientError {
    #[error(transparent)]
    Rpc(RpcError),
    #[error("no answer to `{method}` within {} ms", after.as_millis())]
    Timeout { method: String, after: Duration },
    #[error("the request was cancelled")]
    Cancelled,
    #[error("{reason}")]
    Closed { reason: String },
    /// The server lost the session and did not process the request.
    #[error("the server no longer knows this session")]
    SessionExpired,
    #[error("the server answered with HTTP status {status}{}", quoted(excerpt))]
    Http { status: u16, excerpt: String, www_authenticate: Option<String> },
    /// No HTTP response. `sent` is false when the request certainly was not sent.
    #[error("the server cannot be reached: {reason}")]
    Unreachable { reason: String, sent: bool },
    #[error("the server broke the protocol: {message}")]
    Protocol { message: String },
    /// The server needs input, and no handler provided it.
    #[error("the server asked for `{method}` and got no answer: {}", error.message)]
    Unanswered { method: String, error: RpcError },
    #[error("the server sent a message over the limit of {limit} bytes")]
    TooLarge { limit: usize },
}

impl ClientError {
    fn timeout(method: &str, after: Duration) -> Self {
        Self::Timeout { method: method.to_owned(), after }
    }

    fn protocol(message: impl Into<String>) -> Self {
        Self::Protocol { message: message.into() }
    }

    /// Names the innermost cause without the URL, which may contain a credential.
    fn unreachable(error: reqwest::Error) -> Self {
        let sent = !error.is_connect() && !error.is_builder();
        let error = error.without_url();
        let mut reason: &dyn std::error::Error = &error;
        while let Some(source) = reason.source() {
            reason = source;
        }
        Self::Unreachable { reason: reason.to_string(), sent }
    }
}

fn quoted(excerpt: &str) -> String {
    if excerpt.is_empty() { String::new() } else { format!(": {excerpt}") }
}

/// Receives the params of a progress notification, without the token.
pub type ProgressCallback = Arc<dyn Fn(RawObject) + Send + Sync>;

#[derive(Clone, Default)]
pub struct RequestOptions {
    /// Idle timeout; progress resets it.
    pub timeout: Duration,
    /// Total timeout, regardless of progress.
    pub max_timeout: Duration,
    pub cancel: CancellationToken,
    /// Requests progress with a generated token, and receives it.
    pub on_progress: Option<ProgressCallback>,
    pub events: Option<Arc<dyn ClientHandler>>,
    /// Requests with the same number are for the same person. A question on a shared stream that could be for several
    /// of them goes to the newest; without a number it goes to the connection's handler.
    pub group: Option<u64>,
    /// The sender that a modern server sees. `None` means the connection's own introduction.
    pub client: Option<Arc<ClientDescription>>,
    /// The minimum log level of messages from a modern server during the request. `None` disables them.
    pub log_level: Option<String>,
    pub input_required: InputRequiredMode,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum InputRequiredMode {
    /// Sends its questions to the request's events, then sends the request again with the responses.
    #[default]
    Answer,
    HandBack,
}

impl RequestOptions {
    /// Options with only a deadline, which progress does not move.
    pub fn within(timeout: Duration) -> Self {
        Self { timeout, max_timeout: timeout, ..Self::default() }
    }
}
