//! One client's requests, notifications and answers, whatever transport brings them.

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
    Exchange, Session,
    in_flight::{InFlight, Running},
    legacy_result::legacy_result,
    outlet::Outlet,
    peer::{Peer, Questions},
};
use crate::{RawObject, RequestId, Revision, RpcError, raw};

/// How long a cancelled request may take to clean up before it is dropped.
const CLEAN_UP: Duration = Duration::from_secs(5);

/// The state of one session that requests share.
pub(super) struct Conversation {
    session: OnceLock<(Revision, Arc<dyn Session>)>,
    questions: Arc<Questions>,
    in_flight: Arc<InFlight>,
    ended: CancellationToken,
    /// Set when the session has been told.
    closed: AtomicBool,
}

/// A request as it came off the wire.
pub(super) struct Request {
    pub(super) id: RequestId,
    pub(super) method: String,
    pub(super) params: Option<Box<RawValue>>,
}

/// How a request ended.
pub(super) enum Answer {
    Outcome(Result<Box<RawValue>, RpcError>),
    /// The client cancelled it and no longer waits for anything.
    Cancelled,
}

impl Conversation {
    pub(super) fn new() -> Arc<Self> {
        let ended = CancellationToken::new();
        Arc::new(Self {
            session: OnceLock::new(),
            questions: Questions::new(ended.clone()),
            in_flight: InFlight::new(ended.clone()),
            ended,
            closed: AtomicBool::new(false),
        })
    }

    /// The client, reached through `outlet`.
    pub(super) fn peer(&self, outlet: Outlet) -> Peer {
        Peer::new(Arc::clone(&self.questions), outlet)
    }

    /// Called once, when the handshake is through.
    pub(super) fn begin(&self, revision: Revision, session: Arc<dyn Session>) {
        self.session.set((revision, session)).ok();
    }

    /// How many requests are under way.
    pub(super) fn requests(&self) -> usize {
        self.in_flight.count()
    }

    pub(super) fn is_busy(&self) -> bool {
        self.in_flight.count() > 0
    }

    /// Takes one request; the future answers it. The request is under way from here on, so that a cancellation right behind it
    /// finds it. A panic in the session is that request's error and nothing else's.
    pub(super) fn answer(
        &self,
        request: Request,
        outlet: Outlet,
    ) -> impl Future<Output = Answer> + Send + use<> {
        let begun = self.begin_request(request, outlet);
        async move {
            match begun {
                Ok(Some(begun)) => begun.finish().await,
                Ok(None) => Answer::Outcome(Ok(raw::empty_object())),
                Err(error) => Answer::Outcome(Err(error)),
            }
        }
    }

    /// Begins a request; `None` for a `ping`, which is nothing to work on.
    fn begin_request(&self, request: Request, outlet: Outlet) -> Result<Option<Begun>, RpcError> {
        let Request { id, method, params } = request;
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
        let exchange = Exchange {
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
        Ok(Some(Begun { running, work }))
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

    /// Takes the client's answer to a request of ours.
    pub(super) fn response(&self, id: &RequestId, outcome: Result<Box<RawValue>, RpcError>) {
        self.questions.answer(id.as_counter(), outcome);
    }

    /// Cancels what is running and tells the session. Later calls do nothing.
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

    /// Cancels what is running, for when there is no time to wait.
    pub(super) fn abort(&self) {
        self.ended.cancel();
    }
}

/// A request that is under way.
struct Begun {
    running: Running,
    work: Pin<Box<dyn Future<Output = Result<Box<RawValue>, RpcError>> + Send>>,
}

impl Begun {
    async fn finish(self) -> Answer {
        let Self { running, mut work } = self;
        // What was cancelled before it began does not begin.
        if running.cancel.is_cancelled() {
            return Answer::Cancelled;
        }
        tokio::select! {
            // First, so that work which ends because it was cancelled does not count as an answer.
            biased;
            () = running.cancel.cancelled() => {
                tokio::spawn(tokio::time::timeout(CLEAN_UP, work));
                Answer::Cancelled
            }
            outcome = &mut work => Answer::Outcome(outcome.map(legacy_result)),
        }
    }
}

fn progress_token(params: &RawObject) -> Option<Box<RawValue>> {
    // Most requests have no `_meta`; only those that do are opened a level deeper.
    raw::object_member(params, "_meta")?.shift_remove("progressToken")
}
