//! One command of a capability, run to its end with its output captured and its failure logged.

use std::time::Duration;

use capdeck_auth::SecretScrubber;
use tokio_util::sync::CancellationToken;

use crate::{
    CallContext, CallError,
    capture::{MAX_TOTAL, SpillTarget, StreamCapture},
    command_run::{CommandEnd, CommandOutcome, CommandRun, run},
    connect::ResolvedBackend,
    process::ChildCommand,
};

/// What to run for a call.
#[derive(Debug)]
pub(crate) struct CommandCall<'a> {
    pub(crate) tool: &'a str,
    pub(crate) command: &'a ChildCommand,
    pub(crate) timeout: Duration,
    pub(crate) max_output_bytes: u64,
    pub(crate) log_scrubber: &'a SecretScrubber,
    pub(crate) result_scrubber: &'a SecretScrubber,
}

impl<T> ResolvedBackend<T> {
    /// Runs a command until it ends, the caller leaves or `closed` is cancelled.
    pub(crate) async fn run_command(
        &self,
        call: CommandCall<'_>,
        context: &CallContext,
        closed: &CancellationToken,
    ) -> Result<CommandOutcome, CallError> {
        let capture =
            |filename| self.capture(filename, call.max_output_bytes, call.result_scrubber);
        let outcome = run(
            &self.surroundings.spawner,
            CommandRun {
                command: call.command,
                timeout: call.timeout,
                cancel: async {
                    tokio::select! {
                        () = context.cancel.cancelled() => {}
                        () = closed.cancelled() => {}
                    }
                },
                stdout: capture("stdout.txt"),
                stderr: capture("stderr.txt"),
                max_total: MAX_TOTAL,
            },
        )
        .await?;
        self.log(call.tool, &outcome, call.log_scrubber);
        Ok(outcome)
    }

    fn capture(&self, filename: &str, limit: u64, scrubber: &SecretScrubber) -> StreamCapture {
        let place = SpillTarget {
            store: self.surroundings.artifacts.clone(),
            capability: self.id.clone(),
            filename: filename.to_owned(),
            mime_type: Some("text/plain".to_owned()),
        };
        StreamCapture::new(limit, scrubber, place)
    }

    /// Keeps standard error and the ending of a failed call for whoever asks why.
    fn log(&self, tool: &str, outcome: &CommandOutcome, scrubber: &SecretScrubber) {
        let ending = match outcome.ending {
            CommandEnd::Exited(exit) if exit.code == Some(0) => None,
            CommandEnd::Exited(exit) => Some(exit.to_string()),
            CommandEnd::TimedOut => Some("timed out".to_owned()),
            CommandEnd::Cancelled => Some("cancelled".to_owned()),
            CommandEnd::TooMuchOutput => Some("ended: too much output".to_owned()),
        };
        let log = self.surroundings.logs.of(&self.id);
        let stderr = outcome.stderr.text(u64::MAX);
        for line in scrubber.text(&stderr).lines() {
            log.push(format!("{tool}: {line}"));
        }
        if let Some(ending) = ending {
            log.push(format!("{tool}: {ending} after {} ms", outcome.elapsed.as_millis()));
        }
    }
}
