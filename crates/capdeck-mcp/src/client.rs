//! The client half: requests out, answers back, and what a server sends on its own.
//!
//! A [`Client`] is a cheap handle. Every request has a deadline and a cancellation token; when either ends it, the
//! server is told and a late answer is thrown away. Dropping a request's future does the same.

mod call;
mod credentials;
mod error;
mod http_target;
mod hub;
mod initialize;
mod legacy_sse;
mod stdio;
mod streamable_http;
mod transport;

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use serde_json::value::RawValue;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    time::{Instant, sleep_until},
};
use tokio_util::sync::CancellationToken;

pub use credentials::Credentials;
pub use error::ClientError;
pub use http_target::HttpTarget;
pub use initialize::{ClientHello, ServerHello};

use crate::{MAX_MESSAGE_BYTES, RawObject, RpcError, encode};
use call::{Call, InFlight};
use hub::Hub;
use transport::Transport;

/// Takes what a server sends: all of it, or what belongs to one request.
///
/// Implemented by whoever owns the connection, and per request by whoever made it; called from the reading task,
/// so `notification` must not block.
#[async_trait]
pub trait ClientHandler: Send + Sync {
    /// A notification, other than progress and cancellation.
    fn notification(&self, method: &str, params: Option<RawObject>);

    /// A request to answer. The future is dropped when the server cancels it.
    async fn request(
        &self,
        method: &str,
        params: Option<RawObject>,
    ) -> Result<Box<RawValue>, RpcError>;

    /// The server ended the stream of this request before its answer; it will be asked again for the rest.
    fn paused(&self) {}
}

/// Takes the params of a progress notification, without the token.
pub type OnProgress = Arc<dyn Fn(RawObject) + Send + Sync>;

/// What surrounds one request.
#[derive(Clone)]
pub struct RequestOptions {
    /// Longest silence allowed; progress starts it again.
    pub timeout: Duration,
    /// Longest time in all, whatever progress is made.
    pub max_timeout: Duration,
    pub cancel: CancellationToken,
    /// Asks for progress by a token of our own, and takes it.
    pub on_progress: Option<OnProgress>,
    /// Takes the server's requests and notifications that belong to this request.
    pub events: Option<Arc<dyn ClientHandler>>,
}

/// A connection to one MCP server. Clones share it; it ends when the last is dropped.
#[derive(Clone)]
pub struct Client {
    inner: Arc<Inner>,
}

struct Inner {
    hub: Arc<Hub>,
    transport: Arc<dyn Transport>,
    next_id: AtomicU64,
}

impl RequestOptions {
    /// A deadline that progress does not move, and nothing else.
    pub fn within(timeout: Duration) -> Self {
        Self {
            timeout,
            max_timeout: timeout,
            cancel: CancellationToken::new(),
            on_progress: None,
            events: None,
        }
    }
}

impl Client {
    /// Speaks newline-framed JSON, as with a child's stdout and stdin.
    pub fn stdio(
        reader: impl AsyncRead + Send + Unpin + 'static,
        writer: impl AsyncWrite + Send + Unpin + 'static,
        handler: Arc<dyn ClientHandler>,
    ) -> Self {
        Self::stdio_with_limit(reader, writer, handler, MAX_MESSAGE_BYTES)
    }

    /// As [`Client::stdio`], with another limit on the size of one message.
    pub fn stdio_with_limit(
        reader: impl AsyncRead + Send + Unpin + 'static,
        writer: impl AsyncWrite + Send + Unpin + 'static,
        handler: Arc<dyn ClientHandler>,
        limit: usize,
    ) -> Self {
        let hub = Hub::new(handler);
        let transport = stdio::open(reader, writer, &hub, limit);
        Self::over(hub, transport)
    }

    /// Speaks Streamable HTTP. Nothing is sent yet.
    pub fn http(target: HttpTarget, handler: Arc<dyn ClientHandler>) -> Self {
        let hub = Hub::new(handler);
        let transport = streamable_http::open(target, &hub);
        Self::over(hub, transport)
    }

    /// Speaks the older HTTP+SSE pair: opens the stream and waits for the address to post to.
    pub async fn sse(
        target: HttpTarget,
        handler: Arc<dyn ClientHandler>,
        timeout: Duration,
    ) -> Result<Self, ClientError> {
        let hub = Hub::new(handler);
        let transport =
            tokio::time::timeout(timeout, legacy_sse::open(target, &hub)).await.map_err(
                |_| ClientError::Timeout { method: "endpoint".to_owned(), after: timeout },
            )??;
        Ok(Self::over(hub, transport))
    }

    fn over(hub: Arc<Hub>, transport: Arc<dyn Transport>) -> Self {
        Self { inner: Arc::new(Inner { hub, transport, next_id: AtomicU64::new(1) }) }
    }

    /// Sends a request and waits for its answer, no longer than the options allow.
    pub async fn request(
        &self,
        method: &str,
        mut params: Option<RawObject>,
        options: RequestOptions,
    ) -> Result<Box<RawValue>, ClientError> {
        let Inner { hub, transport, next_id } = &*self.inner;
        hub.check_open()?;
        let id = next_id.fetch_add(1, Ordering::Relaxed);
        if options.on_progress.is_some() {
            params = Some(call::with_progress_token(params.unwrap_or_default(), id));
        }
        let body = encode::request(&id.into(), method, params.as_ref());
        let call = Arc::new(Call::new(id, method, options.on_progress, options.events));
        let mut in_flight = InFlight::start(hub, transport, &call);

        let started = Instant::now();
        let hard_end = later(started, options.max_timeout);
        let exchange = transport.exchange(&call, body);
        tokio::pin!(exchange);
        loop {
            let deadline = later(call.last_activity(), options.timeout).min(hard_end);
            tokio::select! {
                biased;
                outcome = &mut exchange => {
                    in_flight.finish();
                    return outcome;
                }
                () = options.cancel.cancelled() => {
                    in_flight.abandon("cancelled by the caller");
                    return Err(ClientError::Cancelled);
                }
                () = hub.stopped() => {
                    in_flight.finish();
                    return Err(hub.closed_error());
                }
                () = sleep_until(deadline) => {
                    let moved = later(call.last_activity(), options.timeout).min(hard_end);
                    if moved <= deadline {
                        in_flight.abandon("no answer in time");
                        let after = started.elapsed();
                        return Err(ClientError::Timeout { method: method.to_owned(), after });
                    }
                }
            }
        }
    }

    /// Sends a notification.
    pub async fn notify(&self, method: &str, params: Option<RawObject>) -> Result<(), ClientError> {
        self.inner.hub.check_open()?;
        self.inner.transport.send(encode::notification(method, params.as_ref())).await
    }

    /// Why the connection is over, once it is.
    pub fn ended(&self) -> Option<String> {
        self.inner.hub.ended()
    }

    /// Waits until the connection is over.
    pub async fn wait_ended(&self) {
        self.inner.hub.stopped().await;
    }

    /// Ends the connection and everything waiting on it. Over HTTP the server is told to drop the session.
    pub async fn close(&self) {
        self.inner.transport.close().await;
        self.inner.hub.end("the connection was closed");
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.hub.end("the connection was dropped");
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Client").field("ended", &self.ended()).finish_non_exhaustive()
    }
}

/// `start + delay`, or a far day when that does not fit.
fn later(start: Instant, delay: Duration) -> Instant {
    const FAR: Duration = Duration::from_secs(60 * 60 * 24 * 365);
    start.checked_add(delay.min(FAR)).unwrap_or(start)
}
