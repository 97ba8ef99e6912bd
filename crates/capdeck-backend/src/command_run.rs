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
    capture::{Capture, Captured},
    process::{ChildCommand, Exit, Process, Spawner},
};

/// Bounds the wait for output after all writers were ended.
const LAST_WORDS: Duration = Duration::from_millis(250);

#[derive(Debug)]
pub(crate) struct Run<'a, Cancel> {
    pub(crate) command: &'a ChildCommand,
    pub(crate) timeout: Duration,
    /// Ends the run when it resolves.
    pub(crate) cancel: Cancel,
    pub(crate) stdout: Capture,
    pub(crate) stderr: Capture,
    /// A longer stream ends the run.
    pub(crate) max_total: u64,
}

#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) ending: Ending,
    pub(crate) stdout: Captured,
    pub(crate) stderr: Captured,
    pub(crate) elapsed: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    Exited(Exit),
    TimedOut,
    Cancelled,
    /// It exceeded the output limit and was ended.
    TooMuchOutput,
}

/// Runs a command, and always ends its whole process group.
pub(crate) async fn run(
    spawner: &Spawner,
    run: Run<'_, impl Future<Output = ()>>,
) -> Result<Outcome, CallError> {
    let started = Instant::now();
    let (process, pipes) = spawner.spawn(run.command)?;
    let reading = Reading::new(run.max_total);
    let read = async {
        let captured = tokio::join!(
            reading.take(pipes.stdout, run.stdout),
            reading.take(pipes.stderr, run.stderr)
        );
        reading.finished.cancel();
        captured
    };
    let watch = async {
        let ending = tokio::select! {
            exit = process.exited() => Ending::Exited(exit),
            () = run.cancel => Ending::Cancelled,
            () = reading.flood.cancelled() => Ending::TooMuchOutput,
            () = sleep_until(started + run.timeout) => Ending::TimedOut,
        };
        let elapsed = started.elapsed();
        if !matches!(ending, Ending::Exited(_)) {
            process.stop();
        }
        tokio::select! {
            () = reading.finished.cancelled() => {}
            // Does not wait for a process that left the group and holds the pipe.
            () = last_words(&process, ending) => reading.stop.cancel(),
        }
        (ending, elapsed)
    };
    let ((stdout, stderr), (ending, elapsed)) = tokio::join!(read, watch);
    Ok(Outcome { ending, stdout, stderr, elapsed })
}

async fn last_words(process: &Process, ending: Ending) {
    if matches!(ending, Ending::Exited(_)) {
        process.gone().await;
    }
    sleep(LAST_WORDS).await;
}

#[derive(Debug)]
struct Reading {
    max_total: u64,
    stop: CancellationToken,
    flood: CancellationToken,
    finished: CancellationToken,
}

impl Reading {
    fn new(max_total: u64) -> Self {
        let (stop, flood) = (CancellationToken::new(), CancellationToken::new());
        Self { max_total, stop, flood, finished: CancellationToken::new() }
    }

    async fn take(&self, stream: Option<impl AsyncRead + Unpin>, mut capture: Capture) -> Captured {
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
