//! A running call, until it ends or asks.

use std::{future::pending, panic::AssertUnwindSafe, pin::Pin, sync::Arc, time::Duration};

use futures_util::FutureExt;
use serde_json::value::RawValue;
use tokio::runtime::Handle;
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};

use super::{call::ModernCall, client_table::ClientActivityGuard};
use crate::{
    RawObject, RpcError,
    server::{RequestExchange, ServerSession},
};

/// Questions within this time of the first are sent together.
const QUESTION_BATCH_INTERVAL: Duration = Duration::from_millis(4);

const CANCEL_TIMEOUT: Duration = Duration::from_secs(5);

pub(super) type CallResponse = Result<Box<RawValue>, RpcError>;
type CallFuture = Pin<Box<dyn Future<Output = CallResponse> + Send>>;

/// A running call. Dropping it cancels the call.
pub(super) struct RunningCall {
    pub(super) call: Arc<ModernCall>,
    work: Option<CallFuture>,
    cancel: CancellationToken,
    pub(super) busy: ClientActivityGuard,
}

pub(super) enum CallStep {
    Ended(CallResponse),
    Asked(RawObject),
    Cancelled,
}

impl RunningCall {
    /// Creates the work, which starts when the call is advanced.
    pub(super) fn new(
        session: Arc<dyn ServerSession>,
        method: String,
        params: RawObject,
        exchange: RequestExchange,
        call: Arc<ModernCall>,
        busy: ClientActivityGuard,
    ) -> Self {
        let cancel = exchange.cancel.clone();
        let work: CallFuture = Box::pin(async move {
            let work = AssertUnwindSafe(session.request(&method, Some(params), exchange));
            work.catch_unwind().await.unwrap_or_else(|_| {
                Err(RpcError::internal(format!("a fault in this server ended `{method}`")))
            })
        });
        Self { call, work: Some(work), cancel, busy }
    }

    pub(super) async fn advance(&mut self) -> CallStep {
        loop {
            if !self.call.has_questions() {
                let call = Arc::clone(&self.call);
                tokio::select! {
                    biased;
                    () = self.cancel.cancelled() => return CallStep::Cancelled,
                    outcome = work(&mut self.work) => return self.ended(outcome),
                    () = call.asked.notified() => {}
                }
            }
            tokio::select! {
                biased;
                () = self.cancel.cancelled() => return CallStep::Cancelled,
                outcome = work(&mut self.work) => return self.ended(outcome),
                () = tokio::time::sleep(QUESTION_BATCH_INTERVAL) => {}
            }
            let questions = self.call.input_requests();
            if !questions.is_empty() {
                return CallStep::Asked(questions);
            }
        }
    }

    pub(super) fn detach(&mut self) {
        self.call.disconnect();
        if let Some(work) = self.work.take() {
            let task = AbortOnDropHandle::new(tokio::spawn(work));
            self.work = Some(Box::pin(async move {
                task.await.unwrap_or_else(|_| Err(RpcError::internal("the call was lost")))
            }));
        }
    }

    fn ended(&mut self, outcome: CallResponse) -> CallStep {
        self.work = None;
        self.call.disconnect();
        CallStep::Ended(outcome)
    }
}

async fn work(work: &mut Option<CallFuture>) -> CallResponse {
    match work {
        Some(work) => work.await,
        None => pending().await,
    }
}

impl Drop for RunningCall {
    fn drop(&mut self) {
        self.call.disconnect();
        self.cancel.cancel();
        if let (Some(work), Ok(runtime)) = (self.work.take(), Handle::try_current()) {
            runtime.spawn(tokio::time::timeout(CANCEL_TIMEOUT, work));
        }
    }
}
