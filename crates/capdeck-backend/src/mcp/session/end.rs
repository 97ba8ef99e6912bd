//! The end of a session, and its explanation.

use std::{sync::Arc, time::Duration};

use capdeck_mcp::client::ClientError;

use super::{
    super::failure::{Operation, call_error},
    Session, SessionParts,
};
use crate::{
    CallError,
    process::{Exit, Process},
};

const LAST_OUTPUT: Duration = Duration::from_millis(500);

const FAREWELL: Duration = Duration::from_secs(1);

const LAST_LINES: usize = 5;
const LAST_BYTES: usize = 1000;

impl Session {
    pub(in crate::mcp) fn ended(&self) -> Option<String> {
        let reason = self.parts.client.ended()?;
        if self.stop.is_cancelled() {
            return Some(reason);
        }
        let exit = self.parts.process.as_ref().and_then(Process::exit);
        Some(self.last_words(exit.map_or(reason, describe)))
    }

    pub(in crate::mcp) async fn gone(&self) {
        self.gone.cancelled().await;
    }

    /// Ends the rest when one part of the connection ends, or on `stop`.
    pub(super) async fn watch_end(self: Arc<Self>) {
        let stop = &self.stop;
        let SessionParts { client, process, .. } = &self.parts;
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
                        tokio::time::timeout(LAST_OUTPUT, client.wait_ended()).await.ok();
                    }
                }
                client.close().await;
                tokio::time::timeout(FAREWELL, process.exited()).await.ok();
                process.kill().await;
            }
        }
        self.gone.cancel();
    }

    pub(in crate::mcp) async fn explain(
        &self,
        operation: Operation<'_>,
        error: ClientError,
    ) -> CallError {
        let process = self.parts.process.as_ref();
        let closed = matches!(error, ClientError::Closed { .. });
        let silent = matches!((&error, operation), (ClientError::Timeout { .. }, Operation::Start));
        let mut call_error = call_error(self.id(), operation, error);
        if closed && self.stop.is_cancelled() {
            call_error.message = format!("`{}` was stopped before it answered", self.id());
            call_error.host_stopped = true;
            return call_error.hint("it is started again with the next call");
        }
        if let (true, Some(process)) = (closed, process) {
            // The end of its output and the end of the process arrive in any order.
            if let Ok(exit) = tokio::time::timeout(LAST_OUTPUT, process.gone()).await {
                call_error.message = format!("`{}` {}", self.id(), describe(exit));
            }
            call_error = call_error.hint(match operation {
                Operation::Start => "run its `command` in a terminal to see what it is missing",
                _ => "it is started again with the next call",
            });
        }
        if (closed || silent) && process.is_some() {
            call_error.message = self.last_words(call_error.message);
        }
        call_error.scrubbed(&self.parts.log_scrubber)
    }

    fn last_words(&self, message: String) -> String {
        let text = self.parts.log.own_text();
        let mut last: Vec<&str> = Vec::new();
        // Repeated lines are quoted once.
        for line in text.lines().rev().filter(|line| !line.trim().is_empty()) {
            if !last.contains(&line) {
                last.insert(0, line);
            }
            if last.len() == LAST_LINES {
                break;
            }
        }
        let last = last.join(" | ");
        if last.is_empty() {
            return message;
        }
        let (_, last) =
            last.split_at(last.ceil_char_boundary(last.len().saturating_sub(LAST_BYTES)));
        format!("{message}; it last wrote: {last}")
    }
}

fn describe(exit: Exit) -> String {
    match (exit.code, exit.signal_name()) {
        (Some(code), _) => format!("ended with exit code {code}"),
        (None, Some(signal)) => format!("was ended by {signal}"),
        (None, None) => "ended".to_owned(),
    }
}
