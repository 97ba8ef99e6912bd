//! Runs one command until its end, deadline, cancellation or output limit.

#[cfg(test)]
mod tests;

use std::time::Duration;

use capdeck_auth::SecretScrubber;
use capdeck_definition::CapabilityId;
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWriteExt},
    time::{Instant, sleep, sleep_until, timeout},
};
use tokio_util::sync::CancellationToken;

use crate::{
    CallContext, CallError,
    capture::{CapturedStream, MAX_TOTAL, SpillTarget, StreamCapture},
    cli::CommandResultOptions,
    connect::ResolvedBackend,
    connector_context::ConnectorContext,
    process::{ChildCommand, Process, ProcessExit, ProcessSpawner},
};

/// Bounds the wait for output after all writers were ended.
const OUTPUT_DRAIN_TIMEOUT: Duration = Duration::from_millis(250);

#[derive(Debug)]
pub(crate) struct CommandRun<'a, Cancel> {
    pub(crate) command: &'a ChildCommand,
    pub(crate) timeout: Duration,
    /// Ends the run when it resolves.
    pub(crate) cancel: Cancel,
    pub(crate) stdout: StreamCapture,
    pub(crate) stderr: StreamCapture,
    /// A longer stream ends the run.
    pub(crate) max_total: u64,
}

#[derive(Debug)]
pub(crate) struct CommandOutcome {
    pub(crate) ending: CommandEnd,
    pub(crate) stdout: CapturedStream,
    pub(crate) stderr: CapturedStream,
    pub(crate) elapsed: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CommandEnd {
    Exited(ProcessExit),
    TimedOut,
    Cancelled,
    TooMuchOutput,
}

/// Runs a command, and always ends its whole process group.
pub(crate) async fn run(
    spawner: &ProcessSpawner,
    run: CommandRun<'_, impl Future<Output = ()>>,
) -> Result<CommandOutcome, CallError> {
    let started = Instant::now();
    let (process, pipes) = spawner.spawn(run.command)?;
    let reading = OutputReaderState { max_total: run.max_total, ..OutputReaderState::default() };
    let read = async {
        let captured = tokio::join!(
            reading.read_stream(pipes.stdout, run.stdout),
            reading.read_stream(pipes.stderr, run.stderr)
        );
        reading.finished.cancel();
        captured
    };
    let watch = async {
        let ending = tokio::select! {
            exit = process.exited() => CommandEnd::Exited(exit),
            () = run.cancel => CommandEnd::Cancelled,
            () = reading.flood.cancelled() => CommandEnd::TooMuchOutput,
            () = sleep_until(started + run.timeout) => CommandEnd::TimedOut,
        };
        let elapsed = started.elapsed();
        if !matches!(ending, CommandEnd::Exited(_)) {
            process.stop();
        }
        tokio::select! {
            () = reading.finished.cancelled() => {}
            // Does not wait for a process that left the group and holds the pipe.
            () = drain_output(&process, ending) => reading.stop.cancel(),
        }
        (ending, elapsed)
    };
    let ((stdout, stderr), (ending, elapsed)) = tokio::join!(read, watch);
    Ok(CommandOutcome { ending, stdout, stderr, elapsed })
}

async fn drain_output(process: &Process, ending: CommandEnd) {
    if matches!(ending, CommandEnd::Exited(_)) {
        process.wait_group_exit().await;
    }
    sleep(OUTPUT_DRAIN_TIMEOUT).await;
}

#[derive(Debug, Default)]
struct OutputReaderState {
    max_total: u64,
    stop: CancellationToken,
    flood: CancellationToken,
    finished: CancellationToken,
}

impl OutputReaderState {
    async fn read_stream(
        &self,
        stream: Option<impl AsyncRead + Unpin>,
        mut capture: StreamCapture,
    ) -> CapturedStream {
        let mut buffer = vec![0; 64 * 1024];
        let mut total = 0;
        if let Some(mut stream) = stream {
            loop {
                let count = tokio::select! {
                    biased;
                    count = stream.read(&mut buffer) => count,
                    () = self.stop.cancelled() => break,
                };
                // A read error means the pipe is gone, like a normal end.
                let Ok(count @ 1..) = count else { break };
                capture.push(buffer.get(..count).unwrap_or_default()).await;
                total += count as u64;
                if total > self.max_total {
                    self.flood.cancel();
                    break;
                }
            }
        }
        capture.finish().await
    }
}

/// A command ready to run, and what must not be shown of it.
#[derive(Debug)]
pub(crate) struct ReadyCommand {
    pub(crate) command: ChildCommand,
    pub(crate) log_scrubber: SecretScrubber,
    pub(crate) result_scrubber: SecretScrubber,
}

pub(crate) fn capture(
    surroundings: &ConnectorContext,
    id: &CapabilityId,
    filename: &str,
    limit: u64,
    scrubber: &SecretScrubber,
) -> StreamCapture {
    let place = SpillTarget {
        store: surroundings.artifacts.clone(),
        capability: id.clone(),
        filename: filename.to_owned(),
        mime_type: Some("text/plain".to_owned()),
    };
    StreamCapture::new(limit, scrubber, place)
}

impl<T> ResolvedBackend<T> {
    /// Runs a command until it ends, the caller leaves or `closed` is cancelled.
    pub(crate) async fn run_command(
        &self,
        ready: &ReadyCommand,
        terms: &CommandResultOptions<'_>,
        context: &CallContext,
        closed: &CancellationToken,
    ) -> Result<CommandOutcome, CallError> {
        let (surroundings, limit) = (&self.surroundings, terms.max_output_bytes);
        let take_in = |name| capture(surroundings, &self.id, name, limit, &ready.result_scrubber);
        let cancel = async {
            tokio::select! {
                () = context.cancel.cancelled() => {}
                () = closed.cancelled() => {}
            }
        };
        let command_run = CommandRun {
            command: &ready.command,
            timeout: terms.timeout,
            cancel,
            stdout: take_in("stdout.txt"),
            stderr: take_in("stderr.txt"),
            max_total: MAX_TOTAL,
        };
        let outcome = run(&surroundings.spawner, command_run).await;
        let outcome = outcome.map_err(|error| error.scrubbed(&ready.log_scrubber))?;
        self.log(terms.tool, &outcome, &ready.log_scrubber);
        Ok(outcome)
    }

    fn log(&self, tool: &str, outcome: &CommandOutcome, scrubber: &SecretScrubber) {
        let ending = match outcome.ending {
            CommandEnd::Exited(exit) if exit.code == Some(0) => None,
            CommandEnd::Exited(exit) => Some(exit.to_string()),
            CommandEnd::TimedOut => Some("timed out".to_owned()),
            CommandEnd::Cancelled => Some("cancelled".to_owned()),
            CommandEnd::TooMuchOutput => Some("ended: too much output".to_owned()),
        };
        let log = self.surroundings.logs.log_of(&self.id);
        let stderr = outcome.stderr.text(u64::MAX);
        for line in scrubber.text(&stderr).lines() {
            log.push(format!("{tool}: {line}"));
        }
        if let Some(ending) = ending {
            log.push(format!("{tool}: {ending} after {} ms", outcome.elapsed.as_millis()));
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum FilterError {
    #[error("{0}")]
    Start(CallError),
    #[error("it did not end within {} ms", .0.as_millis())]
    TimedOut(Duration),
    #[error("{0}")]
    Failed(ProcessExit),
    #[error("it printed more than {0} bytes")]
    TooLong(u64),
    #[error("it printed something that is not text")]
    NotText,
}

/// Runs a command to its end. The output is what it printed, without one line break at the end.
pub(crate) async fn run_filter(
    spawner: &ProcessSpawner,
    command: &ChildCommand,
    input: &str,
    longest: Duration,
    most: u64,
) -> Result<String, FilterError> {
    let start = |error| FilterError::Start(CallError::from(error));
    let (process, pipes) = spawner.spawn(command).map_err(start)?;
    let write = async {
        if let Some(mut stdin) = pipes.stdin {
            // A program that has read enough closes its end, and its exit tells whether all is well.
            stdin.write_all(input.as_bytes()).await.ok();
            stdin.shutdown().await.ok();
        }
    };
    let read = async {
        let mut printed = Vec::new();
        if let Some(stdout) = pipes.stdout {
            // A pipe that breaks ends like one that closes.
            stdout.take(most + 1).read_to_end(&mut printed).await.ok();
        }
        printed
    };
    let run = async {
        let ((), printed) = tokio::join!(write, read);
        if printed.len() as u64 > most {
            return Err(FilterError::TooLong(most));
        }
        let exit = process.exited().await;
        if exit.code != Some(0) {
            return Err(FilterError::Failed(exit));
        }
        let text = String::from_utf8(printed).map_err(|_| FilterError::NotText)?;
        let line = text.strip_suffix('\n').unwrap_or(&text);
        Ok(line.strip_suffix('\r').unwrap_or(line).to_owned())
    };
    // Dropping the process ends what still runs.
    timeout(longest, run).await.unwrap_or(Err(FilterError::TimedOut(longest)))
}
