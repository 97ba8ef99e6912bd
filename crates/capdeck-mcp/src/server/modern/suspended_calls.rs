//! Calls that wait for a client's answers.

use std::{collections::HashMap, sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio_util::task::AbortOnDropHandle;

use super::running_call::RunningCall;
use crate::server::SessionOwner;

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

#[derive(Debug)]
pub(super) struct SuspensionLimitError;

impl SuspendedTable {
    pub(super) fn insert(
        self: &Arc<Self>,
        handle: SuspensionHandle,
        mut running: RunningCall,
        principal: SessionOwner,
        limits: SuspensionLimits,
    ) -> Result<(), SuspensionLimitError> {
        let table = Arc::downgrade(self);
        let mut calls = self.calls.lock();
        let of_principal = calls.values().filter(|call| call.principal == principal).count();
        if calls.len() >= limits.in_all || of_principal >= limits.per_principal {
            return Err(SuspensionLimitError);
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
