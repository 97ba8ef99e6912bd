//! How long a start may take, and how long a caller waits for it. The start goes on without the caller.

use std::time::Duration;

use capdeck_backend::{CallContext, CallError, Connector, ErrorCode};
use capdeck_definition::{Backend, CapabilityId, Definition, StartLimit};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::Host;

/// How long the call of an agent waits from the beginning of the start. Agents give up on a call after a minute or so, and
/// an install may take longer.
pub const AGENT_START_WAIT: Duration = Duration::from_secs(20);

pub(crate) struct StartWait<'a> {
    connector: &'a Connector,
    id: &'a CapabilityId,
    cancel: &'a CancellationToken,
    end: Option<Instant>,
}

impl<'a> StartWait<'a> {
    pub(crate) fn new(
        connector: &'a Connector,
        definition: &'a Definition,
        context: &'a CallContext,
    ) -> Self {
        let id = &definition.id;
        let wait = context.start_wait.filter(|_| installs(definition));
        let end = wait.map(|wait| {
            let since = connector.starting(id).map(|start| start.since.into());
            since.unwrap_or_else(Instant::now) + wait
        });
        Self { connector, id, cancel: &context.cancel, end }
    }

    /// Returns why the caller waits no longer.
    pub(crate) async fn ended(&self) -> CallError {
        let over = async {
            match self.end {
                Some(end) => tokio::time::sleep_until(end).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = self.cancel.cancelled() => {
                CallError::new(ErrorCode::Cancelled, "the call was cancelled")
            }
            () = over => self.still_starting(),
        }
    }

    fn still_starting(&self) -> CallError {
        let id = self.id;
        let message = match self.connector.starting(id) {
            Some(start) => {
                let seconds = start.since.elapsed().as_secs();
                format!("`{id}` is starting ({seconds} s): installing {}", start.package)
            }
            None => format!("`{id}` has not listed its tools yet"),
        };
        CallError::new(ErrorCode::ServerStarting, message)
            .hint("try again in a moment; the start goes on")
    }
}

/// How long the start of a server may take. The deck in force decides, because the connection outlives the request.
pub(crate) fn start_limit(
    host: &Host,
    definition: &Definition,
    context: &CallContext,
) -> Option<StartLimit> {
    let Backend::Mcp(server) = &definition.backend else { return None };
    let asked = context.start_timeout.map(StartLimit::fixed);
    Some(asked.unwrap_or_else(|| server.start_limit(host.catalog().config().startup_timeout_ms)))
}

/// True for a server that is installed before it starts.
pub(crate) fn installs(definition: &Definition) -> bool {
    matches!(&definition.backend, Backend::Mcp(server) if server.launcher().is_some())
}
