//! The modern era: self-contained requests, and questions as results.
//!
//! Requests of all transports are answered here: the sender's session is found or opened, the session's request runs,
//! and its result gets the modern form. Dropping the future cancels the request.

mod call;
mod client_table;
mod finish;
mod input_capability;
mod legacy_error;
mod request_state;
mod result;
mod running_call;
mod sender;

use std::{sync::Arc, time::Duration};

use futures_util::future::join_all;
use serde_json::value::RawValue;

pub(super) use call::ModernCall;
pub(super) use running_call::SuspensionLimits;

use super::{
    ClientPeer, RequestExchange, ServerLoad, ServerSession, SessionFactory, SessionLimit,
    SessionOwner,
    conversation::{IncomingRequest, notify, progress_token},
    http_session::NO_STREAM_FACTOR,
    peer::{MessageOutlet, PeerRoute},
};
use crate::{
    ProtocolRevision, RawObject, RequestId, RpcError, TextSealer,
    raw::{self, object_member, raw},
    request_head,
    request_meta::{self, RequestMeta},
};
use call::WaitingRequest;
use client_table::{ClientActivityGuard, ClientTable, ClientTableEntry};
use request_state::{RequestState, StateBinding};
use result::ResultAdditions;
use running_call::{RunningCall, SuspendedTable};
use sender::RequestSender;

pub(super) struct ModernServer {
    service: Arc<dyn SessionFactory>,
    sealer: Arc<TextSealer>,
    max_clients: usize,
    limits: SuspensionLimits,
    clients: ClientTable,
    suspended: Arc<SuspendedTable>,
}

pub(super) struct ModernRequest {
    pub(super) id: RequestId,
    pub(super) method: String,
    /// As sent.
    pub(super) written: Option<Box<RawValue>>,
    /// Without the sender.
    pub(super) params: RawObject,
    pub(super) sender: RequestSender,
    pub(super) principal: SessionOwner,
    pub(super) extensions: http::Extensions,
    pub(super) headers: Option<http::HeaderMap>,
}

impl ModernRequest {
    /// Reads a request whose version `check_version` accepts.
    pub(super) fn read(
        request: IncomingRequest,
        principal: SessionOwner,
        check_version: impl FnOnce(Option<&str>) -> Result<(), RpcError>,
    ) -> Result<Self, RpcError> {
        let IncomingRequest { id, method, params: written } = request;
        let mut params = raw::parse_params(written.as_deref())?.unwrap_or_default();
        let meta = RequestMeta::take(&mut params);
        check_version(meta.protocol_version.as_deref())?;
        let sender = RequestSender::read(meta)?;
        let extensions = http::Extensions::new();
        Ok(Self { id, method, written, params, sender, principal, extensions, headers: None })
    }
}

/// Returns whether a request is modern: it describes its sender or uses a modern method.
pub(super) fn is_modern(method: &str, params: Option<&RawValue>) -> bool {
    if method == "server/discover" {
        return true;
    }
    let Some(params) = params else { return false };
    // Legacy requests rarely contain this, so most are not parsed.
    params.get().contains("io.modelcontextprotocol/")
        && raw::parse_params(Some(params)).ok().flatten().is_some_and(|params| {
            object_member(&params, "_meta").is_some_and(|meta| request_meta::is_sender(&meta))
        })
}

impl ModernServer {
    pub(super) fn new(
        service: Arc<dyn SessionFactory>,
        sealer: Arc<TextSealer>,
        max_clients: usize,
        limits: SuspensionLimits,
    ) -> Arc<Self> {
        let (clients, suspended) = (ClientTable::default(), Arc::default());
        Arc::new(Self { service, sealer, max_clients, limits, clients, suspended })
    }

    pub(super) fn load(&self) -> ServerLoad {
        let (sessions, requests) = self.clients.count();
        ServerLoad { sessions, requests, streams: 0, suspended_calls: self.suspended.len() }
    }

    pub(super) async fn answer(
        &self,
        request: ModernRequest,
        outlet: MessageOutlet,
    ) -> Result<String, RpcError> {
        if is_removed(&request.method) {
            return Err(RpcError::method_not_found(&request.method));
        }
        let busy = self.enter(&request)?;
        let ModernRequest { id, method, written, mut params, sender, principal, .. } = request;
        let client = Arc::clone(&busy.0);
        let session =
            self.clients.session(&client, &self.service, &sender, request.extensions).await?;
        if let Some(headers) = &request.headers
            && method == "tools/call"
        {
            let tool = raw::text_member(&params, "name");
            if let Some(tool) = tool {
                let annotated = session.header_params(&tool).await;
                request_head::check_params(headers, &annotated, &params)?;
            }
        }
        if method == "server/discover" {
            return self.discover(&client).await;
        }
        let binding =
            StateBinding { principal: &principal, method: &method, params: written.as_deref() };
        let may_ask = may_ask(&method);
        let suspended = if may_ask { self.read_state(&mut params, &binding)? } else { None };
        let line = WaitingRequest {
            outlet: Some(outlet),
            capabilities: Arc::clone(&sender.capabilities),
            progress_token: progress_token(&params),
            log_level: sender.log_level,
        };
        let running = match suspended {
            Some((running, answers)) => {
                running.call.connect(line, answers);
                running
            }
            None => start(session, id.clone(), &method, params, &sender, line, busy),
        };
        let context = ModernRequestContext { id: &id, binding, sender: &sender };
        self.drive(running, &context).await
    }

    pub(super) async fn notification(&self, request: ModernRequest) -> Result<(), RpcError> {
        if is_removed(&request.method) {
            return Err(RpcError::method_not_found(&request.method));
        }
        let busy = self.enter(&request)?;
        let ModernRequest { method, params, sender, extensions, .. } = request;
        let session = self.clients.session(&busy.0, &self.service, &sender, extensions).await?;
        notify(&*session, &method, Some(params)).await
    }

    pub(super) async fn sweep(&self, idle_limit: Duration) {
        let idle = self.clients.sweep(idle_limit);
        join_all(idle.iter().map(|client| client.end())).await;
    }

    pub(super) async fn rest(&self, rest: Duration) {
        join_all(
            self.clients.sessions_idle_for(rest * NO_STREAM_FACTOR).iter().map(|one| one.resting()),
        )
        .await;
    }

    pub(super) async fn end(&self) {
        self.suspended.clear();
        let all = self.clients.drain();
        join_all(all.iter().map(|client| client.end())).await;
    }

    fn enter(&self, request: &ModernRequest) -> Result<ClientActivityGuard, RpcError> {
        let limit = request.extensions.get::<SessionLimit>().copied();
        let (busy, evicted) =
            self.clients.enter(&request.principal, &request.sender, self.max_clients, limit)?;
        if let Some(evicted) = evicted {
            tracing::info!("the client idle longest was ended to make room for another");
            tokio::spawn(async move { evicted.end().await });
        }
        Ok(busy)
    }

    async fn discover(&self, client: &ClientTableEntry) -> Result<String, RpcError> {
        let mut described = client.describe().await?;
        described.shift_remove("serverInfo");
        let info = client.server_info().await;
        let versions: Vec<&str> =
            ProtocolRevision::modern().map(ProtocolRevision::as_str).collect();
        described.insert("supportedVersions".to_owned(), raw(&versions));
        let result = raw(&described);
        let additions = ResultAdditions {
            caching: true,
            server_info: info.as_deref(),
            ..ResultAdditions::default()
        };
        Ok(finish::completed(&result, &additions))
    }

    /// Reads the state of an earlier result: a call to resume, or params to start one with.
    fn read_state(
        &self,
        params: &mut RawObject,
        binding: &StateBinding<'_>,
    ) -> Result<Option<(RunningCall, RawObject)>, RpcError> {
        let answers = request_state::take_responses(params)?;
        let state = match params.shift_remove("requestState") {
            None => None,
            Some(state) => Some(RequestState::open(&self.sealer, binding, &state)?),
        };
        match state {
            Some(RequestState::Suspended(handle)) => {
                let running = self.suspended.take(&handle).ok_or_else(request_state::unknown)?;
                return Ok(Some((running, answers.unwrap_or_default())));
            }
            Some(RequestState::Again) => return Ok(None),
            Some(RequestState::Session(state)) => {
                params.insert("requestState".to_owned(), raw(&state));
            }
            None => {}
        }
        if let Some(answers) = answers {
            params.insert("inputResponses".to_owned(), raw(&answers));
        }
        Ok(None)
    }
}

struct ModernRequestContext<'a> {
    id: &'a RequestId,
    binding: StateBinding<'a>,
    sender: &'a RequestSender,
}

pub(super) const LISTEN: &str = "subscriptions/listen";

fn start(
    session: Arc<dyn ServerSession>,
    id: RequestId,
    method: &str,
    params: RawObject,
    sender: &RequestSender,
    line: WaitingRequest,
    busy: ClientActivityGuard,
) -> RunningCall {
    let cancel = busy.0.ended.child_token();
    let progress_token = line.progress_token.clone();
    let subscription = (method == LISTEN).then(|| id.clone());
    let early = object_member(&params, "inputResponses").unwrap_or_default();
    let call = ModernCall::new(line, may_ask(method), subscription, early, cancel.clone());
    let exchange = RequestExchange {
        id,
        revision: sender.revision,
        log_level: sender.log_level,
        progress_token,
        cancel,
        peer: ClientPeer(PeerRoute::Call(Arc::clone(&call))),
    };
    RunningCall::new(session, method.to_owned(), params, exchange, call, busy)
}

fn may_ask(method: &str) -> bool {
    matches!(method, "tools/call" | "prompts/get" | "resources/read")
}

/// Requests whose results have caching hints.
fn is_cacheable(method: &str) -> bool {
    matches!(
        method,
        "tools/list"
            | "prompts/list"
            | "resources/list"
            | "resources/templates/list"
            | "resources/read"
            | "skills/list"
            | "skills/get"
    )
}

/// Legacy methods without a modern equivalent.
pub(super) fn is_removed(method: &str) -> bool {
    matches!(
        method,
        "initialize"
            | "ping"
            | "logging/setLevel"
            | "resources/subscribe"
            | "resources/unsubscribe"
            | "notifications/initialized"
            | "notifications/roots/list_changed"
    )
}
