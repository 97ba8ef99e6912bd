//! The server half: clients of both eras, requests answered in separate tasks.
//!
//! A [`SessionFactory`] opens one [`ServerSession`] per client: by a handshake in the legacy era, on the first request of a client
//! in the modern one. Transports own the lifetime of a session; `conversation` answers requests for all transports.
//! `ping` and cancellation never reach a session.

mod conversation;
mod event_stream;
mod http_endpoint;
mod http_session;
mod modern;
mod peer;
mod response_body;
mod session_table;
mod stdio;

use std::{ops::Add, panic::AssertUnwindSafe, sync::Arc};

use async_trait::async_trait;
use futures_util::FutureExt;
use serde::Serialize;
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

pub use http_endpoint::{HttpEndpoint, HttpOptions};
pub use peer::ClientPeer;
pub use response_body::ResponseBody;
pub use stdio::{StdioOptions, serve_stdio};

use crate::{
    HeaderParams, LogSeverity, ProtocolRevision, RawObject, RequestId, RpcError, raw::raw,
};

/// Runs code of a session. A panic fails only what it was run for.
async fn guarded<T>(
    work: impl Future<Output = Result<T, RpcError>>,
    fault: impl FnOnce() -> String,
) -> Result<T, RpcError> {
    let caught = AssertUnwindSafe(work).catch_unwind().await;
    caught.unwrap_or_else(|_| Err(RpcError::internal(fault())))
}

/// Tells a session of its end.
async fn close_session(session: &dyn ServerSession) {
    if AssertUnwindSafe(session.closed()).catch_unwind().await.is_err() {
        tracing::error!("a fault in this server disturbed the end of a session");
    }
}

/// Opens sessions, one per client.
#[async_trait]
pub trait SessionFactory: Send + Sync + 'static {
    /// Answers a handshake. `peer` reaches the client outside of any request, once the session is open.
    async fn open(
        &self,
        hello: ClientHello,
        peer: ClientPeer,
    ) -> Result<Arc<dyn ServerSession>, RpcError>;

    /// The OAuth scopes that a request needs and the token of its sender lacks. Asked about every request of a message from
    /// a [`ScopedSender`], before any of them is answered.
    fn missing_scopes(
        &self,
        _extensions: &http::Extensions,
        _method: &str,
        _params: Option<&RawValue>,
    ) -> Option<MissingScopes> {
        None
    }
}

/// One client's session. In the modern era, requests with the same sender description share it.
#[async_trait]
pub trait ServerSession: Send + Sync + 'static {
    /// Returns the current `capabilities`, `serverInfo`, `instructions` and other facts about this server.
    /// Era-specific members (protocol versions, caching) are added later.
    async fn describe(&self) -> Result<RawObject, RpcError>;

    /// Answers a request. Runs in its own task; should end soon after `exchange.cancel` is cancelled, and is dropped
    /// if it does not.
    ///
    /// A session may ask the client through `exchange.peer` in both eras. In the modern one it may also return its
    /// own `input_required` result; its `requestState` is sealed on the way out and opened on the way in.
    async fn request(
        &self,
        method: &str,
        params: Option<RawObject>,
        exchange: RequestExchange,
    ) -> Result<Box<RawValue>, RpcError>;

    /// Handles a notification. Over stdio the next message waits for it, so it must return promptly.
    async fn notification(&self, method: &str, params: Option<RawObject>);

    /// Returns the parameters of a tool that modern clients repeat as HTTP headers. Others are not checked.
    async fn header_params(&self, _tool: &str) -> HeaderParams {
        HeaderParams::default()
    }

    /// The client gives no sign of life: it has no request and no stream. Called again and again until it comes back.
    async fn resting(&self) {}

    /// The session has ended. Called once.
    async fn closed(&self);
}

#[derive(Debug, Clone)]
pub struct ClientHello {
    pub requested: String,
    pub revision: ProtocolRevision,
    pub info: RawObject,
    pub capabilities: RawObject,
    /// The extensions of the HTTP request, such as the principal. Empty over stdio.
    pub extensions: http::Extensions,
}

/// The sender of a request, as earlier layers put it into its extensions. Sessions and sealed texts belong to one.
/// Requests without one share the empty principal.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct SessionOwner(pub Arc<str>);

/// The maximum number of sessions of a principal at one endpoint, in each era, from the request's extensions. Beyond
/// it the principal's own session idle longest is ended, never one of another principal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionLimit(pub usize);

/// In the extensions of a request whose sender has a token with OAuth scopes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScopedSender;

/// OAuth scopes, separated by spaces. Left in the extensions of a response that refuses a request for the lack of them,
/// for the layer that knows where the client gets a token with more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingScopes(pub String);

#[derive(Clone)]
pub struct RequestExchange {
    pub id: RequestId,
    pub revision: ProtocolRevision,
    /// The minimum log level of messages during this request. Only modern requests have it.
    pub log_level: Option<LogSeverity>,
    pub progress_token: Option<Box<RawValue>>,
    /// Cancelled when the client cancels the request or the session ends. A lost HTTP connection cancels only modern
    /// requests.
    pub cancel: CancellationToken,
    /// Reaches the client on this request's own stream.
    pub peer: ClientPeer,
}

impl RequestExchange {
    /// Acknowledges `subscriptions/listen` with the accepted notifications, before anything else is sent. The request
    /// itself is answered when the subscription ends.
    pub fn acknowledge(&self, notifications: &impl Serialize) {
        let params = RawObject::from_iter([("notifications".to_owned(), raw(notifications))]);
        self.peer.notify("notifications/subscriptions/acknowledged", Some(params));
    }
}

/// The open resources of one endpoint, or a sum of several.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ServerLoad {
    pub sessions: usize,
    /// Running requests, including subscriptions.
    pub requests: usize,
    pub streams: usize,
    pub suspended_calls: usize,
}

impl Add for ServerLoad {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            sessions: self.sessions + other.sessions,
            requests: self.requests + other.requests,
            streams: self.streams + other.streams,
            suspended_calls: self.suspended_calls + other.suspended_calls,
        }
    }
}
