//! The running requests of one client.

use std::{collections::HashMap, sync::Arc};

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use crate::{RawObject, RequestId, RpcError};

pub(super) const MAX_IN_FLIGHT: usize = 1024;

/// Running requests by id, so that ids are unique and can be cancelled.
pub(super) struct InFlightRequests {
    requests: Mutex<HashMap<RequestId, CancellationToken>>,
    ended: CancellationToken,
}

/// A registered request. Dropping it removes it.
pub(super) struct RunningRequest {
    table: Arc<InFlightRequests>,
    id: RequestId,
    pub(super) cancel: CancellationToken,
}

impl InFlightRequests {
    pub(super) fn new(ended: CancellationToken) -> Arc<Self> {
        Arc::new(Self { requests: Mutex::default(), ended })
    }

    pub(super) fn start(self: &Arc<Self>, id: &RequestId) -> Result<RunningRequest, RpcError> {
        let mut requests = self.requests.lock();
        if requests.contains_key(id) {
            return Err(RpcError::invalid_request(format!("request id {id} is in use")));
        }
        if requests.len() >= MAX_IN_FLIGHT {
            return Err(RpcError::internal(format!(
                "{MAX_IN_FLIGHT} requests are unanswered; wait for some of them"
            )));
        }
        let cancel = self.ended.child_token();
        requests.insert(id.clone(), cancel.clone());
        Ok(RunningRequest { table: Arc::clone(self), id: id.clone(), cancel })
    }

    pub(super) fn cancel(&self, params: Option<&RawObject>) {
        let id = params.and_then(|params| {
            serde_json::from_str::<RequestId>(params.get("requestId")?.get()).ok()
        });
        if let Some(cancel) = id.and_then(|id| self.requests.lock().get(&id).cloned()) {
            cancel.cancel();
        }
    }

    pub(super) fn count(&self) -> usize {
        self.requests.lock().len()
    }
}

impl Drop for RunningRequest {
    fn drop(&mut self) {
        self.table.requests.lock().remove(&self.id);
    }
}
