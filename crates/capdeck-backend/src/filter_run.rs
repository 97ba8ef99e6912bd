//! Runs a program with a text on its standard input and takes what it prints.

use std::time::Duration;

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    time::timeout,
};

use crate::{
    CallError,
    process::{ChildCommand, ProcessExit, ProcessSpawner},
};

/// Why a program's output cannot be taken.
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
    // Dropping the process ends whatever still runs.
    timeout(longest, run).await.unwrap_or(Err(FilterError::TimedOut(longest)))
}
