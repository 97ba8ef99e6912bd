//! Injected faults between a client and its server.
//!
//! A layer around the transport, so that it works for every transport. Damaged responses go through the same reader
//! as real ones.

mod fault_source;

use std::{future::pending, ops::RangeInclusive, sync::Arc, time::Duration};

use async_trait::async_trait;

pub use fault_source::FaultSource;

use super::{
    ClientError,
    call::{PendingCall, ResponseResult},
    message_hub::{MessageHub, MessageOrigin},
    transport::ClientTransport,
};
use crate::{ProtocolRevision, encode};

/// The faults to inject; each share is between 0 and 1.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FaultSettings {
    /// The same seed gives the same faults in the same order.
    pub seed: Option<u64>,
    pub delay: Option<RangeInclusive<Duration>>,
    pub drop: f64,
    pub truncate: f64,
    pub malformed: f64,
    /// A list change is announced before the response.
    pub list_change: f64,
    pub expire: f64,
    /// The affected methods; empty means all except the handshake.
    pub only: Vec<String>,
}

#[derive(Debug, Clone, Default, PartialEq)]
struct FaultPlan {
    delay: Duration,
    list_change: bool,
    fault: Option<InjectedFault>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum InjectedFault {
    LoseRequest,
    LoseAnswer,
    Truncate,
    Malformed,
    Expire,
}

/// Without these requests there is no connection to test.
const HANDSHAKE: [&str; 2] = ["initialize", "server/discover"];

const LIST_CHANGED: &[u8] = br#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;

impl FaultSettings {
    fn concerns(&self, method: &str) -> bool {
        if self.only.is_empty() {
            !HANDSHAKE.contains(&method)
        } else {
            self.only.iter().any(|only| only == method)
        }
    }
}

struct FaultyTransport {
    faults: Arc<FaultSource>,
    hub: Arc<MessageHub>,
    inner: Arc<dyn ClientTransport>,
}

pub(super) fn wrap(
    faults: Arc<FaultSource>,
    hub: &Arc<MessageHub>,
    inner: Arc<dyn ClientTransport>,
) -> Arc<dyn ClientTransport> {
    Arc::new(FaultyTransport { faults, hub: Arc::clone(hub), inner })
}

impl FaultyTransport {
    async fn deliver(&self, call: &Arc<PendingCall>, frame: &[u8]) -> ResponseResult {
        if let Some(outcome) = self.inner.take_answer(call, frame) {
            return outcome;
        }
        self.hub.receive(frame, MessageOrigin::Connection, &self.inner);
        pending().await
    }
}

#[async_trait]
impl ClientTransport for FaultyTransport {
    async fn exchange(&self, call: &Arc<PendingCall>, body: Vec<u8>) -> ResponseResult {
        let Some(plan) = self.faults.plan(&call.method) else {
            return self.inner.exchange(call, body).await;
        };
        if plan != FaultPlan::default() {
            tracing::debug!(method = call.method, ?plan, "chaos");
        }
        tokio::time::sleep(plan.delay).await;
        match plan.fault {
            // The deadline or the caller ends the wait.
            Some(InjectedFault::LoseRequest) => return pending().await,
            Some(InjectedFault::Expire) => {
                if let Some(error) = self.inner.lose_session() {
                    return Err(error);
                }
            }
            _ => {}
        }
        let outcome = self.inner.exchange(call, body).await;
        if plan.list_change {
            self.hub.receive(LIST_CHANGED, MessageOrigin::Session, &self.inner);
        }
        let answer = match (plan.fault, &outcome) {
            (Some(InjectedFault::LoseAnswer), Ok(_) | Err(ClientError::Rpc(_))) => {
                return pending().await;
            }
            (Some(InjectedFault::Truncate | InjectedFault::Malformed), Ok(result)) => {
                Ok(result.clone())
            }
            (
                Some(InjectedFault::Truncate | InjectedFault::Malformed),
                Err(ClientError::Rpc(error)),
            ) => Err(error.clone()),
            // There is no response to damage.
            _ => return outcome,
        };
        let mut frame = encode::response(&call.id.into(), &answer);
        if plan.fault == Some(InjectedFault::Truncate) {
            frame.truncate(frame.len() / 2);
        } else {
            frame.splice(.., *b"this is not a message");
        }
        self.deliver(call, &frame).await
    }

    async fn send(&self, method: Option<&str>, body: Vec<u8>) -> Result<(), ClientError> {
        self.inner.send(method, body).await
    }

    fn send_detached(&self, body: Vec<u8>) {
        self.inner.send_detached(body);
    }

    fn cancel(&self, call: &PendingCall, reason: &str) {
        self.inner.cancel(call, reason);
    }

    fn has_headers(&self) -> bool {
        self.inner.has_headers()
    }

    fn reset(&self) {
        self.inner.reset();
    }

    fn negotiated(&self, revision: ProtocolRevision) {
        self.inner.negotiated(revision);
    }

    fn opened(&self) {
        self.inner.opened();
    }

    async fn close(&self) {
        self.inner.close().await;
    }

    fn take_answer(&self, call: &Arc<PendingCall>, frame: &[u8]) -> Option<ResponseResult> {
        self.inner.take_answer(call, frame)
    }

    fn lose_session(&self) -> Option<ClientError> {
        self.inner.lose_session()
    }
}
