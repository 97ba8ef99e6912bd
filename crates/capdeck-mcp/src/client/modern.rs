//! Modern requests: each describes its sender and is sent again when the server needs input.

use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use serde_json::value::RawValue;
use tokio::time::Instant;

use super::{
    ClientDescription, ClientError, InputRequiredMode, McpClientInner, RequestOptions, ServerHello,
    call::{ClientTransport, OutgoingRequest, ResponseResult, exchange, saturating_deadline},
    connect::offered,
    input_required::{InputRequiredResult, MAX_ROUNDS, ResultType, result_type},
    message_hub::MessageHub,
    subscription::SubscriptionHandle,
};
use crate::{
    ParamHeader, ProtocolRevision, RawObject, RpcError, request_head::RequestHead,
    request_meta::RequestMeta,
};

const MAX_PAGES: usize = 1000;

pub(super) struct ModernProtocol {
    hub: Arc<MessageHub>,
    transport: Arc<dyn ClientTransport>,
    revision: Mutex<ProtocolRevision>,
    hello: Arc<ClientDescription>,
    pub(super) listening: OnceLock<SubscriptionHandle>,
}

/// Failures that a retry can repair, each once.
#[derive(Default)]
struct RequestRepairs {
    version: bool,
    headers: bool,
}

impl ModernProtocol {
    pub(super) fn new(
        inner: &McpClientInner,
        revision: ProtocolRevision,
        hello: Arc<ClientDescription>,
    ) -> Self {
        Self {
            hub: Arc::clone(&inner.hub),
            transport: Arc::clone(&inner.transport),
            revision: Mutex::new(revision),
            hello,
            listening: OnceLock::new(),
        }
    }

    pub(super) async fn discover(&self, end: Instant) -> ResponseResult {
        let options = RequestOptions::within(end.saturating_duration_since(Instant::now()));
        self.send("server/discover", &mut RawObject::new(), Vec::new(), &options, end).await
    }

    pub(super) fn adopt_server(&self, found: &ServerHello) {
        *self.revision.lock() = found.revision;
        let listening = SubscriptionHandle::start(
            &self.hub,
            &self.transport,
            found.revision,
            &self.hello,
            &found.capabilities,
        );
        self.listening.set(listening).ok();
    }

    pub(super) async fn request(
        &self,
        method: &str,
        params: Option<RawObject>,
        options: &RequestOptions,
    ) -> ResponseResult {
        let hard_end = saturating_deadline(Instant::now(), options.max_timeout);
        let mut params = params.unwrap_or_default();
        let mut repairs = RequestRepairs::default();
        let mut round = 0;
        loop {
            let headers = self.param_headers(method, &params, options, hard_end).await?;
            let result = match self.send(method, &mut params, headers, options, hard_end).await {
                Ok(result) => result,
                Err(error) => {
                    self.repair_request(error, &mut repairs)?;
                    continue;
                }
            };
            match result_type(&result) {
                ResultType::Answer if method == "tools/list" && self.transport.has_headers() => {
                    let is_first = !params.contains_key("cursor");
                    return Ok(self.hub.tools.learn(is_first, result).0);
                }
                ResultType::Answer => return Ok(result),
                ResultType::InputRequired
                    if options.input_required == InputRequiredMode::HandBack =>
                {
                    return Ok(result);
                }
                ResultType::InputRequired => {
                    if round == MAX_ROUNDS {
                        return Err(ClientError::protocol(format!(
                            "the server still needs input for `{method}` after {MAX_ROUNDS} rounds"
                        )));
                    }
                    let asked = InputRequiredResult::read(method, &result)?;
                    self.answer(asked, method, &mut params, options, round, hard_end).await?;
                    round += 1;
                }
                ResultType::Unknown(kind) => {
                    let message = format!("`{method}` has a result of the unknown type `{kind}`");
                    return Err(ClientError::Protocol { message });
                }
            }
        }
    }

    async fn send(
        &self,
        method: &str,
        params: &mut RawObject,
        headers: Vec<ParamHeader>,
        options: &RequestOptions,
        hard_end: Instant,
    ) -> ResponseResult {
        let revision = *self.revision.lock();
        let sender = options.client.as_ref().unwrap_or(&self.hello);
        let level = options.log_level.as_deref();
        RequestMeta::put(params, revision, &sender.capabilities, &sender.info, level);
        let head = if self.transport.has_headers() {
            RequestHead::from_request(revision, method, params, headers)
        } else {
            RequestHead::bare(revision)
        };
        let mut sent = Some(std::mem::take(params));
        let outgoing =
            OutgoingRequest { method, params: &mut sent, head: Some(head), acknowledged: None };
        let outcome = exchange(&self.hub, &self.transport, outgoing, options, hard_end).await;
        *params = sent.unwrap_or_default();
        outcome
    }

    /// Repairs a failure that a retry can solve; returns any other as the outcome.
    fn repair_request(
        &self,
        error: ClientError,
        repairs: &mut RequestRepairs,
    ) -> Result<(), ClientError> {
        let ClientError::Rpc(refusal) = &error else { return Err(error) };
        match refusal.code {
            RpcError::UNSUPPORTED_VERSION => match offered(refusal) {
                Some(other) if !std::mem::replace(&mut repairs.version, true) => {
                    *self.revision.lock() = other;
                    Ok(())
                }
                Some(_) => Err(error),
                // The server left the modern era; the owner of the connection connects again.
                None => Err(ClientError::SessionExpired),
            },
            // The tool's annotations changed after the list was read.
            RpcError::HEADER_MISMATCH if !std::mem::replace(&mut repairs.headers, true) => {
                self.hub.tools.forget();
                Ok(())
            }
            _ => Err(error),
        }
    }

    async fn answer(
        &self,
        asked: InputRequiredResult,
        method: &str,
        params: &mut RawObject,
        options: &RequestOptions,
        round: u32,
        hard_end: Instant,
    ) -> Result<(), ClientError> {
        let handler = options.events.as_ref().unwrap_or(&self.hub.handler);
        let started = Instant::now();
        tokio::select! {
            biased;
            answered = asked.answer(params, handler, round) => answered,
            () = options.cancel.cancelled() => Err(ClientError::Cancelled),
            () = self.hub.stopped() => Err(self.hub.closed_error()),
            // A person may take longer than a server: only the hard end of the request counts.
            () = tokio::time::sleep_until(hard_end) => {
                Err(ClientError::timeout(method, started.elapsed()))
            }
        }
    }

    /// Returns the headers of a call's arguments. Reads the tool list first if it is unknown.
    async fn param_headers(
        &self,
        method: &str,
        params: &RawObject,
        options: &RequestOptions,
        hard_end: Instant,
    ) -> Result<Vec<ParamHeader>, ClientError> {
        if method != "tools/call" || !self.transport.has_headers() {
            return Ok(Vec::new());
        }
        let tools = &self.hub.tools;
        if !tools.is_listed() {
            let _one_reader = tokio::select! {
                reader = tools.listing.lock() => reader,
                () = options.cancel.cancelled() => return Err(ClientError::Cancelled),
                () = tokio::time::sleep(options.timeout) => {
                    return Err(ClientError::timeout(method, options.timeout));
                }
            };
            if !tools.is_listed() {
                self.read_tools(options, hard_end).await?;
            }
        }
        Ok(tools.of_call(params))
    }

    async fn read_tools(
        &self,
        options: &RequestOptions,
        hard_end: Instant,
    ) -> Result<(), ClientError> {
        let quiet = RequestOptions {
            cancel: options.cancel.clone(),
            client: options.client.clone(),
            ..RequestOptions::within(options.timeout)
        };
        let tools = &self.hub.tools;
        let mut cursor: Option<Box<RawValue>> = None;
        for _ in 0..MAX_PAGES {
            let is_first = cursor.is_none();
            let mut params = RawObject::new();
            if let Some(cursor) = cursor.take() {
                params.insert("cursor".to_owned(), cursor);
            }
            match self.send("tools/list", &mut params, Vec::new(), &quiet, hard_end).await {
                Ok(page) => cursor = tools.learn(is_first, page).1,
                Err(ClientError::Rpc(error)) => {
                    tracing::debug!(%error, "the server does not list its tools");
                    break;
                }
                Err(error) => return Err(error),
            }
            if cursor.is_none() {
                return Ok(());
            }
        }
        tools.give_up();
        Ok(())
    }
}
