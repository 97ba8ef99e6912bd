//! Hands what a server sends on: to the caller while a call runs, to the listener otherwise.

use std::sync::Arc;

use async_trait::async_trait;
use capdeck_catalog::RawObject;
use capdeck_mcp::{RpcError, client::ClientHandler};
use serde_json::value::RawValue;

use crate::{CallError, Caller, ErrorKind, Listener};

/// Everything that belongs to no call.
pub(super) struct ToListener(pub(super) Arc<dyn Listener>);

/// What belongs to one call.
pub(super) struct ToCaller(pub(super) Arc<dyn Caller>);

#[async_trait]
impl ClientHandler for ToListener {
    fn notification(&self, method: &str, params: Option<RawObject>) {
        self.0.notified(method, params);
    }

    async fn request(
        &self,
        method: &str,
        params: Option<RawObject>,
    ) -> Result<Box<RawValue>, RpcError> {
        self.0.requested(method, params).await.map_err(to_rpc)
    }
}

#[async_trait]
impl ClientHandler for ToCaller {
    fn notification(&self, method: &str, params: Option<RawObject>) {
        self.0.notify(method, params);
    }

    async fn request(
        &self,
        method: &str,
        params: Option<RawObject>,
    ) -> Result<Box<RawValue>, RpcError> {
        self.0.request(method, params).await.map_err(to_rpc)
    }

    fn paused(&self) {
        self.0.paused();
    }
}

/// A refusal in the server's language. An error that came from a client passes through as it was.
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
