//! Forwards a server's messages without secrets: to the caller during a call, otherwise to the listener.

use std::sync::Arc;

use async_trait::async_trait;
use capdeck_catalog::RawObject;
use capdeck_mcp::{RpcError, client::ClientHandler};
use serde_json::value::RawValue;

use super::given::Given;
use crate::{CallError, Caller, ErrorKind, Listener};

pub(super) struct ToListener {
    pub(super) listener: Arc<dyn Listener>,
    pub(super) given: Arc<Given>,
}

pub(super) struct ToCaller {
    pub(super) caller: Arc<dyn Caller>,
    pub(super) given: Arc<Given>,
}

#[async_trait]
impl ClientHandler for ToListener {
    fn notification(&self, method: &str, params: Option<RawObject>) {
        self.listener.notified(method, params.map(|params| self.given.scrub_params(params)));
    }

    async fn request(
        &self,
        method: &str,
        params: Option<RawObject>,
    ) -> Result<Box<RawValue>, RpcError> {
        let params = params.map(|params| self.given.scrub_params(params));
        self.listener.requested(method, params).await.map_err(to_rpc)
    }
}

#[async_trait]
impl ClientHandler for ToCaller {
    fn notification(&self, method: &str, params: Option<RawObject>) {
        self.caller.notify(method, params.map(|params| self.given.scrub_params(params)));
    }

    async fn request(
        &self,
        method: &str,
        params: Option<RawObject>,
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
