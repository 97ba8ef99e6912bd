//! Dispatches the messages of a server: responses, progress, requests and notifications.

use std::{
    collections::HashMap,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering},
    },
};

use parking_lot::Mutex;
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

use super::{
    ClientError, ClientHandler, FaultSource,
    call::{ClientTransport, PendingCall},
    tool_headers::ToolHeaders,
    wakeup_timer::WakeupTimer,
};
use crate::{
    MalformedMessage, RawObject, RequestId, RpcError, RpcFrame, RpcMessage, encode,
    message_budget::MessageRoom, raw, request_meta::SUBSCRIPTION_ID, rpc_error::RpcResult,
};

const MAX_SERVER_REQUESTS: usize = 64;

const MAX_LOGGED_MESSAGES: u32 = 10;

const LOG: &str = "notifications/message";

/// The `_meta` member by which a legacy server names the task of a request.
const RELATED_TASK: &str = "io.modelcontextprotocol/related-task";

pub(super) struct MessageHub {
    pub(super) handler: Arc<dyn ClientHandler>,
    calls: Mutex<HashMap<u64, Arc<PendingCall>>>,
    pulse: WakeupTimer,
    server_requests: Mutex<HashMap<RequestId, CancellationToken>>,
    ended: OnceLock<String>,
    stop: CancellationToken,
    unreadable: AtomicU32,
    next_id: AtomicU64,
    modern: AtomicBool,
    listening: AtomicU64,
    pub(super) tools: ToolHeaders,
    pub(super) faults: OnceLock<Arc<FaultSource>>,
}

#[derive(Clone, Copy)]
pub(super) enum MessageOrigin<'a> {
    /// A stream that carries everything.
    Connection,
    /// A stream that belongs to no request.
    Session,
    Call(&'a Arc<PendingCall>),
}

impl MessageHub {
    pub(super) fn new(handler: Arc<dyn ClientHandler>) -> Arc<Self> {
        Arc::new(Self {
            handler,
            calls: Mutex::default(),
            pulse: WakeupTimer::default(),
            server_requests: Mutex::default(),
            ended: OnceLock::new(),
            stop: CancellationToken::new(),
            unreadable: AtomicU32::new(0),
            next_id: AtomicU64::new(1),
            modern: AtomicBool::new(false),
            listening: AtomicU64::new(0),
            tools: ToolHeaders::default(),
            faults: OnceLock::new(),
        })
    }

    pub(super) fn next_id(&self) -> u64 {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }

    pub(super) fn is_modern(&self) -> bool {
        self.modern.load(Ordering::Relaxed)
    }

    pub(super) fn enter_modern(&self, modern: bool) {
        self.modern.store(modern, Ordering::Relaxed);
        self.tools.forget();
    }

    pub(super) fn add_call(&self, call: Arc<PendingCall>) {
        self.pulse.mark_used();
        self.calls.lock().insert(call.id, call);
    }

    pub(super) fn remove_call(&self, id: u64) -> Option<Arc<PendingCall>> {
        self.calls.lock().remove(&id)
    }

    pub(super) fn fail_calls(&self, error: &ClientError) {
        let calls: Vec<_> = self.calls.lock().drain().map(|(_, call)| call).collect();
        for call in calls {
            call.complete(Err(error.clone()), None);
        }
    }

    /// Ends the connection. Only the first reason is stored.
    pub(super) fn end(&self, reason: impl Into<String>) {
        self.ended.set(reason.into()).ok();
        self.stop.cancel();
    }

    pub(super) fn ended(&self) -> Option<String> {
        self.ended.get().cloned()
    }

    pub(super) fn closed_error(&self) -> ClientError {
        let reason = self.ended().unwrap_or_else(|| "the connection is closed".to_owned());
        ClientError::Closed { reason }
    }

    pub(super) fn check_open(&self) -> Result<(), ClientError> {
        if self.stop.is_cancelled() { Err(self.closed_error()) } else { Ok(()) }
    }

    pub(super) async fn stopped(&self) {
        self.stop.cancelled().await;
    }

    /// Handles one frame. An unreadable frame is logged and skipped; its caller has a deadline.
    pub(super) fn receive(
        self: &Arc<Self>,
        frame: &[u8],
        room: Option<MessageRoom>,
        origin: MessageOrigin<'_>,
        transport: &Arc<dyn ClientTransport>,
    ) {
        match RpcFrame::parse(frame) {
            Ok(RpcFrame::Single(RpcMessage::Response { id, outcome })) => {
                self.complete_call(&id, outcome, room);
            }
            Ok(RpcFrame::Single(message)) => self.receive_message(message, room, origin, transport),
            Ok(RpcFrame::Batch(parts)) => {
                for part in parts {
                    match part {
                        Ok(message) => self.receive_message(message, None, origin, transport),
                        Err(malformed) => self.receive_unreadable(&malformed, frame),
                    }
                }
            }
            Err(malformed) => self.receive_unreadable(&malformed, frame),
        }
    }

    pub(super) fn receive_message(
        self: &Arc<Self>,
        message: RpcMessage,
        room: Option<MessageRoom>,
        origin: MessageOrigin<'_>,
        transport: &Arc<dyn ClientTransport>,
    ) {
        match message {
            RpcMessage::Response { id, outcome } => self.complete_call(&id, outcome, room),
            RpcMessage::Notification { method, params } => {
                let params = raw::parse_params(params.as_deref()).unwrap_or_default();
                self.receive_notification(&method, params, origin);
            }
            RpcMessage::Request { id, method, params } => {
                let receiver = match related_task(params.as_deref()) {
                    Some(task) => self.waiting_for(&task),
                    None => self.receiver(&method, origin),
                };
                self.serve_request(id, method, params, receiver, transport);
            }
        }
    }

    fn complete_call(&self, id: &RequestId, outcome: RpcResult, room: Option<MessageRoom>) {
        match id.as_counter().and_then(|id| self.remove_call(id)) {
            Some(call) => call.complete(outcome.map_err(ClientError::Rpc), room),
            None => tracing::debug!(%id, "a response to no open request was dropped"),
        }
    }

    fn receive_notification(
        &self,
        method: &str,
        params: Option<RawObject>,
        origin: MessageOrigin<'_>,
    ) {
        let mut params = params;
        if self.is_modern() {
            let subscription = params.as_mut().and_then(take_subscription);
            if method == "notifications/subscriptions/acknowledged" {
                let call = subscription.and_then(|id| self.calls.lock().get(&id).cloned());
                if let Some(call) = call {
                    self.listening.store(call.id, Ordering::Relaxed);
                    call.acknowledge();
                }
                return;
            }
            // Two streams exist for a moment while one replaces another.
            if subscription.is_some_and(|id| id != self.listening.load(Ordering::Relaxed)) {
                return;
            }
            if method == "notifications/tools/list_changed" {
                self.tools.forget();
            }
        }
        match method {
            "notifications/progress" => {
                let Some(mut params) = params else { return };
                let token = params.shift_remove("progressToken");
                let call = token
                    .and_then(|token| serde_json::from_str::<u64>(token.get()).ok())
                    .and_then(|id| self.calls.lock().get(&id).cloned());
                match call {
                    Some(call) => call.progress(params),
                    None => tracing::debug!("progress for no open request was dropped"),
                }
            }
            "notifications/cancelled" => {
                let id = params.as_ref().and_then(|params| {
                    serde_json::from_str::<RequestId>(params.get("requestId")?.get()).ok()
                });
                if let Some(cancel) = id.and_then(|id| self.server_requests.lock().remove(&id)) {
                    cancel.cancel();
                }
            }
            _ => self.receiver(method, origin).notification(method, params),
        }
    }

    /// Returns the handler of a message: that of its request if known, else that of the connection.
    fn receiver(&self, method: &str, origin: MessageOrigin<'_>) -> Arc<dyn ClientHandler> {
        let of_call = match origin {
            _ if concerns_everyone(method) => None,
            // Many servers send the logs of requests on the session's stream.
            MessageOrigin::Session if method != LOG => None,
            MessageOrigin::Call(call) => call.events.clone(),
            MessageOrigin::Session | MessageOrigin::Connection => {
                let calls = self.calls.lock();
                let candidates = calls.values().filter(|call| call.events.is_some());
                newest_of_one(candidates).and_then(|call| call.events.clone())
            }
        };
        of_call.unwrap_or_else(|| Arc::clone(&self.handler))
    }

    fn waiting_for(&self, task: &str) -> Arc<dyn ClientHandler> {
        let calls = self.calls.lock();
        let waiting = calls.values().filter(|call| call.task.as_deref() == Some(task));
        let newest = waiting.max_by_key(|call| call.id).and_then(|call| call.events.clone());
        newest.unwrap_or_else(|| Arc::clone(&self.handler))
    }

    fn serve_request(
        self: &Arc<Self>,
        id: RequestId,
        method: String,
        params: Option<Box<RawValue>>,
        receiver: Arc<dyn ClientHandler>,
        transport: &Arc<dyn ClientTransport>,
    ) {
        if method == "ping" {
            transport.send_detached(encode::response(&id, &Ok(raw::empty_object())));
            return;
        }
        // A modern server uses `input_required` results instead of requests.
        if self.is_modern() {
            tracing::debug!(method, "a request of a modern server was refused");
            let error = RpcError::method_not_found(&method);
            transport.send_detached(encode::failure(Some(&id), &error));
            return;
        }
        let params = match raw::parse_params(params.as_deref()) {
            Ok(params) => params,
            Err(error) => {
                transport.send_detached(encode::failure(Some(&id), &error));
                return;
            }
        };
        let cancel = CancellationToken::new();
        {
            let mut open = self.server_requests.lock();
            if open.len() >= MAX_SERVER_REQUESTS {
                let error = RpcError::internal("too many requests to the client at once");
                transport.send_detached(encode::failure(Some(&id), &error));
                return;
            }
            open.insert(id.clone(), cancel.clone());
        }
        let (hub, transport) = (Arc::clone(self), Arc::clone(transport));
        tokio::spawn(async move {
            let outcome = tokio::select! {
                outcome = receiver.request(&method, params) => Some(outcome),
                () = cancel.cancelled() => None,
                () = hub.stopped() => None,
            };
            hub.server_requests.lock().remove(&id);
            if let Some(outcome) = outcome {
                let reply = transport.send(None, encode::response(&id, &outcome)).await;
                if let Err(error) = reply {
                    tracing::debug!(%error, "a reply to the server could not be sent");
                }
            }
        });
    }

    /// Skips an unreadable message, unless a call waits for it.
    fn receive_unreadable(&self, malformed: &MalformedMessage, frame: &[u8]) {
        if self.unreadable.fetch_add(1, Ordering::Relaxed) < MAX_LOGGED_MESSAGES {
            let (error, excerpt) = (&malformed.error, excerpt(frame));
            tracing::warn!(%error, excerpt, "the server sent something that is no message");
        }
        let Some((id, error)) = self.answered_by(malformed, frame) else { return };
        if let Some(call) = self.remove_call(id) {
            call.complete(Err(error), None);
        }
    }

    /// The call that an unreadable message answers, and its error. Without an id it can only be the answer to the one
    /// call that is open.
    fn answered_by(
        &self,
        malformed: &MalformedMessage,
        frame: &[u8],
    ) -> Option<(u64, ClientError)> {
        if malformed.is_stray_answer() {
            return Some((self.only_call()?, ClientError::Rpc(malformed.error.clone())));
        }
        if let Some(id) = malformed.id.as_ref().filter(|_| malformed.is_answer) {
            let error = ClientError::protocol("its answer has neither `result` nor `error`");
            return Some((id.as_counter()?, error));
        }
        // What is no object is more likely a line of a log.
        let is_object = frame.trim_ascii_start().first() == Some(&b'{');
        if !is_object || str::from_utf8(frame).is_ok() {
            return None;
        }
        let error = ClientError::protocol("its answer is not valid UTF-8");
        match RpcMessage::parse(String::from_utf8_lossy(frame).as_bytes()) {
            Ok(RpcMessage::Response { id, .. }) => Some((id.as_counter()?, error)),
            Ok(RpcMessage::Request { .. } | RpcMessage::Notification { .. }) => None,
            Err(_) => Some((self.only_call()?, error)),
        }
    }

    /// The call that waits for an answer, if there is one only. A subscription waits for none.
    fn only_call(&self) -> Option<u64> {
        let listening = self.listening.load(Ordering::Relaxed);
        let calls = self.calls.lock();
        let mut waiting = calls.keys().filter(|id| **id != listening || !self.is_modern());
        let only = waiting.next().copied();
        only.filter(|_| waiting.next().is_none())
    }
}

/// Returns the only candidate, or the newest when all are for the same person. With several people a guess could show
/// a question to the wrong one.
fn newest_of_one<'a>(
    mut candidates: impl Iterator<Item = &'a Arc<PendingCall>>,
) -> Option<&'a Arc<PendingCall>> {
    let mut newest = candidates.next()?;
    for call in candidates {
        if call.group.is_none() || call.group != newest.group {
            return None;
        }
        if call.id > newest.id {
            newest = call;
        }
    }
    Some(newest)
}

fn take_subscription(params: &mut RawObject) -> Option<u64> {
    let id: RequestId = raw::edit_meta(params, |meta| {
        serde_json::from_str(meta.shift_remove(SUBSCRIPTION_ID)?.get()).ok()
    })?;
    id.as_counter()
}

fn related_task(params: Option<&RawValue>) -> Option<String> {
    // Requests rarely have one, so most are not parsed.
    let params = params.filter(|params| params.get().contains(RELATED_TASK))?;
    let params: RawObject = serde_json::from_str(params.get()).ok()?;
    let related = raw::object_member(&raw::object_member(&params, "_meta")?, RELATED_TASK)?;
    raw::text_member(&related, "taskId")
}

/// List and task changes do not belong to the call during which they arrive.
fn concerns_everyone(method: &str) -> bool {
    method.ends_with("/list_changed")
        || method == "notifications/resources/updated"
        || method.starts_with("notifications/tasks")
}

pub(super) fn excerpt(text: &[u8]) -> String {
    const MAX_EXCERPT_LENGTH: usize = 200;
    let head = text.get(..MAX_EXCERPT_LENGTH * 4).unwrap_or(text);
    let clean: String = String::from_utf8_lossy(head)
        .trim()
        .chars()
        .map(|letter| if letter.is_control() { ' ' } else { letter })
        .collect();
    if clean.chars().count() > MAX_EXCERPT_LENGTH {
        clean.chars().take(MAX_EXCERPT_LENGTH).chain(['…']).collect()
    } else {
        clean
    }
}
