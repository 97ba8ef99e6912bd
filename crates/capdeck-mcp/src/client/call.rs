//! One pending request: it is sent, waits for its response within its deadlines, and is cancelled when its caller is gone.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use parking_lot::Mutex;
use serde_json::value::RawValue;
use tokio::{
    sync::oneshot,
    time::{Instant, sleep_until},
};
use tokio_util::sync::CancellationToken;

use super::{
    ClientError, ClientHandler, ProgressCallback, RequestOptions, chaos, message_hub::MessageHub,
};
use crate::{
    ProtocolRevision, RawObject, encode,
    message_budget::{AnswerWait, MessageRoom},
    raw,
    request_head::RequestHead,
};

pub(super) type ResponseResult = Result<Box<RawValue>, ClientError>;

/// Sends messages. Called by the client, and by the reading task for replies.
#[async_trait]
pub(super) trait ClientTransport: Send + Sync {
    /// Sends a request and waits for its response. The caller drops the future at its deadline.
    async fn exchange(&self, call: &Arc<PendingCall>, body: Vec<u8>) -> ResponseResult;

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
    fn lose_session(&self) -> Option<ClientError>;
}

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
    /// The room of a large answer.
    room: Mutex<Option<MessageRoom>>,
}

impl PendingCall {
    pub(super) fn outcome(&self) -> oneshot::Receiver<ResponseResult> {
        let (sender, receiver) = oneshot::channel();
        *self.waiter.lock() = Some(sender);
        receiver
    }

    pub(super) fn complete(&self, outcome: ResponseResult, room: Option<MessageRoom>) {
        self.keep_room(room);
        if let Some(waiter) = self.waiter.lock().take() {
            waiter.send(outcome).ok();
        }
    }

    pub(super) fn keep_room(&self, room: Option<MessageRoom>) {
        *self.room.lock() = room;
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
}

/// Registers a call while its future lives, and cancels it at the server when the future is dropped.
struct PendingCallGuard<'a> {
    hub: &'a Arc<MessageHub>,
    transport: &'a Arc<dyn ClientTransport>,
    call: &'a Arc<PendingCall>,
    /// The cancellation reason; `None` when there is nothing to cancel.
    reason: Option<&'static str>,
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

pub(super) struct OutgoingRequest<'a> {
    pub(super) method: &'a str,
    /// Stays with the caller, who may send it again; a progress token is added.
    pub(super) params: &'a mut Option<RawObject>,
    pub(super) head: Option<RequestHead>,
    /// Cancelled when the server acknowledges a subscription.
    pub(super) acknowledged: Option<CancellationToken>,
}

/// Sends a request and waits for its response, within the options and never beyond `hard_end`.
pub(super) async fn exchange(
    hub: &Arc<MessageHub>,
    transport: &Arc<dyn ClientTransport>,
    outgoing: OutgoingRequest<'_>,
    options: &RequestOptions,
    hard_end: Instant,
) -> ResponseResult {
    let OutgoingRequest { method, params, head, acknowledged } = outgoing;
    let id = hub.next_id();
    if options.on_progress.is_some() {
        let token = [("progressToken", raw::raw(&id))];
        raw::extend_meta(params.get_or_insert_default(), token);
    }
    let body = encode::request(&id.into(), method, params.as_ref());
    let waited_for = || raw::text_member(params.as_ref()?, "taskId");
    let call = Arc::new(PendingCall {
        id,
        method: method.to_owned(),
        events: options.events.clone(),
        group: options.group,
        task: (method == "tasks/result").then(waited_for).flatten(),
        head,
        acknowledged,
        on_progress: options.on_progress.clone(),
        last_activity: Mutex::new(Instant::now()),
        waiter: Mutex::default(),
        room: Mutex::default(),
    });
    let wait = AnswerWait::start();
    hub.add_call(Arc::clone(&call));
    let reason = Some("the caller went away");
    let mut in_flight = PendingCallGuard { hub, transport, call: &call, reason };

    let started = Instant::now();
    let exchange = async {
        match hub.faults.get() {
            None => transport.exchange(&call, body).await,
            Some(faults) => chaos::exchange(hub, transport, faults, &call, body).await,
        }
    };
    tokio::pin!(exchange);
    let deadline_now =
        || saturating_deadline(*call.last_activity.lock(), options.timeout).min(hard_end);
    loop {
        let deadline = deadline_now();
        tokio::select! {
            biased;
            outcome = &mut exchange => {
                in_flight.reason = None;
                wait.finish(call.room.lock().take());
                return outcome;
            }
            () = options.cancel.cancelled() => {
                in_flight.reason = Some("cancelled by the caller");
                return Err(ClientError::Cancelled);
            }
            () = hub.stopped() => {
                in_flight.reason = None;
                return Err(hub.closed_error());
            }
            () = sleep_until(deadline) => {
                if deadline_now() <= deadline {
                    in_flight.reason = Some("no answer in time");
                    return Err(ClientError::timeout(method, started.elapsed()));
                }
            }
        }
    }
}

/// Returns `start + delay`, or a far time on overflow.
pub(super) fn saturating_deadline(start: Instant, delay: Duration) -> Instant {
    const FAR_FUTURE: Duration = Duration::from_secs(60 * 60 * 24 * 365);
    start.checked_add(delay.min(FAR_FUTURE)).unwrap_or(start)
}
