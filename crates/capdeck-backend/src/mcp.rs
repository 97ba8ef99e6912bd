//! Connections to MCP servers: start, handshake, calls and end.

mod discover;
mod failure;
mod open;
mod session;
mod subscriptions;

use std::{borrow::Cow, fmt, sync::Arc};

use async_trait::async_trait;
use capdeck_auth::SecretScrubber;
use capdeck_catalog::{Discovery, RawMembers, ServerDetails};
use capdeck_definition::McpServer;
use capdeck_mcp::{RpcError, client::ClientHandler};
use serde_json::{
    Value,
    value::{RawValue, to_raw_value},
};
use tokio_util::sync::{CancellationToken, DropGuard};

use self::{failure::McpOperation, session::McpSession};
use crate::{
    CallContext, CallError, CallResult, CallerHandle, ConnectOptions, Connection, ErrorCode,
    ErrorKind, ToolCall,
    call_error::scrub_json,
    connect::ResolvedBackend,
    sign_in::{self, CapabilitySignIn, credentials},
};

/// Opens a connection to an MCP server. Its start and the handshake share one deadline.
pub(crate) async fn connect(
    mut prepared: ResolvedBackend<McpServer>,
    options: ConnectOptions,
) -> Result<Arc<dyn Connection>, CallError> {
    if let Some(credentials) = prepared.block.auth.as_ref().map(credentials) {
        prepared.add_secrets(&credentials.secrets());
    }
    let stop = options.cancel.child_token();
    let guard = stop.clone().drop_guard();
    let scrubber = prepared.log_scrubber.clone();
    let sign_in = sign_in::of_server(&prepared.id, &prepared.block, &prepared.surroundings)?;
    let session = tokio::select! {
        opened = open::open(prepared, options, stop.clone(), sign_in.clone()) => {
            opened.map_err(|error| explain(sign_in.as_ref(), error.scrubbed(&scrubber)))?
        }
        () = stop.cancelled() => {
            return Err(CallError::new(ErrorCode::Cancelled, "connecting was cancelled"));
        }
    };
    Ok(Arc::new(McpConnection { session, sign_in, stop, _guard: guard }))
}

/// One MCP server. Dropping it ends the session and its process.
struct McpConnection {
    session: Arc<McpSession>,
    sign_in: Option<CapabilitySignIn>,
    stop: CancellationToken,
    _guard: DropGuard,
}

#[async_trait]
impl Connection for McpConnection {
    async fn discover(&self, context: &CallContext) -> Result<Discovery, CallError> {
        let found = discover::discover(&self.session, context).await;
        found.map_err(|error| explain(self.sign_in.as_ref(), error))
    }

    async fn call_tool(&self, call: ToolCall<'_>, context: &CallContext) -> CallResult {
        let call_name = call.name;
        let operation = McpOperation::Tool { name: call_name };
        let params = tool_params(call)?;
        let answer = self.session.request("tools/call", Some(params), context, operation).await;
        let answer = answer.map_err(|error| explain(self.sign_in.as_ref(), error))?;
        if answer.get().starts_with('{') {
            return Ok(answer);
        }
        // Passing it on would make a client close its connection to this host.
        let (id, tool) = (self.session.id(), call_name);
        let message = format!("`{id}` broke the protocol: the result of `{tool}` is no object");
        Err(CallError::protocol_error(message))
    }

    async fn request(
        &self,
        method: &str,
        params: Option<RawMembers>,
        context: &CallContext,
    ) -> CallResult {
        let answer =
            self.session.request(method, params, context, McpOperation::from_method(method)).await;
        answer.map_err(|error| explain(self.sign_in.as_ref(), error))
    }

    async fn watch_tasks(&self, ids: Vec<String>, context: &CallContext) -> Result<(), CallError> {
        self.session.watch_tasks(ids, context).await
    }

    async fn notify(&self, method: &str, params: Option<RawMembers>) {
        self.session.notify(method, params).await;
    }

    fn server(&self) -> Option<ServerDetails> {
        Some(self.session.facts())
    }

    fn ended(&self) -> Option<String> {
        self.session.ended()
    }

    async fn close(&self) {
        self.stop.cancel();
        self.session.wait_closed().await;
    }
}

impl fmt::Debug for McpConnection {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("McpConnection")
            .field("id", &self.session.id())
            .finish_non_exhaustive()
    }
}

fn explain(sign_in: Option<&CapabilitySignIn>, error: CallError) -> CallError {
    match sign_in {
        Some(sign_in) => sign_in.explain(error),
        None => error,
    }
}

/// `{name, arguments, …rest, _meta}`, each value as the caller wrote it.
fn tool_params(call: ToolCall<'_>) -> Result<RawMembers, CallError> {
    let unwritable =
        |error: serde_json::Error| CallError::internal("the call cannot be written").detail(error);
    let mut params = RawMembers::with_capacity(call.rest.len() + 3);
    params.insert("name".to_owned(), to_raw_value(call.name).map_err(unwritable)?);
    if let Some(arguments) = call.arguments {
        params.insert("arguments".to_owned(), arguments.to_owned());
    }
    params.extend(call.rest);
    if let Some(meta) = call.meta {
        params.insert("_meta".to_owned(), to_raw_value(&meta).map_err(unwritable)?);
    }
    Ok(params)
}

/// Forwards a server's messages without secrets: to the caller during a call, otherwise to the listener.
struct MessageBridge {
    target: Arc<dyn CallerHandle>,
    given: Arc<ServerScrubber>,
}

#[async_trait]
impl ClientHandler for MessageBridge {
    fn notification(&self, method: &str, params: Option<RawMembers>) {
        let params = params.map(|params| self.given.scrub_params(params));
        self.target.notify(method, params);
    }

    async fn request(
        &self,
        method: &str,
        params: Option<RawMembers>,
    ) -> Result<Box<RawValue>, RpcError> {
        let params = params.map(|params| self.given.scrub_params(params));
        self.target.request(method, params).await.map_err(to_rpc)
    }

    fn paused(&self) {
        self.target.paused();
    }
}

/// Converts an error to JSON-RPC. A client's own JSON-RPC error passes through.
fn to_rpc(error: CallError) -> RpcError {
    if let Some(failure) = error.rpc {
        let mut passed = RpcError::new(failure.code, failure.message);
        passed.data = failure.data;
        return passed;
    }
    let code = match error.kind() {
        ErrorKind::Unsupported | ErrorKind::NotFound => RpcError::METHOD_NOT_FOUND,
        ErrorKind::BadInput => RpcError::INVALID_PARAMS,
        _ => RpcError::INTERNAL_ERROR,
    };
    RpcError::new(code, error.message)
}

/// The secrets of a server: from its definition and from its sign-in.
#[derive(Debug)]
pub(super) struct ServerScrubber {
    by_definition: SecretScrubber,
    sign_in: Option<CapabilitySignIn>,
}

impl ServerScrubber {
    pub(super) fn is_empty(&self) -> bool {
        self.scrubber().is_empty()
    }

    /// Returns a server's message byte for byte, unless it contains one of its secrets.
    pub(super) fn scrub(&self, text: Box<RawValue>) -> Box<RawValue> {
        scrub(text, &self.scrubber())
    }

    /// The same for requests and notifications during a call.
    fn scrub_params(&self, params: RawMembers) -> RawMembers {
        let scrubber = &*self.scrubber();
        if scrubber.is_empty() {
            return params;
        }
        params.into_iter().map(|(name, text)| (name, scrub(text, scrubber))).collect()
    }

    fn scrubber(&self) -> Cow<'_, SecretScrubber> {
        let base = &self.by_definition;
        self.sign_in.as_ref().map_or(Cow::Borrowed(base), |sign_in| sign_in.scrubber(base))
    }
}

fn scrub(text: Box<RawValue>, scrubber: &SecretScrubber) -> Box<RawValue> {
    if scrubber.is_empty() {
        return text;
    }
    let scrubbed = match scrubber.text(text.get()) {
        Cow::Borrowed(_) => return text,
        Cow::Owned(text) => text,
    };
    RawValue::from_string(scrubbed).unwrap_or_else(|_| {
        // The secret is outside of any string, so only a walk over the values is safe.
        let mut value: Value = serde_json::from_str(text.get()).unwrap_or_default();
        scrub_json(&mut value, scrubber);
        serde_json::value::to_raw_value(&value).unwrap_or(text)
    })
}
