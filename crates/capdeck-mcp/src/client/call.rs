//! One pending request: its progress, its response and its cancellation.

use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::value::RawValue;
use tokio::{sync::oneshot, time::Instant};
use tokio_util::sync::CancellationToken;

use super::{
    ClientError, ClientHandler, ProgressCallback, RequestOptions, message_hub::MessageHub,
    request_head::RequestHead, transport::ClientTransport,
};
use crate::{RawObject, raw};

pub(super) type ResponseResult = Result<Box<RawValue>, ClientError>;

pub(super) struct PendingCall {
    pub(super) id: u64,
    pub(super) method: String,
    pub(super) events: Option<Arc<dyn ClientHandler>>,
    pub(super) group: Option<u64>,
    pub(super) task: Option<String>,
    pub(super) head: Option<RequestHead>,
    acknowledged: Option<CancellationToken>,
    on_progress: Option<ProgressCallback>,
    last_activity: Mutex<Instant>,
    /// The reading task delivers the response here, for transports that have one.
    waiter: Mutex<Option<oneshot::Sender<ResponseResult>>>,
}

impl PendingCall {
    pub(super) fn new(
        id: u64,
        method: &str,
        options: &RequestOptions,
        head: Option<RequestHead>,
        acknowledged: Option<CancellationToken>,
        task: Option<String>,
    ) -> Self {
        Self {
            id,
            method: method.to_owned(),
            events: options.events.clone(),
            group: options.group,
            task,
            head,
            acknowledged,
            on_progress: options.on_progress.clone(),
            last_activity: Mutex::new(Instant::now()),
            waiter: Mutex::new(None),
        }
    }

    pub(super) fn outcome(&self) -> oneshot::Receiver<ResponseResult> {
        let (sender, receiver) = oneshot::channel();
        *self.waiter.lock() = Some(sender);
        receiver
    }

    pub(super) fn complete(&self, outcome: ResponseResult) {
        if let Some(waiter) = self.waiter.lock().take() {
            waiter.send(outcome).ok();
        }
    }

    pub(super) fn progress(&self, params: RawObject) {
        *self.last_activity.lock() = Instant::now();
        if let Some(on_progress) = &self.on_progress {
            on_progress(params);
        }
    }

    pub(super) fn acknowledge(&self) {
        if let Some(acknowledged) = &self.acknowledged {
            acknowledged.cancel();
        }
    }

    pub(super) fn last_activity(&self) -> Instant {
        *self.last_activity.lock()
    }
}

/// Registers a call while its future lives, and cancels it at the server when the future is dropped.
pub(super) struct PendingCallGuard<'a> {
    hub: &'a Arc<MessageHub>,
    transport: &'a Arc<dyn ClientTransport>,
    call: &'a Arc<PendingCall>,
    /// The cancellation reason; `None` when there is nothing to cancel.
    reason: Option<&'static str>,
}

impl<'a> PendingCallGuard<'a> {
    pub(super) fn start(
        hub: &'a Arc<MessageHub>,
        transport: &'a Arc<dyn ClientTransport>,
        call: &'a Arc<PendingCall>,
    ) -> Self {
        hub.add_call(Arc::clone(call));
        Self { hub, transport, call, reason: Some("the caller went away") }
    }

    pub(super) fn finish(&mut self) {
        self.reason = None;
    }

    pub(super) fn abandon(&mut self, reason: &'static str) {
        self.reason = Some(reason);
    }
}

impl Drop for PendingCallGuard<'_> {
    fn drop(&mut self) {
        self.hub.remove_call(self.call.id);
        // The protocol forbids cancelling the handshake, and a server that does not know the probe would be confused.
        if let Some(reason) = self.reason
            && !matches!(self.call.method.as_str(), "initialize" | "server/discover")
        {
            self.transport.cancel(self.call, reason);
        }
    }
}

pub(super) fn with_progress_token(mut params: RawObject, token: u64) -> RawObject {
    let mut meta = raw::object_member(&params, "_meta").unwrap_or_default();
    meta.insert("progressToken".to_owned(), raw::raw(&token));
    params.insert("_meta".to_owned(), raw::raw(&meta));
    params
}
