//! Runs one command until its end, deadline, cancellation or output limit.

#[cfg(test)]
mod tests;

use std::time::Duration;

use tokio::{
    io::{AsyncRead, AsyncReadExt},
    time::{Instant, sleep, sleep_until},
};
use tokio_util::sync::CancellationToken;

use crate::{
    CallError,
    capture::{CapturedStream, StreamCapture},
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
    /// It exceeded the output limit and was ended.
    TooMuchOutput,
}

/// Runs a command, and always ends its whole process group.
pub(crate) async fn run(
    spawner: &ProcessSpawner,
    run: CommandRun<'_, impl Future<Output = ()>>,
) -> Result<CommandOutcome, CallError> {
    let started = Instant::now();
    let (process, pipes) = spawner.spawn(run.command)?;
    let reading = OutputReaderState::new(run.max_total);
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

#[derive(Debug)]
struct OutputReaderState {
    max_total: u64,
    stop: CancellationToken,
    flood: CancellationToken,
    finished: CancellationToken,
}

impl OutputReaderState {
    fn new(max_total: u64) -> Self {
        let (stop, flood) = (CancellationToken::new(), CancellationToken::new());
        Self { max_total, stop, flood, finished: CancellationToken::new() }
    }

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
