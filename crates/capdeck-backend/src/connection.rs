//! The trait of every backend kind, and its types.

use std::{fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use capdeck_catalog::{Discovery, RawMembers, ServerDetails};
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

use crate::{CallError, ClientProfile, ErrorCode};

/// The MCP result of a call or another request, as the remote wrote it.
pub type CallResult = Result<Box<RawValue>, CallError>;

/// A live remote. Implemented once per backend kind; called only by the host.
///
/// Every method ends at the context's timeout or when its token is cancelled.
#[async_trait]
pub trait Connection: fmt::Debug + Send + Sync {
    /// Lists everything the remote offers, all pages.
    async fn discover(&self, context: &CallContext) -> Result<Discovery, CallError>;

    /// Calls one tool; returns an MCP `CallToolResult`, byte for byte for MCP servers.
    async fn call_tool(&self, call: ToolCall<'_>, context: &CallContext) -> CallResult;

    /// Sends any other MCP request (`resources/read`, `prompts/get`, `completion/complete`, …).
    async fn request(
        &self,
        method: &str,
        _params: Option<RawMembers>,
        _context: &CallContext,
    ) -> CallResult {
        Err(CallError::new(
            ErrorCode::UnsupportedOperation,
            format!("this backend has only tools; it cannot answer `{method}`"),
        ))
    }

    /// Replaces the set of tasks whose changes the remote reports.
    async fn watch_tasks(
        &self,
        _ids: Vec<String>,
        _context: &CallContext,
    ) -> Result<(), CallError> {
        Err(CallError::new(
            ErrorCode::UnsupportedOperation,
            "this backend does not report task changes",
        ))
    }

    /// Sends an MCP notification. Other backends ignore it.
    async fn notify(&self, _method: &str, _params: Option<RawMembers>) {}

    fn server(&self) -> Option<ServerDetails> {
        None
    }

    fn ended(&self) -> Option<String> {
        None
    }

    /// Ends the connection and every process behind it. Idempotent.
    async fn close(&self);
}

/// One tool call. Unknown members are forwarded in `rest`.
#[derive(Debug, Clone)]
pub struct ToolCall<'a> {
    pub name: &'a str,
    /// The arguments object, unchanged. `None` when the caller sent none.
    pub arguments: Option<&'a RawValue>,
    /// The caller's `_meta` without its progress token, which is per hop.
    pub meta: Option<RawMembers>,
    /// Other members of the request's `params`, forwarded.
    pub rest: RawMembers,
    /// Skips the formatter of the definition.
    pub unformatted: bool,
}

#[derive(Clone)]
pub struct CallContext {
    /// Idle timeout; progress from the remote resets it. `None` means that of the definition.
    pub timeout: Option<Duration>,
    pub cancel: CancellationToken,
    pub caller: Arc<dyn CallerHandle>,
    /// The client of the call. `None` means the client of the connection. A modern server gets it with each request,
    /// so one connection can serve many clients; a legacy one got it once, in the handshake.
    pub client: Option<Arc<ClientProfile>>,
    pub log_level: Option<String>,
    /// How long a server may take that has to be started for this call. `None` means what its definition says.
    pub start_timeout: Option<Duration>,
    /// How long the call waits for a server that a launcher starts, from the beginning of the start. `None` means until its
    /// end. The start goes on without the call.
    pub start_wait: Option<Duration>,
}

/// The client that a remote reaches: during a call its caller, otherwise the client of the connection.
#[async_trait]
pub trait CallerHandle: Send + Sync {
    fn wants_progress(&self) -> bool {
        false
    }

    /// Handles the params of a progress notification, without the token.
    fn progress(&self, _params: RawMembers) {}

    /// Handles a notification, such as `notifications/message` of a call or `notifications/tools/list_changed`.
    fn notify(&self, method: &str, params: Option<RawMembers>);

    /// Answers a request of the remote: sampling, elicitation, roots.
    async fn request(&self, method: &str, params: Option<RawMembers>) -> CallResult;

    /// Returns whether the caller accepts an `input_required` result and answers it with its next request. Otherwise
    /// [`CallerHandle::request`] is used and the call continues.
    fn takes_input_required(&self) -> bool {
        false
    }

    /// The remote released the connection and will be polled for the response. A caller that waits on its own
    /// connection may do the same.
    fn paused(&self) {}
}

/// A client that cannot be reached: the command line, a health check, discovery.
#[derive(Debug, Clone, Copy)]
pub struct NoCaller;

#[async_trait]
impl CallerHandle for NoCaller {
    fn notify(&self, _method: &str, _params: Option<RawMembers>) {}

    async fn request(&self, method: &str, _params: Option<RawMembers>) -> CallResult {
        Err(CallError::new(
            ErrorCode::UnsupportedCapability,
            format!("no client can answer `{method}`"),
        )
        .hint("call the tool from a client that supports it"))
    }
}

impl CallContext {
    /// A context without a caller and cancellation.
    pub fn detached(timeout: Duration) -> Self {
        Self {
            timeout: Some(timeout),
            cancel: CancellationToken::new(),
            caller: Arc::new(NoCaller),
            client: None,
            log_level: None,
            start_timeout: None,
            start_wait: None,
        }
    }
}

impl fmt::Debug for CallContext {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("CallContext")
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}
