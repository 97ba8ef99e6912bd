//! Forwards a server's messages without secrets: to the caller during a call, otherwise to the listener.

use std::{borrow::Cow, sync::Arc};

use async_trait::async_trait;
use capdeck_auth::SecretScrubber;
use capdeck_catalog::RawMembers;
use capdeck_mcp::{RpcError, client::ClientHandler};
use serde_json::{Value, value::RawValue};

use crate::{
    CallError, CallerHandle, ConnectionListener, ErrorKind, call_error::scrub_json,
    sign_in::CapabilitySignIn,
};

pub(super) struct ListenerBridge {
    pub(super) listener: Arc<dyn ConnectionListener>,
    pub(super) given: Arc<ServerScrubber>,
}

pub(super) struct CallerBridge {
    pub(super) caller: Arc<dyn CallerHandle>,
    pub(super) given: Arc<ServerScrubber>,
}

#[async_trait]
impl ClientHandler for ListenerBridge {
    fn notification(&self, method: &str, params: Option<RawMembers>) {
        self.listener.notified(method, params.map(|params| self.given.scrub_params(params)));
    }

    async fn request(
        &self,
        method: &str,
        params: Option<RawMembers>,
    ) -> Result<Box<RawValue>, RpcError> {
        let params = params.map(|params| self.given.scrub_params(params));
        self.listener.requested(method, params).await.map_err(to_rpc)
    }
}

#[async_trait]
impl ClientHandler for CallerBridge {
    fn notification(&self, method: &str, params: Option<RawMembers>) {
        self.caller.notify(method, params.map(|params| self.given.scrub_params(params)));
    }

    async fn request(
        &self,
        method: &str,
        params: Option<RawMembers>,
    ) -> Result<Box<RawValue>, RpcError> {
        let params = params.map(|params| self.given.scrub_params(params));
        self.caller.request(method, params).await.map_err(to_rpc)
    }

    fn paused(&self) {
        self.caller.paused();
    }
}

/// Converts an error to JSON-RPC. A client's own JSON-RPC error passes through.
fn to_rpc(error: CallError) -> RpcError {
    if let Some(failure) = error.rpc {
        let mut passed = RpcError::new(failure.code, failure.message);
        passed.data = failure.data;
        return passed;
    }
    let code = match error.kind() {
        ErrorKind::Unsupported | ErrorKind::NotFound => RpcError::METHOD_NOT_FOUND,
        ErrorKind::BadInput => RpcError::INVALID_PARAMS,
        ErrorKind::Denied
        | ErrorKind::NeedsLogin
        | ErrorKind::Unavailable
        | ErrorKind::TimedOut
        | ErrorKind::Cancelled
        | ErrorKind::BackendFailed
        | ErrorKind::Bug => RpcError::INTERNAL_ERROR,
    };
    RpcError::new(code, error.message)
}

/// The secrets of a server: from its definition and from its sign-in.
#[derive(Debug)]
pub(super) struct ServerScrubber {
    by_definition: SecretScrubber,
    sign_in: Option<CapabilitySignIn>,
}

impl ServerScrubber {
    pub(super) fn new(by_definition: SecretScrubber, sign_in: Option<CapabilitySignIn>) -> Self {
        Self { by_definition, sign_in }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.scrubber().is_empty()
    }

    /// Returns a server's message byte for byte, unless it contains one of its secrets.
    pub(super) fn scrub(&self, said: Box<RawValue>) -> Box<RawValue> {
        scrub(said, &self.scrubber())
    }

    /// The same for requests and notifications during a call.
    pub(super) fn scrub_params(&self, params: RawMembers) -> RawMembers {
        let scrubber = &*self.scrubber();
        if scrubber.is_empty() {
            return params;
        }
        params.into_iter().map(|(name, said)| (name, scrub(said, scrubber))).collect()
    }

    fn scrubber(&self) -> Cow<'_, SecretScrubber> {
        let base = &self.by_definition;
        self.sign_in.as_ref().map_or(Cow::Borrowed(base), |sign_in| sign_in.scrubber(base))
    }
}

fn scrub(said: Box<RawValue>, scrubber: &SecretScrubber) -> Box<RawValue> {
    if scrubber.is_empty() {
        return said;
    }
    let scrubbed = match scrubber.text(said.get()) {
        Cow::Borrowed(_) => return said,
        Cow::Owned(text) => text,
    };
    RawValue::from_string(scrubbed).unwrap_or_else(|_| {
        // The secret is outside of any string, so only a walk over the values is safe.
        let mut value: Value = serde_json::from_str(said.get()).unwrap_or_default();
        scrub_json(&mut value, scrubber);
        serde_json::value::to_raw_value(&value).unwrap_or(said)
    })
}
