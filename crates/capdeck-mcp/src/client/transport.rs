//! The interface of client transports.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::value::RawValue;

use super::{
    ClientError,
    call::{PendingCall, ResponseResult},
};
use crate::{ProtocolRevision, encode};

/// Sends messages. Called by the client, and by the reading task for replies.
#[async_trait]
pub(super) trait ClientTransport: Send + Sync {
    /// Sends a request and waits for its response. The caller drops the future at its deadline.
    async fn exchange(
        &self,
        call: &Arc<PendingCall>,
        body: Vec<u8>,
    ) -> Result<Box<RawValue>, ClientError>;

    async fn send(&self, method: Option<&str>, body: Vec<u8>) -> Result<(), ClientError>;

    /// Sends without waiting; may drop the message.
    fn send_detached(&self, body: Vec<u8>);

    fn cancel(&self, call: &PendingCall, reason: &str) {
        self.send_detached(encode::cancelled(&call.id.into(), reason));
    }

    fn has_headers(&self) -> bool {
        false
    }

    /// A handshake is about to start; forget any earlier session.
    fn reset(&self) {}

    fn negotiated(&self, _revision: ProtocolRevision) {}

    /// The server received `notifications/initialized`.
    fn opened(&self) {}

    async fn close(&self) {}

    /// Parses a frame as the response to one call. `None` where all calls share a stream.
    fn take_answer(&self, _call: &Arc<PendingCall>, _frame: &[u8]) -> Option<ResponseResult> {
        None
    }

    /// Simulates a lost session; returns the error of the next request. `None` without sessions.
    fn lose_session(&self) -> Option<ClientError> {
        None
    }
}
