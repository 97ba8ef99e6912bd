//! The one trait every backend kind implements, and what travels through it.

use std::{fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use capdeck_catalog::{Discovery, RawObject, ServerFacts};
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

use crate::{CallError, ClientProfile, ErrorCode};

/// A live remote. Implemented once per backend kind; called only by the host.
///
/// Every method ends by the context's timeout at the latest and when its token is cancelled.
#[async_trait]
pub trait Connection: fmt::Debug + Send + Sync {
    /// Asks for everything the remote offers, all pages.
    async fn discover(&self, context: &CallContext) -> Result<Discovery, CallError>;

    /// Calls one tool; the answer is an MCP `CallToolResult`, byte for byte for MCP servers.
    async fn call_tool(
        &self,
        call: ToolCall<'_>,
        context: &CallContext,
    ) -> Result<Box<RawValue>, CallError>;

    /// Sends any other MCP request (`resources/read`, `prompts/get`, `completion/complete`, …).
    async fn request(
        &self,
        method: &str,
        _params: Option<RawObject>,
        _context: &CallContext,
    ) -> Result<Box<RawValue>, CallError> {
        Err(CallError::new(
            ErrorCode::UnsupportedOperation,
            format!("this backend has only tools; it cannot answer `{method}`"),
        ))
    }

    /// Has the remote tell when one of these tasks changes, and no other.
    async fn watch_tasks(
        &self,
        _ids: Vec<String>,
        _context: &CallContext,
    ) -> Result<(), CallError> {
        Err(CallError::new(
            ErrorCode::UnsupportedOperation,
            "this backend does not tell when a task changes",
        ))
    }

    /// Sends an MCP notification. Backends that are not MCP servers have nobody to tell.
    async fn notify(&self, _method: &str, _params: Option<RawObject>) {}

    /// What an MCP server said about itself in the handshake.
    fn server(&self) -> Option<ServerFacts> {
        None
    }

    /// Why the connection can no longer be used, once that is so.
    fn ended(&self) -> Option<String> {
        None
    }

    /// Ends the connection and every process behind it. Idempotent.
    async fn close(&self);
}

/// One tool call as the host hands it down. Unknown members travel on in `rest`.
#[derive(Debug, Clone)]
pub struct ToolCall<'a> {
    /// The backend's own name for the tool.
    pub name: &'a str,
    /// The arguments object, untouched. `None` when the caller sent none.
    pub arguments: Option<&'a RawValue>,
    /// The caller's `_meta` without its progress token, which is per hop.
    pub meta: Option<RawObject>,
    /// Other members of the request's `params`, passed through.
    pub rest: RawObject,
    /// Leave the result as the backend gave it, whatever a file says about its form.
    pub unformatted: bool,
}

/// What surrounds one call.
#[derive(Clone)]
pub struct CallContext {
    /// Longest silence allowed; progress from the remote starts it again. `None` takes the definition's own.
    pub timeout: Option<Duration>,
    pub cancel: CancellationToken,
    pub caller: Arc<dyn Caller>,
    /// Whom the call speaks for. `None` means the client the connection was opened for. A modern server is told with
    /// each request, so one connection can speak for many; a legacy one was told once, in the handshake.
    pub client: Option<Arc<ClientProfile>>,
    /// The least severe log message the caller wants to hear while the call runs.
    pub log_level: Option<String>,
}

/// Whoever made the call, as far as a remote may reach them while it runs.
#[async_trait]
pub trait Caller: Send + Sync {
    /// True when the caller asked to hear about progress.
    fn wants_progress(&self) -> bool;

    /// A progress notification's params, without the token.
    fn progress(&self, params: RawObject);

    /// A notification tied to this call, such as `notifications/message`.
    fn notify(&self, method: &str, params: Option<RawObject>);

    /// A request from the remote to the person's client: sampling, elicitation, roots.
    async fn request(
        &self,
        method: &str,
        params: Option<RawObject>,
    ) -> Result<Box<RawValue>, CallError>;

    /// True when a question of the remote may come back as an `input_required` result, to be answered by the
    /// caller's next request. Otherwise [`Caller::request`] is used and the call goes on.
    fn takes_input_required(&self) -> bool {
        false
    }

    /// The remote let go of the connection and will be asked again for the answer. A caller that waits on a
    /// connection of its own may do the same.
    fn paused(&self) {}
}

/// A caller nobody can reach: the command line, a health check, discovery.
#[derive(Debug, Clone, Copy)]
pub struct NoCaller;

#[async_trait]
impl Caller for NoCaller {
    fn wants_progress(&self) -> bool {
        false
    }

    fn progress(&self, _params: RawObject) {}

    fn notify(&self, _method: &str, _params: Option<RawObject>) {}

    async fn request(
        &self,
        method: &str,
        _params: Option<RawObject>,
    ) -> Result<Box<RawValue>, CallError> {
        Err(CallError::new(
            ErrorCode::UnsupportedCapability,
            format!("nobody is here to answer `{method}`"),
        )
        .hint("call the tool from a client that supports it"))
    }
}

impl CallContext {
    /// A context with no caller behind it and nothing to cancel it.
    pub fn detached(timeout: Duration) -> Self {
        Self {
            timeout: Some(timeout),
            cancel: CancellationToken::new(),
            caller: Arc::new(NoCaller),
            client: None,
            log_level: None,
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
