//! Serves one client over a pair of pipes.
//!
//! A client may use either era. Until a handshake, every request that describes its sender is modern; a handshake
//! makes the rest of the connection legacy. So a client that first sends `server/discover` can still choose, and the
//! `_meta` that a legacy client forwards is never taken for its own.

use std::{io, sync::Arc, time::Duration};

use serde_json::value::RawValue;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::{Semaphore, mpsc},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    SessionFactory, SessionOwner,
    conversation::{self, InFlightRequests, IncomingRequest, MAX_IN_FLIGHT, ServerConversation},
    modern::{self, ModernRequest, ModernServer, SuspensionLimits},
    peer::MessageOutlet,
};
use crate::{
    MAX_MESSAGE_BYTES, MalformedMessage, ProtocolRevision, RpcError, RpcFrame, RpcMessage,
    TextSealer, encode,
    line::{FramedLine, LineReader, write_lines},
    message::check_nesting,
    message_budget::keep_answer_room,
    raw::parse_params,
};

/// Limits of a stdio server.
#[derive(Debug, Clone)]
pub struct StdioOptions {
    /// In bytes.
    pub max_line: usize,
    /// The time for running requests after the client closed its side, before they are cancelled.
    pub finish_grace: Duration,
    /// The time for a modern client to answer questions before the call is cancelled.
    pub question_lifetime: Duration,
    /// Seals the state that modern clients store between a question and its answer.
    pub sealer: Arc<TextSealer>,
}

const QUEUE_CAPACITY: usize = 256;

/// Bounds the outstanding responses: those of running requests, and as many rejections. Beyond it the client does not
/// read, and nothing more is read from it.
const MAX_UNANSWERED: usize = 2 * MAX_IN_FLIGHT;

/// One program uses the connection, even if its descriptions differ.
const MAX_CLIENTS: usize = 64;

/// Bounds the wait for cancelled requests and unwritten responses at the end.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(2);

impl Default for StdioOptions {
    fn default() -> Self {
        Self {
            max_line: MAX_MESSAGE_BYTES,
            finish_grace: Duration::from_secs(5),
            question_lifetime: Duration::from_secs(10 * 60),
            sealer: Arc::default(),
        }
    }
}

/// Serves until the client closes its side. Dropping the future cancels every request.
pub async fn serve_stdio(
    reader: impl AsyncRead + Send + Unpin,
    writer: impl AsyncWrite + Send + Unpin + 'static,
    service: Arc<dyn SessionFactory>,
    options: StdioOptions,
) -> io::Result<()> {
    let finish = CancellationToken::new();
    let (lines, queue) = mpsc::channel(QUEUE_CAPACITY);
    let mut writing = tokio::spawn(write_lines(writer, queue, finish.clone()));
    let limits = SuspensionLimits {
        in_all: MAX_IN_FLIGHT,
        per_principal: MAX_IN_FLIGHT,
        lifetime: options.question_lifetime,
    };
    let sealer = Arc::clone(&options.sealer);
    let modern = ModernServer::new(Arc::clone(&service), sealer, MAX_CLIENTS, limits);
    let conversation = ServerConversation::new();
    let server = StdioServer {
        service,
        modern: Arc::clone(&modern),
        modern_requests: InFlightRequests::new(conversation.ended.clone()),
        conversation: Arc::clone(&conversation),
        outlet: MessageOutlet::Lines(lines),
        places: Arc::new(Semaphore::new(MAX_UNANSWERED)),
        requests: TaskTracker::new(),
        revision: None,
    };
    // Cancels everything when the serving future is dropped.
    let _abort = conversation.ended.clone().drop_guard();
    let requests = server.requests.clone();

    let served = tokio::select! {
        read = server.run(LineReader::new(reader, options.max_line)) => read,
        // Without an output there is nothing to do.
        written = &mut writing => written.unwrap_or(Ok(())),
    };
    requests.close();
    if !writing.is_finished() {
        tokio::select! {
            _ = tokio::time::timeout(options.finish_grace, requests.wait()) => {}
            _ = &mut writing => {}
        }
    }
    conversation.ended.cancel();
    modern.end().await;
    conversation.end().await;
    tokio::time::timeout(SHUTDOWN_TIMEOUT, requests.wait()).await.ok();
    // The session may hold a peer for longer, so the queue does not close by itself.
    finish.cancel();
    if !writing.is_finished() {
        tokio::time::timeout(SHUTDOWN_TIMEOUT, &mut writing).await.ok();
    }
    writing.abort();
    match served {
        // A client that stopped reading is gone, like one that closed its side.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        served => served,
    }
}

struct StdioServer {
    service: Arc<dyn SessionFactory>,
    modern: Arc<ModernServer>,
    modern_requests: Arc<InFlightRequests>,
    conversation: Arc<ServerConversation>,
    outlet: MessageOutlet,
    /// One permit per outstanding response.
    places: Arc<Semaphore>,
    requests: TaskTracker,
    revision: Option<ProtocolRevision>,
}

impl StdioServer {
    async fn run<R: AsyncRead + Unpin>(mut self, mut lines: LineReader<R>) -> io::Result<()> {
        while let Some(line) = lines.next().await? {
            match line {
                FramedLine::Text(line) => self.receive(&line).await,
                FramedLine::TooLong => {
                    let error = RpcError::invalid_request("the message is too large");
                    self.refuse(MalformedMessage::of_nobody(error)).await;
                }
            }
        }
        Ok(())
    }

    async fn receive(&mut self, line: &[u8]) {
        match check_nesting(line).and_then(|()| RpcFrame::parse(line)) {
            Ok(RpcFrame::Single(message)) => self.receive_message(message).await,
            Ok(RpcFrame::Batch(parts))
                if self.revision.is_some_and(ProtocolRevision::has_batches) =>
            {
                for part in parts {
                    match part {
                        Ok(message) => self.receive_message(message).await,
                        Err(malformed) => self.refuse(malformed).await,
                    }
                }
            }
            Ok(RpcFrame::Batch(_)) => {
                let error =
                    RpcError::invalid_request("batches are not part of this protocol revision");
                self.refuse(MalformedMessage::of_nobody(error)).await;
            }
            Err(malformed) => self.refuse(malformed).await,
        }
    }

    async fn receive_message(&mut self, message: RpcMessage) {
        let is_modern = |method: &str, params: &Option<Box<RawValue>>| {
            self.revision.is_none() && modern::is_modern(method, params.as_deref())
        };
        match message {
            RpcMessage::Request { id, method, params } if is_modern(&method, &params) => {
                self.answer_modern(IncomingRequest { id, method, params }).await;
            }
            RpcMessage::Notification { method, params } if is_modern(&method, &params) => {
                self.notify_modern(method, params).await;
            }
            RpcMessage::Request { id, method, params }
                if method == "initialize" && self.revision.is_none() =>
            {
                // Later messages need the session, so the reader waits for the handshake.
                let outlet = self.outlet.clone();
                let (service, extensions) = (&self.service, http::Extensions::new());
                let opened =
                    conversation::open(service, &self.conversation, outlet, params, extensions)
                        .await;
                let outcome = opened.map(|(revision, result)| {
                    self.revision = Some(revision);
                    result
                });
                self.outlet.send(encode::response(&id, &outcome)).await;
            }
            RpcMessage::Request { id, method, params } => {
                let outlet = self.outlet.clone();
                let request = IncomingRequest { id: id.clone(), method, params };
                let answer = self.conversation.answer(request, outlet.clone());
                let answering = async move {
                    if let Some(outcome) = answer.await {
                        outlet.send(encode::response(&id, &outcome)).await;
                    }
                };
                self.answer(answering).await;
            }
            RpcMessage::Notification { method, params } => {
                if method == "notifications/cancelled" {
                    self.cancel_modern(params.as_deref());
                }
                self.conversation.notification(&method, params).await;
            }
            RpcMessage::Response { id, outcome } => self.conversation.response(&id, outcome),
        }
    }

    /// Answers a modern request; a rejected one at once.
    async fn answer_modern(&self, request: IncomingRequest) {
        let id = request.id.clone();
        let started =
            admit(request).and_then(|request| Ok((request, self.modern_requests.start(&id)?)));
        let (request, running) = match started {
            Ok(started) => started,
            Err(error) => {
                self.outlet.send(encode::failure(Some(&id), &error)).await;
                return;
            }
        };
        let (modern, outlet) = (Arc::clone(&self.modern), self.outlet.clone());
        let answering = async move {
            let outcome = tokio::select! {
                biased;
                // A cancelled request is not answered.
                () = running.cancel.cancelled() => None,
                outcome = modern.answer(request, outlet.clone()) => Some(outcome),
            };
            drop(running);
            if let Some(outcome) = outcome {
                outlet.send(encode::text_response(&id, &outcome)).await;
            }
        };
        self.answer(answering).await;
    }

    async fn notify_modern(&self, method: String, params: Option<Box<RawValue>>) {
        if method == "notifications/cancelled" {
            return self.cancel_modern(params.as_deref());
        }
        // Notifications have no id, and no message uses this one.
        let handled = match admit(IncomingRequest { id: 0.into(), method, params }) {
            Ok(request) => self.modern.notification(request).await,
            Err(error) => Err(error),
        };
        if let Err(error) = handled {
            tracing::debug!(%error, "a notification was dropped");
        }
    }

    fn cancel_modern(&self, params: Option<&RawValue>) {
        self.modern_requests.cancel(parse_params(params).ok().flatten().as_ref());
    }

    /// Answers a request in its own task, once there is a permit for its response.
    async fn answer(&self, answering: impl Future<Output = ()> + Send + 'static) {
        // The semaphore is never closed.
        let Ok(place) = Arc::clone(&self.places).acquire_owned().await else { return };
        self.requests.spawn(keep_answer_room(async move {
            answering.await;
            drop(place);
        }));
    }

    async fn refuse(&self, malformed: MalformedMessage) {
        if malformed.is_stray_answer() {
            return;
        }
        self.outlet.send(encode::failure(malformed.id.as_ref(), &malformed.error)).await;
    }
}

fn admit(request: IncomingRequest) -> Result<ModernRequest, RpcError> {
    if modern::is_removed(&request.method) {
        return Err(RpcError::method_not_found(&request.method));
    }
    ModernRequest::read(request, SessionOwner::default(), |_| Ok(()))
}
