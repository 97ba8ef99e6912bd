//! One request on its way: who hears of its progress, and what happens when nobody waits any more.

use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::value::RawValue;
use tokio::{sync::oneshot, time::Instant};
use tokio_util::sync::CancellationToken;

use super::{
    ClientError, ClientHandler, OnProgress, RequestOptions, hub::Hub, request_head::RequestHead,
    transport::Transport,
};
use crate::{RawObject, raw};

pub(super) type Outcome = Result<Box<RawValue>, ClientError>;

/// A request that has not been answered.
pub(super) struct Call {
    pub(super) id: u64,
    pub(super) method: String,
    pub(super) events: Option<Arc<dyn ClientHandler>>,
    /// Whom the call is made for, where that is known.
    pub(super) group: Option<u64>,
    /// The task whose result it waits for.
    pub(super) task: Option<String>,
    /// Present in the modern era.
    pub(super) head: Option<RequestHead>,
    acknowledged: Option<CancellationToken>,
    on_progress: Option<OnProgress>,
    last_activity: Mutex<Instant>,
    /// Where the reading task leaves the answer, for transports that have one.
    waiter: Mutex<Option<oneshot::Sender<Outcome>>>,
}

impl Call {
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

    /// The answer, once the reading task has it.
    pub(super) fn outcome(&self) -> oneshot::Receiver<Outcome> {
        let (sender, receiver) = oneshot::channel();
        *self.waiter.lock() = Some(sender);
        receiver
    }

    /// Hands the answer over. An answer nobody waits for is dropped.
    pub(super) fn settle(&self, outcome: Outcome) {
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

    /// The server has agreed to a subscription.
    pub(super) fn acknowledge(&self) {
        if let Some(acknowledged) = &self.acknowledged {
            acknowledged.cancel();
        }
    }

    pub(super) fn last_activity(&self) -> Instant {
        *self.last_activity.lock()
    }
}

/// Keeps a call in the table while someone waits for it, and tells the server when they stop.
pub(super) struct InFlight<'a> {
    hub: &'a Arc<Hub>,
    transport: &'a Arc<dyn Transport>,
    call: &'a Arc<Call>,
    /// Why the server is told to stop; `None` once there is nothing to stop.
    reason: Option<&'static str>,
}

impl<'a> InFlight<'a> {
    pub(super) fn start(
        hub: &'a Arc<Hub>,
        transport: &'a Arc<dyn Transport>,
        call: &'a Arc<Call>,
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

impl Drop for InFlight<'_> {
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

/// Adds our progress token to a request's `_meta`.
pub(super) fn with_progress_token(mut params: RawObject, token: u64) -> RawObject {
    let mut meta = raw::object_member(&params, "_meta").unwrap_or_default();
    meta.insert("progressToken".to_owned(), raw::raw(&token));
    params.insert("_meta".to_owned(), raw::raw(&meta));
    params
}
