//! Forwards a server's messages without secrets: to the caller during a call, otherwise to the listener.

use std::sync::Arc;

use async_trait::async_trait;
use capdeck_catalog::RawMembers;
use capdeck_mcp::{RpcError, client::ClientHandler};
use serde_json::value::RawValue;

use super::server_scrubber::ServerScrubber;
use crate::{CallError, CallerHandle, ConnectionListener, ErrorKind};

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
