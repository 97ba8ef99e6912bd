//! The host side of a worker process.

use std::{io, process::Stdio, time::Duration};

use bytes::BytesMut;
use futures_util::StreamExt;
use tokio::{
    io::AsyncWriteExt,
    process::{Child, ChildStdin, ChildStdout, Command},
    time::timeout,
};
use tokio_util::codec::{FramedRead, LengthDelimitedCodec};

use crate::{
    protocol::{self, HostMessage, MAX_FRAME_BYTES, WorkerIsolation, WorkerMessage, WorkerRole},
    settings::WorkerCommand,
};

/// Bounds the start of a process. It needs milliseconds, more on a busy machine.
const START_TIMEOUT: Duration = Duration::from_secs(10);

/// Address space beyond that at the start: heap, responses and the parser's memory.
const ADDRESS_SPACE: u64 = 768 << 20;

/// The same for a type checker.
const CHECKER_ADDRESS_SPACE: u64 = 1 << 30;

/// A running worker. Dropping it kills the process.
#[derive(Debug)]
pub(super) struct WorkerProcess {
    child: Child,
    input: ChildStdin,
    /// Bytes that the pipe has not accepted yet.
    unsent: BytesMut,
    output: FramedRead<ChildStdout, LengthDelimitedCodec>,
    isolation: WorkerIsolation,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum WorkerStartError {
    #[error("`{program}` could not be started")]
    Spawn {
        program: String,
        #[source]
        source: io::Error,
    },
    #[error("the worker ended before it was ready")]
    Ended,
    #[error("the worker was not ready after {} s", START_TIMEOUT.as_secs())]
    Slow,
    #[error("the worker violated the protocol")]
    Protocol(#[source] io::Error),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProcessDeath {
    /// Killed by the kernel's CPU limit.
    CpuLimit,
    Crash,
    Other,
}

impl WorkerProcess {
    pub(super) async fn start(
        command: &WorkerCommand,
        role: WorkerRole,
    ) -> Result<Self, WorkerStartError> {
        let spawned = Command::new(&command.program)
            .args(&command.args)
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(0)
            .kill_on_drop(true)
            .spawn();
        let program = command.program.display().to_string();
        let mut child = spawned.map_err(|source| WorkerStartError::Spawn { program, source })?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(WorkerStartError::Ended);
        };
        let codec = LengthDelimitedCodec::builder()
            .little_endian()
            .length_field_length(4)
            .max_frame_length(MAX_FRAME_BYTES)
            .new_codec();
        let output = FramedRead::new(output, codec);
        let isolation = WorkerIsolation::default();
        let mut worker = Self { child, input, unsent: BytesMut::new(), output, isolation };
        let address_space = match role {
            WorkerRole::Session => ADDRESS_SPACE,
            WorkerRole::TypeChecker => CHECKER_ADDRESS_SPACE,
        };
        worker
            .queue(&HostMessage::Start { role, address_space })
            .map_err(WorkerStartError::Protocol)?;
        let ready =
            timeout(START_TIMEOUT, worker.exchange()).await.map_err(|_| WorkerStartError::Slow)?;
        match ready {
            Ok(Some(WorkerMessage::Ready(isolation))) => worker.isolation = isolation,
            Ok(_) => return Err(WorkerStartError::Ended),
            Err(error) => return Err(WorkerStartError::Protocol(error)),
        }
        Ok(worker)
    }

    pub(super) fn isolation(&self) -> WorkerIsolation {
        self.isolation
    }

    pub(super) fn id(&self) -> Option<u32> {
        self.child.id()
    }

    pub(super) fn is_alive(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Queues a frame that [`Self::exchange`] sends.
    pub(super) fn queue(&mut self, frame: &HostMessage) -> io::Result<()> {
        self.unsent.extend_from_slice(&protocol::encode(frame)?);
        Ok(())
    }

    /// Sends queued frames while waiting for the next frame. `None` is the end. Cancel-safe.
    ///
    /// Both at once, because each side could otherwise wait for the other to read.
    pub(super) async fn exchange(&mut self) -> io::Result<Option<WorkerMessage>> {
        loop {
            tokio::select! {
                biased;
                sent = self.input.write_buf(&mut self.unsent), if !self.unsent.is_empty() => {
                    if sent.is_err() {
                        // The process is ending; its last frames may still be in the pipe.
                        self.unsent.clear();
                    }
                }
                frame = self.output.next() => {
                    return match frame {
                        Some(frame) => protocol::decode(&frame?).map(Some),
                        None => Ok(None),
                    };
                }
            }
        }
    }

    pub(super) async fn kill(&mut self) {
        if let Err(error) = self.child.kill().await {
            tracing::warn!(%error, "a sandbox worker could not be killed");
        }
    }

    pub(super) async fn death(&mut self) -> ProcessDeath {
        use std::os::unix::process::ExitStatusExt;
        let ended = timeout(Duration::from_secs(1), self.child.wait()).await;
        let Ok(Ok(status)) = ended else {
            self.kill().await;
            return ProcessDeath::Other;
        };
        let signals = [
            rustix::process::Signal::SEGV,
            rustix::process::Signal::ABORT,
            rustix::process::Signal::ILL,
            rustix::process::Signal::BUS,
            rustix::process::Signal::TRAP,
        ];
        match status.signal() {
            Some(signal) if signal == rustix::process::Signal::XCPU.as_raw() => {
                ProcessDeath::CpuLimit
            }
            Some(signal) if signals.iter().any(|known| known.as_raw() == signal) => {
                ProcessDeath::Crash
            }
            _ => ProcessDeath::Other,
        }
    }
}
