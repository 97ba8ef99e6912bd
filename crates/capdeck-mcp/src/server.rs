//! The server half: sessions opened by a handshake, requests answered in tasks of their own.
//!
//! A [`Service`] opens one [`Session`] per client. How a session begins and ends is each transport's affair; how a
//! request is answered is the same everywhere and lives in `conversation`. `ping` and cancellation never reach a session.

mod conversation;
mod event_stream;
mod handshake;
mod http_endpoint;
mod http_session;
mod outlet;
mod peer;
mod response_body;
mod session_table;
mod stdio;

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

pub use http_endpoint::{HttpEndpoint, HttpOptions};
pub use peer::Peer;
pub use response_body::ResponseBody;
pub use stdio::{StdioOptions, serve_stdio, serve_stdio_with};

use crate::{RawObject, RequestId, Revision, RpcError};

/// Opens sessions. Implemented by whoever has something to offer; called once per client.
#[async_trait]
pub trait Service: Send + Sync + 'static {
    /// Answers a handshake. `peer` reaches the client outside of any request, once the session is open.
    async fn open(&self, hello: ClientHello, peer: Peer) -> Result<Opened, RpcError>;
}

/// One client's session.
#[async_trait]
pub trait Session: Send + Sync + 'static {
    /// Answers a request. Runs in a task of its own; should end soon after `exchange.cancel` is cancelled, and is
    /// dropped if it does not.
    async fn request(
        &self,
        method: &str,
        params: Option<RawObject>,
        exchange: Exchange,
    ) -> Result<Box<RawValue>, RpcError>;

    /// Takes a notification. Over stdio the next message waits for it, so it must return promptly.
    async fn notification(&self, method: &str, params: Option<RawObject>);

    /// The session is over. Called once.
    async fn closed(&self);
}

/// How a client introduced itself.
#[derive(Debug, Clone)]
pub struct ClientHello {
    /// The revision it asked for, as it wrote it.
    pub requested: String,
    /// The revision that will be spoken.
    pub revision: Revision,
    /// `clientInfo`.
    pub info: RawObject,
    pub capabilities: RawObject,
    /// What earlier layers attached to the HTTP request, such as who is asking. Empty over stdio.
    pub extensions: http::Extensions,
}

/// A session and what its client is told first.
pub struct Opened {
    /// `capabilities`, `serverInfo`, `instructions` and whatever else belongs into the answer; the protocol version
    /// is added.
    pub result: RawObject,
    pub session: Arc<dyn Session>,
}

/// What surrounds one request.
#[derive(Debug, Clone)]
pub struct Exchange {
    pub id: RequestId,
    /// The client's progress token, exactly as sent.
    pub progress_token: Option<Box<RawValue>>,
    /// Cancelled when the client cancels the request or the session ends. A lost HTTP connection is neither.
    pub cancel: CancellationToken,
    /// Reaches the client on this request's own stream.
    pub peer: Peer,
}
