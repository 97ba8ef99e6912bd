//! Sends notifications and requests to the client.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::{event_stream::EventStream, modern::ModernCall};
use crate::{RawObject, RpcError, encode, rpc_error::RpcResult};

const MAX_PENDING_REQUESTS: usize = 256;

/// Sends to the client on the stream this peer was created for.
#[derive(Clone)]
pub struct ClientPeer(pub(super) PeerRoute);

#[derive(Clone)]
pub(super) enum PeerRoute {
    /// A legacy client accepts requests at any time.
    Session(Arc<PeerRequests>, MessageOutlet),
    /// A modern client gets questions in the result of its own request.
    Call(Arc<ModernCall>),
    /// A modern client outside of a request.
    Unreachable,
}

#[derive(Debug)]
pub(super) struct PeerRequests {
    next_id: AtomicU64,
    open: Mutex<HashMap<u64, oneshot::Sender<RpcResult>>>,
    /// Cancelled with the session.
    ended: CancellationToken,
}

/// Removes a question from the table, and cancels it at the client when its future is dropped.
struct PeerRequestGuard<'a> {
    questions: &'a PeerRequests,
    outlet: &'a MessageOutlet,
    id: u64,
    answered: bool,
}

impl ClientPeer {
    /// Sends a notification. It is dropped when the queue is full or the client cannot be reached.
    pub fn notify(&self, method: &str, params: Option<RawObject>) {
        match &self.0 {
            PeerRoute::Session(_, outlet) => {
                outlet.offer(encode::notification(method, params.as_ref()));
            }
            PeerRoute::Call(call) => call.notify(method, params),
            PeerRoute::Unreachable => {
                tracing::trace!(method, "a notification without a client was dropped");
            }
        }
    }

    /// Ends the connection of this request; the client reconnects for the response. Does nothing for clients that
    /// cannot resume.
    pub fn pause(&self) {
        if let PeerRoute::Session(_, outlet) = &self.0 {
            outlet.pause();
        }
    }

    /// Sends a request and waits for its response. Dropping the future cancels it.
    pub async fn request(
        &self,
        method: &str,
        params: Option<RawObject>,
        timeout: Duration,
    ) -> RpcResult {
        match &self.0 {
            PeerRoute::Session(questions, outlet) => {
                questions.put(outlet, method, params, timeout).await
            }
            PeerRoute::Call(call) => call.ask(method, params, timeout).await,
            PeerRoute::Unreachable => Err(RpcError::internal(
                "this client can be asked only while it waits for an answer of ours",
            )),
        }
    }
}

impl PeerRequests {
    pub(super) fn new(ended: CancellationToken) -> Arc<Self> {
        Arc::new(Self { next_id: AtomicU64::new(1), open: Mutex::default(), ended })
    }

    async fn put(
        &self,
        outlet: &MessageOutlet,
        method: &str,
        params: Option<RawObject>,
        timeout: Duration,
    ) -> RpcResult {
        let (id, answer) = self.ask()?;
        let mut asking = PeerRequestGuard { questions: self, outlet, id, answered: false };
        let work = async {
            if !outlet.send(encode::request(&id.into(), method, params.as_ref())).await {
                return Err(RpcError::internal("the client is gone"));
            }
            answer.await.unwrap_or_else(|_| Err(RpcError::internal("the client is gone")))
        };
        tokio::select! {
            outcome = tokio::time::timeout(timeout, work) => match outcome {
                Ok(outcome) => {
                    asking.answered = true;
                    outcome
                }
                Err(_) => Err(RpcError::internal(format!(
                    "the client did not answer `{method}` within {} ms",
                    timeout.as_millis()
                ))),
            },
            () = self.ended.cancelled() => {
                asking.answered = true;
                Err(RpcError::internal("the client's session ended"))
            }
        }
    }

    fn ask(&self) -> Result<(u64, oneshot::Receiver<RpcResult>), RpcError> {
        let (sender, receiver) = oneshot::channel();
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let mut open = self.open.lock();
        if open.len() >= MAX_PENDING_REQUESTS {
            return Err(RpcError::internal("too many requests to the client are unanswered"));
        }
        open.insert(id, sender);
        Ok((id, receiver))
    }

    /// Delivers a client's response. One without a waiting request is dropped.
    pub(super) fn answer(&self, id: Option<u64>, outcome: RpcResult) {
        match id.and_then(|id| self.open.lock().remove(&id)) {
            Some(waiting) => drop(waiting.send(outcome)),
            None => tracing::debug!("an answer to no open request was dropped"),
        }
    }
}

impl Drop for PeerRequestGuard<'_> {
    fn drop(&mut self) {
        self.questions.open.lock().remove(&self.id);
        if !self.answered {
            self.outlet.offer(encode::cancelled(&self.id.into(), "no longer needed"));
        }
    }
}

#[derive(Debug, Clone)]
pub(super) enum MessageOutlet {
    Lines(mpsc::Sender<Vec<u8>>),
    Events(Arc<EventStream>),
}

impl MessageOutlet {
    /// Sends a message that may be lost; a full queue drops it.
    pub(super) fn offer(&self, message: Vec<u8>) {
        let taken = match self {
            Self::Lines(lines) => lines.try_send(ended(message)).is_ok(),
            Self::Events(stream) => stream.offer(message.into()),
        };
        if !taken {
            tracing::debug!("a notification to a client that does not read was dropped");
        }
    }

    /// Ends the connection of a client that knows how to resume.
    pub(super) fn pause(&self) {
        if let Self::Events(stream) = self {
            stream.pause();
        }
    }

    /// Sends a message that must arrive; waits for space. Returns false when the client is gone.
    pub(super) async fn send(&self, message: Vec<u8>) -> bool {
        match self {
            Self::Lines(lines) => lines.send(ended(message)).await.is_ok(),
            Self::Events(stream) => stream.push(message.into()),
        }
    }
}

fn ended(mut message: Vec<u8>) -> Vec<u8> {
    message.push(b'\n');
    message
}
