//! The end of a session, and its explanation.

use std::{sync::Arc, time::Duration};

use capdeck_mcp::client::ClientError;

use super::{
    super::failure::{McpOperation, call_error},
    McpSession, McpSessionParts,
};
use crate::{
    CallError,
    failure_reason::{failure_reason, last_line},
    process::{Process, ProcessExit},
};

const OUTPUT_DRAIN_TIMEOUT: Duration = Duration::from_millis(500);

const EXIT_TIMEOUT: Duration = Duration::from_secs(1);

impl McpSession {
    pub(in crate::mcp) fn ended(&self) -> Option<String> {
        let reason = self.parts.client.ended()?;
        if self.stop.is_cancelled() {
            return Some(reason);
        }
        let exit = self.parts.process.as_ref().and_then(Process::exit);
        Some(self.with_reason(exit.map_or(reason, describe)))
    }

    pub(in crate::mcp) async fn wait_closed(&self) {
        self.gone.cancelled().await;
    }

    /// Ends the rest when one part of the connection ends, or on `stop`.
    pub(super) async fn watch_end(self: Arc<Self>) {
        let stop = &self.stop;
        let McpSessionParts { client, process, .. } = &self.parts;
        match process {
            None => {
                tokio::select! {
                    () = stop.cancelled() => {}
                    () = client.wait_ended() => {}
                }
                client.close().await;
            }
            Some(process) => {
                tokio::select! {
                    () = stop.cancelled() => {}
                    () = client.wait_ended() => {}
                    // A descendant may hold the pipe open forever; the server itself is gone.
                    _ = process.exited() => {
                        tokio::time::timeout(OUTPUT_DRAIN_TIMEOUT, client.wait_ended()).await.ok();
                    }
                }
                client.close().await;
                tokio::time::timeout(EXIT_TIMEOUT, process.exited()).await.ok();
                process.kill().await;
            }
        }
        self.gone.cancel();
    }

    pub(in crate::mcp) async fn explain(
        &self,
        operation: McpOperation<'_>,
        error: ClientError,
    ) -> CallError {
        let process = self.parts.process.as_ref();
        let closed = matches!(error, ClientError::Closed { .. });
        let silent =
            matches!((&error, operation), (ClientError::Timeout { .. }, McpOperation::Start));
        let mut call_error = call_error(self.id(), operation, error);
        if closed && self.stop.is_cancelled() {
            call_error.message = format!("`{}` was stopped before it answered", self.id());
            call_error.host_stopped = true;
            return call_error.hint("it is started again with the next call");
        }
        if let (true, Some(process)) = (closed, process) {
            // The end of its output and the end of the process arrive in any order.
            if let Ok(exit) =
                tokio::time::timeout(OUTPUT_DRAIN_TIMEOUT, process.wait_group_exit()).await
            {
                call_error.message = format!("`{}` {}", self.id(), describe(exit));
            }
            call_error = call_error.hint(match operation {
                McpOperation::Start => "run its `command` in a terminal to see what it is missing",
                _ => "it is started again with the next call",
            });
        }
        if (closed || silent) && process.is_some() {
            call_error.message = self.with_reason(call_error.message);
        }
        call_error.scrubbed(&self.parts.log_scrubber)
    }

    fn with_reason(&self, message: String) -> String {
        let output = self.parts.log.own_text();
        match failure_reason(&output) {
            Some(reason) => format!("{message}: {reason}"),
            None => match last_line(&output) {
                Some(last) => format!("{message}; it last wrote: {last}"),
                None => message,
            },
        }
    }
}

fn describe(exit: ProcessExit) -> String {
    match (exit.code, exit.signal_name()) {
        (Some(code), _) => format!("ended with exit code {code}"),
        (None, Some(signal)) => format!("was ended by {signal}"),
        (None, None) => "ended".to_owned(),
    }
}
