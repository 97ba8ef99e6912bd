//! The server half: clients of both eras, requests answered in tasks of their own.
//!
//! A [`Service`] opens one [`Session`] per client: by a handshake in the legacy era, on the first request of a client
//! in the modern one. How a session begins and ends is each transport's affair; how a request is answered is the same
//! everywhere and lives in `conversation`. `ping` and cancellation never reach a session.

mod conversation;
mod event_stream;
mod handshake;
mod header_check;
mod http_endpoint;
mod http_session;
mod in_flight;
mod legacy_result;
mod load;
mod modern;
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
pub use load::Load;
pub use peer::Peer;
pub use response_body::ResponseBody;
pub use stdio::{StdioOptions, serve_stdio, serve_stdio_with};

use crate::{HeaderParams, RawObject, RequestId, Revision, RpcError, raw::raw};

/// Opens sessions. Implemented by whoever has something to offer; called once per client.
#[async_trait]
pub trait Service: Send + Sync + 'static {
    /// Answers a handshake. `peer` reaches the client outside of any request, once the session is open.
    async fn open(&self, hello: ClientHello, peer: Peer) -> Result<Arc<dyn Session>, RpcError>;

    /// The OAuth scopes that a request needs and the token of its sender lacks. Over HTTP it is asked about every request
    /// of a message before any of them is answered.
    fn missing_scopes(
        &self,
        _extensions: &http::Extensions,
        _method: &str,
        _params: Option<&RawValue>,
    ) -> Option<MissingScopes> {
        None
    }
}

/// One client's session. In the modern era: everything that is the same for requests whose sender says the same
/// about itself.
#[async_trait]
pub trait Session: Send + Sync + 'static {
    /// `capabilities`, `serverInfo`, `instructions` and whatever else a client is told about this server, as it is
    /// now. What belongs to an era (protocol versions, caching) is added.
    async fn describe(&self) -> Result<RawObject, RpcError>;

    /// Answers a request. Runs in a task of its own; should end soon after `exchange.cancel` is cancelled, and is
    /// dropped if it does not.
    ///
    /// A session may ask the client through `exchange.peer` in both eras. In the modern one it may also answer with
    /// an `input_required` result of its own; its `requestState` is sealed on the way out and opened on the way in.
    async fn request(
        &self,
        method: &str,
        params: Option<RawObject>,
        exchange: Exchange,
    ) -> Result<Box<RawValue>, RpcError>;

    /// Takes a notification. Over stdio the next message waits for it, so it must return promptly.
    async fn notification(&self, method: &str, params: Option<RawObject>);

    /// The parameters of a tool that modern clients repeat as HTTP headers. What is not named here is not checked.
    async fn header_params(&self, _tool: &str) -> HeaderParams {
        HeaderParams::default()
    }

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

/// Who a session belongs to, as earlier layers established it and left it in a request's extensions. Everything that a
/// client is given belongs to one. Requests without one share the empty owner.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct SessionOwner(pub Arc<str>);

/// How many sessions whoever asks may have open at one endpoint, in each era, as earlier layers left it in a request's
/// extensions. Beyond that their own session idle longest makes room for the next, and nobody else's does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionLimit(pub usize);

/// OAuth scopes, separated by spaces. Left in the extensions of a response that refuses a request for the lack of them,
/// for the layer that knows where the client gets a token with more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingScopes(pub String);

/// What surrounds one request.
#[derive(Debug, Clone)]
pub struct Exchange {
    pub id: RequestId,
    /// The revision this request speaks.
    pub revision: Revision,
    /// The least severe log message the client wants while this request runs. Only modern requests say.
    pub log_level: Option<String>,
    /// The client's progress token, exactly as sent.
    pub progress_token: Option<Box<RawValue>>,
    /// Cancelled when the client cancels the request or the session ends. A lost HTTP connection cancels only
    /// modern requests.
    pub cancel: CancellationToken,
    /// Reaches the client on this request's own stream.
    pub peer: Peer,
}

impl Exchange {
    /// Answers `subscriptions/listen` before anything else is sent on it: these notifications will come. The request
    /// itself is answered when the subscription ends.
    pub fn acknowledge(&self, notifications: &RawObject) {
        let params = RawObject::from_iter([("notifications".to_owned(), raw(notifications))]);
        self.peer.notify("notifications/subscriptions/acknowledged", Some(params));
    }
}
