//! The requests, notifications and responses of one client, for any transport.

use std::{
    panic::AssertUnwindSafe,
    pin::Pin,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures_util::FutureExt;
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

use super::{
    RequestExchange, ServerSession,
    in_flight::{InFlightRequests, RunningRequest},
    legacy_result::legacy_result,
    message_outlet::MessageOutlet,
    peer::{ClientPeer, PeerRequests},
};
use crate::{ProtocolRevision, RawObject, RequestId, RpcError, raw};

const CANCEL_TIMEOUT: Duration = Duration::from_secs(5);

pub(super) struct ServerConversation {
    session: OnceLock<(ProtocolRevision, Arc<dyn ServerSession>)>,
    questions: Arc<PeerRequests>,
    in_flight: Arc<InFlightRequests>,
    ended: CancellationToken,
    /// Set when the session was notified.
    closed: AtomicBool,
}

pub(super) struct IncomingRequest {
    pub(super) id: RequestId,
    pub(super) method: String,
    pub(super) params: Option<Box<RawValue>>,
}

pub(super) enum RequestCompletion {
    Outcome(Result<Box<RawValue>, RpcError>),
    /// The client cancelled it and expects no response.
    Cancelled,
}

impl ServerConversation {
    pub(super) fn new() -> Arc<Self> {
        let ended = CancellationToken::new();
        Arc::new(Self {
            session: OnceLock::new(),
            questions: PeerRequests::new(ended.clone()),
            in_flight: InFlightRequests::new(ended.clone()),
            ended,
            closed: AtomicBool::new(false),
        })
    }

    pub(super) fn peer(&self, outlet: MessageOutlet) -> ClientPeer {
        ClientPeer::new(Arc::clone(&self.questions), outlet)
    }

    pub(super) fn begin(&self, revision: ProtocolRevision, session: Arc<dyn ServerSession>) {
        self.session.set((revision, session)).ok();
    }

    pub(super) fn requests(&self) -> usize {
        self.in_flight.count()
    }

    pub(super) fn is_busy(&self) -> bool {
        self.in_flight.count() > 0
    }

    /// Accepts one request; the future answers it. The request is registered immediately, so that a cancellation
    /// right after it finds it. A panic in the session fails only that request.
    pub(super) fn answer(
        &self,
        request: IncomingRequest,
        outlet: MessageOutlet,
    ) -> impl Future<Output = RequestCompletion> + Send + use<> {
        let begun = self.begin_request(request, outlet);
        async move {
            match begun {
                Ok(Some(begun)) => begun.finish().await,
                Ok(None) => RequestCompletion::Outcome(Ok(raw::empty_object())),
                Err(error) => RequestCompletion::Outcome(Err(error)),
            }
        }
    }

    /// Starts a request; `None` for a `ping`, which needs no work.
    fn begin_request(
        &self,
        request: IncomingRequest,
        outlet: MessageOutlet,
    ) -> Result<Option<StartedRequest>, RpcError> {
        let IncomingRequest { id, method, params } = request;
        if method == "ping" {
            return Ok(None);
        }
        let Some((revision, session)) = self.session.get() else {
            let message = format!("`{method}` came before `initialize`");
            return Err(RpcError::invalid_request(message));
        };
        if method == "initialize" {
            return Err(RpcError::invalid_request("this session is initialized already"));
        }
        let params = raw::parse_params(params.as_deref())?;
        let running = self.in_flight.start(&id)?;
        let exchange = RequestExchange {
            id,
            revision: *revision,
            log_level: None,
            progress_token: params.as_ref().and_then(progress_token),
            cancel: running.cancel.clone(),
            peer: self.peer(outlet),
        };
        let session = Arc::clone(session);
        let work = Box::pin(async move {
            let work = AssertUnwindSafe(session.request(&method, params, exchange)).catch_unwind();
            work.await.unwrap_or_else(|_| {
                Err(RpcError::internal(format!("a fault in this server ended `{method}`")))
            })
        });
        Ok(Some(StartedRequest { running, work }))
    }

    pub(super) async fn notification(&self, method: &str, params: Option<Box<RawValue>>) {
        let params = match raw::parse_params(params.as_deref()) {
            Ok(params) => params,
            Err(error) => {
                tracing::debug!(%error, method, "a notification was dropped");
                return;
            }
        };
        if method == "notifications/cancelled" {
            self.in_flight.cancel(params.as_ref());
            return;
        }
        if let Some((_, session)) = self.session.get() {
            let handled = AssertUnwindSafe(session.notification(method, params)).catch_unwind();
            if handled.await.is_err() {
                tracing::error!(method, "a fault in this server lost a notification");
            }
        }
    }

    pub(super) fn response(&self, id: &RequestId, outcome: Result<Box<RawValue>, RpcError>) {
        self.questions.answer(id.as_counter(), outcome);
    }

    /// Cancels running requests and notifies the session. Later calls do nothing.
    pub(super) async fn end(&self) {
        self.ended.cancel();
        if self.closed.swap(true, Ordering::Relaxed) {
            return;
        }
        if let Some((_, session)) = self.session.get() {
            let closed = AssertUnwindSafe(session.closed()).catch_unwind();
            if closed.await.is_err() {
                tracing::error!("a fault in this server disturbed the end of a session");
            }
        }
    }

    pub(super) fn abort(&self) {
        self.ended.cancel();
    }
}

struct StartedRequest {
    running: RunningRequest,
    work: Pin<Box<dyn Future<Output = Result<Box<RawValue>, RpcError>> + Send>>,
}

impl StartedRequest {
    async fn finish(self) -> RequestCompletion {
        let Self { running, mut work } = self;
        // A request that is already cancelled does not start.
        if running.cancel.is_cancelled() {
            return RequestCompletion::Cancelled;
        }
        tokio::select! {
            // First, so that work that ends because of the cancellation does not count as a response.
            biased;
            () = running.cancel.cancelled() => {
                tokio::spawn(tokio::time::timeout(CANCEL_TIMEOUT, work));
                RequestCompletion::Cancelled
            }
            outcome = &mut work => RequestCompletion::Outcome(outcome.map(legacy_result)),
        }
    }
}

fn progress_token(params: &RawObject) -> Option<Box<RawValue>> {
    // Most requests have no `_meta`; only those with one are parsed deeper.
    raw::object_member(params, "_meta")?.shift_remove("progressToken")
}
