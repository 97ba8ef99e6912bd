//! The type checker process: started for a check, ended when idle.

use std::{sync::Arc, time::Duration};

use tokio::{
    sync::{Mutex, MutexGuard},
    task::AbortHandle,
    time::timeout,
};

use super::worker_process::{WorkerProcess, WorkerStartError};
use crate::{
    protocol::{
        CheckRequest, HostMessage, TypeCheckResult, WorkerIsolation, WorkerMessage, WorkerRole,
    },
    settings::{SandboxSettings, WorkerCommand},
};

const MAX_QUEUED_CHECKS: u32 = 3;

/// Checks cells one at a time. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct TypeChecker {
    command: WorkerCommand,
    limit: Duration,
    ttl: Duration,
    slot: Arc<Mutex<CheckerSlot>>,
}

#[derive(Debug, Default)]
struct CheckerSlot {
    process: Option<WorkerProcess>,
    ending: Option<AbortHandle>,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum CheckError {
    #[error("the type checker could not be started")]
    Start(#[from] WorkerStartError),
    #[error("the type checker is busy with other cells")]
    Busy,
    #[error("the type check took longer than {} ms and was ended", .0.as_millis())]
    Slow(Duration),
    #[error("the type checker ran out of memory or failed")]
    Failed,
}

impl TypeChecker {
    pub(super) fn new(settings: &SandboxSettings) -> Self {
        Self {
            command: settings.worker.clone(),
            limit: settings.check_timeout,
            ttl: settings.checker_ttl,
            slot: Arc::default(),
        }
    }

    /// Checks one cell. Dropping the future kills the process.
    pub(super) async fn check(&self, request: CheckRequest) -> Result<TypeCheckResult, CheckError> {
        let mut slot = self.lock_slot().await?;
        // Taken out while it works: after a failure the next check starts another one.
        let mut process = self.take(&mut slot).await?;
        process.queue(&HostMessage::Check(Box::new(request))).map_err(|_| CheckError::Failed)?;
        let answer = timeout(self.limit, process.exchange()).await;
        let checked = match answer {
            Ok(Ok(Some(WorkerMessage::Checked(Ok(checked))))) => checked,
            Ok(Ok(Some(WorkerMessage::Checked(Err(error))))) => {
                tracing::warn!(%error, "a type check failed");
                return Err(CheckError::Failed);
            }
            Ok(_) => return Err(CheckError::Failed),
            Err(_) => {
                process.kill().await;
                return Err(CheckError::Slow(self.limit));
            }
        };
        slot.process = Some(process);
        self.end_later(&mut slot);
        Ok(checked)
    }

    /// Starts the process if needed and returns its isolation.
    pub(super) async fn warm(&self) -> Result<WorkerIsolation, CheckError> {
        let mut slot = self.lock_slot().await?;
        let mut process = self.take(&mut slot).await?;
        let isolation = process.ready().await?;
        slot.process = Some(process);
        self.end_later(&mut slot);
        Ok(isolation)
    }

    pub(super) fn process(&self) -> Option<u32> {
        self.slot.try_lock().ok()?.process.as_ref()?.id()
    }

    pub(super) fn close(&self) {
        if let Ok(mut slot) = self.slot.try_lock() {
            drop(slot.process.take());
        }
    }

    async fn lock_slot(&self) -> Result<MutexGuard<'_, CheckerSlot>, CheckError> {
        timeout(self.limit * MAX_QUEUED_CHECKS, self.slot.lock())
            .await
            .map_err(|_| CheckError::Busy)
    }

    async fn take(&self, slot: &mut CheckerSlot) -> Result<WorkerProcess, CheckError> {
        if let Some(mut process) = slot.process.take()
            && process.is_alive()
        {
            return Ok(process);
        }
        Ok(WorkerProcess::start(&self.command, WorkerRole::TypeChecker).await?)
    }

    fn end_later(&self, slot: &mut CheckerSlot) {
        let held = Arc::downgrade(&self.slot);
        let ttl = self.ttl;
        let ending = tokio::spawn(async move {
            tokio::time::sleep(ttl).await;
            if let Some(held) = held.upgrade() {
                let process = held.lock().await.process.take();
                drop(process);
            }
        });
        if let Some(earlier) = slot.ending.replace(ending.abort_handle()) {
            earlier.abort();
        }
    }
}
