//! A running call, until it ends or asks.

use std::{future::pending, panic::AssertUnwindSafe, pin::Pin, sync::Arc, time::Duration};

use futures_util::FutureExt;
use serde_json::value::RawValue;
use tokio::runtime::Handle;
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};

use super::{call::Call, client_table::Busy};
use crate::{
    RawObject, RpcError,
    server::{Exchange, Session},
};

/// Questions within this time of the first are sent together.
const GATHER: Duration = Duration::from_millis(4);

const CLEAN_UP: Duration = Duration::from_secs(5);

pub(super) type Outcome = Result<Box<RawValue>, RpcError>;
type Work = Pin<Box<dyn Future<Output = Outcome> + Send>>;

/// A running call. Dropping it cancels the call.
pub(super) struct Running {
    pub(super) call: Arc<Call>,
    work: Option<Work>,
    cancel: CancellationToken,
    pub(super) busy: Busy,
}

pub(super) enum Step {
    Ended(Outcome),
    Asked(RawObject),
    Cancelled,
}

impl Running {
    /// Creates the work, which starts when the call is advanced.
    pub(super) fn new(
        session: Arc<dyn Session>,
        method: String,
        params: RawObject,
        exchange: Exchange,
        call: Arc<Call>,
        busy: Busy,
    ) -> Self {
        let cancel = exchange.cancel.clone();
        let work: Work = Box::pin(async move {
            let work = AssertUnwindSafe(session.request(&method, Some(params), exchange));
            work.catch_unwind().await.unwrap_or_else(|_| {
                Err(RpcError::internal(format!("a fault in this server ended `{method}`")))
            })
        });
        Self { call, work: Some(work), cancel, busy }
    }

    pub(super) async fn advance(&mut self) -> Step {
        loop {
            if !self.call.has_questions() {
                let call = Arc::clone(&self.call);
                tokio::select! {
                    biased;
                    () = self.cancel.cancelled() => return Step::Cancelled,
                    outcome = work(&mut self.work) => return self.ended(outcome),
                    () = call.asked.notified() => {}
                }
            }
            tokio::select! {
                biased;
                () = self.cancel.cancelled() => return Step::Cancelled,
                outcome = work(&mut self.work) => return self.ended(outcome),
                () = tokio::time::sleep(GATHER) => {}
            }
            let questions = self.call.input_requests();
            if !questions.is_empty() {
                return Step::Asked(questions);
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

    fn ended(&mut self, outcome: Outcome) -> Step {
        self.work = None;
        self.call.disconnect();
        Step::Ended(outcome)
    }
}

async fn work(work: &mut Option<Work>) -> Outcome {
    match work {
        Some(work) => work.await,
        None => pending().await,
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.call.disconnect();
        self.cancel.cancel();
        if let (Some(work), Ok(runtime)) = (self.work.take(), Handle::try_current()) {
            runtime.spawn(tokio::time::timeout(CLEAN_UP, work));
        }
    }
}
