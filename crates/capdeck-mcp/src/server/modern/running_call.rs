//! A running call, until it ends or asks, and the calls that wait for a client's answers.

use std::{collections::HashMap, future::pending, pin::Pin, sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};

use super::{call::ModernCall, client_table::ClientActivityGuard};
use crate::{
    RawObject, RpcError,
    rpc_error::RpcResult,
    server::{RequestExchange, ServerSession, SessionOwner, guarded},
};

/// Questions within this time of the first are sent together.
const QUESTION_BATCH_INTERVAL: Duration = Duration::from_millis(4);

const CANCEL_TIMEOUT: Duration = Duration::from_secs(5);

type CallFuture = Pin<Box<dyn Future<Output = RpcResult> + Send>>;

/// A running call. Dropping it cancels the call.
pub(super) struct RunningCall {
    pub(super) call: Arc<ModernCall>,
    work: Option<CallFuture>,
    cancel: CancellationToken,
    pub(super) busy: ClientActivityGuard,
}

pub(super) enum CallStep {
    Ended(RpcResult),
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
            guarded(session.request(&method, Some(params), exchange), || {
                format!("a fault in this server ended `{method}`")
            })
            .await
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

    fn ended(&mut self, outcome: RpcResult) -> CallStep {
        self.work = None;
        self.call.disconnect();
        CallStep::Ended(outcome)
    }
}

async fn work(work: &mut Option<CallFuture>) -> RpcResult {
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

/// An unguessable handle of a suspended call.
pub(super) type SuspensionHandle = [u8; 16];

#[derive(Debug, Clone, Copy)]
pub(in crate::server) struct SuspensionLimits {
    pub(in crate::server) in_all: usize,
    pub(in crate::server) per_principal: usize,
    pub(in crate::server) lifetime: Duration,
}

/// Suspended calls by handle. A call that leaves the table without being taken is cancelled.
#[derive(Default)]
pub(super) struct SuspendedTable {
    calls: Mutex<HashMap<SuspensionHandle, SuspendedCall>>,
}

struct SuspendedCall {
    running: RunningCall,
    principal: SessionOwner,
    /// Ends the wait; dropped with the entry.
    _expiry: AbortOnDropHandle<()>,
}

impl SuspendedTable {
    pub(super) fn insert(
        self: &Arc<Self>,
        handle: SuspensionHandle,
        mut running: RunningCall,
        principal: SessionOwner,
        limits: SuspensionLimits,
    ) -> Result<(), RpcError> {
        let table = Arc::downgrade(self);
        let mut calls = self.calls.lock();
        let of_principal = calls.values().filter(|call| call.principal == principal).count();
        if calls.len() >= limits.in_all || of_principal >= limits.per_principal {
            return Err(RpcError::internal(
                "too many calls wait for answers; answer or drop some of them first",
            ));
        }
        running.detach();
        let expiry = tokio::spawn(async move {
            tokio::time::sleep(limits.lifetime).await;
            let expired = table.upgrade().and_then(|table| table.calls.lock().remove(&handle));
            if expired.is_some() {
                tracing::debug!("a call was cancelled because its questions were not answered");
            }
        });
        let entry = SuspendedCall { running, principal, _expiry: AbortOnDropHandle::new(expiry) };
        calls.insert(handle, entry);
        Ok(())
    }

    /// Resumes a call. Its handle can be used once.
    pub(super) fn take(&self, handle: &SuspensionHandle) -> Option<RunningCall> {
        self.calls.lock().remove(handle).map(|suspended| suspended.running)
    }

    pub(super) fn len(&self) -> usize {
        self.calls.lock().len()
    }

    pub(super) fn clear(&self) {
        let calls = std::mem::take(&mut *self.calls.lock());
        drop(calls);
    }
}
