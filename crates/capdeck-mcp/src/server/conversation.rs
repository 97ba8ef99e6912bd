//! The handshake, requests, notifications and responses of one client, for any transport.

use std::{
    collections::HashMap,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

use super::{
    ClientHello, RequestExchange, ServerSession, SessionFactory, close_session, guarded,
    peer::{ClientPeer, MessageOutlet, PeerRequests, PeerRoute},
};
use crate::{
    ProtocolRevision, RawObject, RequestId, RpcError, raw, request_meta::SERVER_INFO,
    rpc_error::RpcResult,
};

const CANCEL_TIMEOUT: Duration = Duration::from_secs(5);

pub(super) struct ServerConversation {
    session: OnceLock<(ProtocolRevision, Arc<dyn ServerSession>)>,
    questions: Arc<PeerRequests>,
    in_flight: Arc<InFlightRequests>,
    pub(super) ended: CancellationToken,
    /// Set when the session was notified.
    closed: AtomicBool,
}

pub(super) struct IncomingRequest {
    pub(super) id: RequestId,
    pub(super) method: String,
    pub(super) params: Option<Box<RawValue>>,
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
        ClientPeer(PeerRoute::Session(Arc::clone(&self.questions), outlet))
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

    /// Answers a request; `None` when the client cancelled it and expects no response. The request is registered
    /// immediately, so that a cancellation right after it finds it. A panic in the session fails only that request.
    pub(super) fn answer(
        &self,
        request: IncomingRequest,
        outlet: MessageOutlet,
    ) -> impl Future<Output = Option<RpcResult>> + Send + use<> {
        let IncomingRequest { id, method, params } = request;
        let registered = match (self.session.get(), method.as_str()) {
            (_, "ping") => None,
            (None, _) => {
                let message = format!("`{method}` came before `initialize`");
                Some(Err(RpcError::invalid_request(message)))
            }
            (Some(_), "initialize") => {
                Some(Err(RpcError::invalid_request("this session is initialized already")))
            }
            (Some((revision, session)), _) => {
                let running = self.in_flight.start(&id);
                Some(running.map(|running| (*revision, Arc::clone(session), running)))
            }
        };
        let peer = self.peer(outlet);
        async move {
            let (revision, session, running) = match registered {
                Some(Ok(registered)) => registered,
                Some(Err(error)) => return Some(Err(error)),
                None => return Some(Ok(raw::empty_object())),
            };
            let params = match raw::parse_params(params.as_deref()) {
                Ok(params) => params,
                Err(error) => return Some(Err(error)),
            };
            let exchange = RequestExchange {
                id,
                revision,
                log_level: None,
                progress_token: params.as_ref().and_then(progress_token),
                cancel: running.cancel.clone(),
                peer,
            };
            // A request that is already cancelled does not start.
            if running.cancel.is_cancelled() {
                return None;
            }
            let mut work = Box::pin(async move {
                guarded(session.request(&method, params, exchange), || {
                    format!("a fault in this server ended `{method}`")
                })
                .await
            });
            tokio::select! {
                // First, so that work that ends because of the cancellation does not count as a response.
                biased;
                () = running.cancel.cancelled() => {
                    tokio::spawn(tokio::time::timeout(CANCEL_TIMEOUT, work));
                    None
                }
                outcome = &mut work => Some(outcome.map(legacy_result)),
            }
        }
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
        if let Some((_, session)) = self.session.get()
            && let Err(error) = notify(&**session, method, params).await
        {
            tracing::error!(method, "{}", error.message);
        }
    }

    pub(super) fn response(&self, id: &RequestId, outcome: RpcResult) {
        self.questions.answer(id.as_counter(), outcome);
    }

    /// Cancels running requests and notifies the session. Later calls do nothing.
    pub(super) async fn rest(&self) {
        if let Some((_, session)) = self.session.get() {
            session.resting().await;
        }
    }

    pub(super) async fn end(&self) {
        self.ended.cancel();
        if self.closed.swap(true, Ordering::Relaxed) {
            return;
        }
        if let Some((_, session)) = self.session.get() {
            close_session(&**session).await;
        }
    }
}

/// Passes on a notification.
pub(super) async fn notify(
    session: &dyn ServerSession,
    method: &str,
    params: Option<RawObject>,
) -> Result<(), RpcError> {
    let handled = async {
        session.notification(method, params).await;
        Ok(())
    };
    guarded(handled, || "a fault in this server lost a notification".to_owned()).await
}

pub(super) fn progress_token(params: &RawObject) -> Option<Box<RawValue>> {
    // Most requests have no `_meta`; only those with one are parsed deeper.
    raw::object_member(params, "_meta")?.shift_remove("progressToken")
}

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

/// Opens a session. Also returns the result of its handshake.
pub(super) async fn open(
    service: &Arc<dyn SessionFactory>,
    conversation: &Arc<ServerConversation>,
    outlet: MessageOutlet,
    params: Option<Box<RawValue>>,
    extensions: http::Extensions,
) -> Result<(ProtocolRevision, Box<RawValue>), RpcError> {
    let params = raw::parse_params(params.as_deref())?.unwrap_or_default();
    let requested = raw::text_member(&params, "protocolVersion").ok_or_else(|| {
        RpcError::invalid_params("`initialize` needs a `protocolVersion`, such as `2025-11-25`")
    })?;
    let revision = ProtocolRevision::negotiate(&requested);
    let hello = ClientHello {
        requested,
        revision,
        info: raw::object_member(&params, "clientInfo").unwrap_or_default(),
        capabilities: raw::object_member(&params, "capabilities").unwrap_or_default(),
        extensions,
    };
    let fault = || "a fault in this server ended the handshake".to_owned();
    let session = guarded(service.open(hello, conversation.peer(outlet)), fault).await?;
    let described = match guarded(session.describe(), fault).await {
        Ok(described) => described,
        Err(error) => {
            session.closed().await;
            return Err(error);
        }
    };
    conversation.begin(revision, session);
    let mut result = RawObject::with_capacity(described.len() + 1);
    result.insert("protocolVersion".to_owned(), raw::raw(revision.as_str()));
    result.extend(described);
    Ok((revision, raw::raw(&result)))
}

const MODERN_RESULT_MEMBERS: [&str; 3] = ["resultType", "ttlMs", "cacheScope"];

/// Removes modern members from a result for a legacy client, when a modern server or another host answered. One without a type is returned unparsed.
fn legacy_result(result: Box<RawValue>) -> Box<RawValue> {
    if !result.get().contains(r#""resultType""#) {
        return result;
    }
    let Ok(mut members) = serde_json::from_str::<RawObject>(result.get()) else { return result };
    if members.get("resultType").is_none_or(|kind| kind.get() != r#""complete""#) {
        return result;
    }
    members.retain(|name, _| !MODERN_RESULT_MEMBERS.contains(&name.as_str()));
    raw::edit_meta(&mut members, |meta| meta.shift_remove(SERVER_INFO));
    raw::raw(&members)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        legacy_result(RawValue::from_string(text.to_owned()).unwrap()).get().to_owned()
    }

    #[test]
    fn what_the_modern_era_adds_is_taken_away() {
        let info = r#""io.modelcontextprotocol/serverInfo":{"name":"s"}"#;
        assert_eq!(
            shown(&format!(
                r#"{{"resultType":"complete","ttlMs":0,"cacheScope":"private","_meta":{{{info}}},"tools":[1.0]}}"#
            )),
            r#"{"tools":[1.0]}"#
        );
        assert_eq!(
            shown(&format!(
                r#"{{"content":[],"resultType":"complete","_meta":{{{info},"own":1}}}}"#
            )),
            r#"{"content":[],"_meta":{"own":1}}"#
        );
    }

    #[test]
    fn everything_else_is_the_same_text() {
        for text in [
            r#"{ "content": [ {"text": "resultType"} ] }"#,
            r#"{ "content": [ {"resultType": "complete"} ], "ttlMs": 1 }"#,
            r#"{ "resultType": "mine", "ttlMs": 1 }"#,
            r#"[ "resultType" ]"#,
        ] {
            assert_eq!(shown(text), text);
        }
    }
}
