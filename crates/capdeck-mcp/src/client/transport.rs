//! What each way of moving bytes has to offer the client.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::value::RawValue;

use super::{
    ClientError,
    call::{Call, Outcome},
};
use crate::{Revision, encode};

/// Moves messages. Implemented once per transport; called by the client and by the reading task for replies.
#[async_trait]
pub(super) trait Transport: Send + Sync {
    /// Sends a request and waits for its answer. The caller brings the deadline by dropping the future.
    async fn exchange(&self, call: &Arc<Call>, body: Vec<u8>)
    -> Result<Box<RawValue>, ClientError>;

    /// Sends a notification of this method, or a response.
    async fn send(&self, method: Option<&str>, body: Vec<u8>) -> Result<(), ClientError>;

    /// Sends as far as that goes without waiting for it.
    fn send_detached(&self, body: Vec<u8>);

    /// Nobody waits for a call any more.
    fn cancel(&self, call: &Call, reason: &str) {
        self.send_detached(encode::cancelled(&call.id.into(), reason));
    }

    /// True when a request has headers beside its body.
    fn has_headers(&self) -> bool {
        false
    }

    /// A handshake is about to start; any earlier session is forgotten.
    fn reset(&self) {}

    /// The handshake settled on a revision.
    fn negotiated(&self, _revision: Revision) {}

    /// The server was told that the handshake is done.
    fn opened(&self) {}

    /// Says goodbye where the transport has a way to.
    async fn close(&self) {}

    /// Reads a frame as the answer to one call. `None` where answers come on a stream that all calls share.
    fn take_answer(&self, _call: &Arc<Call>, _frame: &[u8]) -> Option<Outcome> {
        None
    }

    /// Acts as if the server had forgotten us; gives what the next request meets. `None` where nothing is remembered.
    fn lose_session(&self) -> Option<ClientError> {
        None
    }
}
