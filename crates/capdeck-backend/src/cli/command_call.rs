//! One command of a capability, run to its end with its output captured and its failure logged.

use std::time::Duration;

use capdeck_auth::Scrubber;
use tokio_util::sync::CancellationToken;

use crate::{
    CallContext, CallError,
    capture::{Capture, MAX_TOTAL, SpillPlace},
    command_run::{Ending, Outcome, Run, run},
    connect::Prepared,
    process::ChildCommand,
};

/// What to run for a call.
#[derive(Debug)]
pub(crate) struct CommandCall<'a> {
    pub(crate) tool: &'a str,
    pub(crate) command: &'a ChildCommand,
    pub(crate) timeout: Duration,
    pub(crate) max_output_bytes: u64,
    pub(crate) log_scrubber: &'a Scrubber,
    pub(crate) result_scrubber: &'a Scrubber,
}

impl<T> Prepared<T> {
    /// Runs a command until it ends, the caller leaves or `closed` is cancelled.
    pub(crate) async fn run_command(
        &self,
        call: CommandCall<'_>,
        context: &CallContext,
        closed: &CancellationToken,
    ) -> Result<Outcome, CallError> {
        let capture =
            |filename| self.capture(filename, call.max_output_bytes, call.result_scrubber);
        let outcome = run(
            &self.surroundings.spawner,
            Run {
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

    fn capture(&self, filename: &str, limit: u64, scrubber: &Scrubber) -> Capture {
        let place = SpillPlace {
            store: self.surroundings.artifacts.clone(),
            capability: self.id.clone(),
            filename: filename.to_owned(),
            mime_type: Some("text/plain".to_owned()),
        };
        Capture::new(limit, scrubber, place)
    }

    /// Keeps standard error and the ending of a failed call for whoever asks why.
    fn log(&self, tool: &str, outcome: &Outcome, scrubber: &Scrubber) {
        let ending = match outcome.ending {
            Ending::Exited(exit) if exit.code == Some(0) => None,
            Ending::Exited(exit) => Some(exit.to_string()),
            Ending::TimedOut => Some("timed out".to_owned()),
            Ending::Cancelled => Some("cancelled".to_owned()),
            Ending::TooMuchOutput => Some("ended: too much output".to_owned()),
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
