//! The host side of a worker process.

#[cfg(target_os = "linux")]
use std::sync::Arc;
use std::{
    fs, io,
    os::{fd::OwnedFd, unix::net::UnixStream as StdUnixStream, unix::process::ExitStatusExt},
    process::Stdio,
    time::Duration,
};

use bytes::BytesMut;
use futures_util::StreamExt;
use rustix::process::Signal;
use tokio::{
    io::AsyncWriteExt,
    net::{
        UnixStream,
        unix::{OwnedReadHalf, OwnedWriteHalf},
    },
    process::{Child, Command},
    time::timeout,
};
use tokio_util::codec::{FramedRead, LengthDelimitedCodec};

#[cfg(target_os = "linux")]
use super::fork_server::{ForkServer, ForkedWorker};
use crate::{
    protocol::{self, HostMessage, MAX_FRAME_BYTES, WorkerIsolation, WorkerMessage, WorkerRole},
    settings::WorkerCommand,
};

/// Bounds the start of a process. It needs milliseconds, more on a busy machine.
const START_TIMEOUT: Duration = Duration::from_secs(10);

/// Address space beyond that at the start: heap, responses and the parser's memory.
pub(super) const ADDRESS_SPACE: u64 = 768 << 20;

/// The same for a type checker.
const CHECKER_ADDRESS_SPACE: u64 = 1 << 30;

/// A running worker. Dropping it kills the process.
#[derive(Debug)]
pub(super) struct WorkerProcess {
    process: ProcessHandle,
    input: OwnedWriteHalf,
    /// Bytes that the socket has not accepted yet.
    unsent: BytesMut,
    output: FramedRead<OwnedReadHalf, LengthDelimitedCodec>,
    /// `None` until the worker is ready.
    isolation: Option<WorkerIsolation>,
}

#[derive(Debug)]
enum ProcessHandle {
    Started(Child),
    #[cfg(target_os = "linux")]
    Forked(ForkedWorker),
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

/// Starts the program with nothing of the host's but these files.
pub(super) fn spawn(
    command: &WorkerCommand,
    input: Stdio,
    output: Stdio,
) -> Result<Child, WorkerStartError> {
    let spawned = Command::new(&command.program)
        .args(&command.args)
        .env_clear()
        .current_dir("/")
        .stdin(input)
        .stdout(output)
        .stderr(Stdio::null())
        .process_group(0)
        .kill_on_drop(true)
        .spawn();
    let program = command.program.display().to_string();
    spawned.map_err(|source| WorkerStartError::Spawn { program, source })
}

impl WorkerProcess {
    /// Starts a process and waits until it is ready.
    pub(super) async fn start(
        command: &WorkerCommand,
        role: WorkerRole,
    ) -> Result<Self, WorkerStartError> {
        let (ours, theirs) = StdUnixStream::pair().map_err(WorkerStartError::Protocol)?;
        let theirs = OwnedFd::from(theirs);
        let copy = theirs.try_clone().map_err(WorkerStartError::Protocol)?;
        let child = spawn(command, theirs.into(), copy.into())?;
        let mut worker = Self::new(ProcessHandle::Started(child), ours)?;
        let address_space = match role {
            WorkerRole::Session | WorkerRole::ForkServer => ADDRESS_SPACE,
            WorkerRole::TypeChecker => CHECKER_ADDRESS_SPACE,
        };
        worker
            .queue(&HostMessage::Start { role, address_space })
            .map_err(WorkerStartError::Protocol)?;
        worker.ready().await?;
        Ok(worker)
    }

    /// Forks a process. Frames can be queued at once; it reads them when it is confined.
    #[cfg(target_os = "linux")]
    pub(super) async fn fork(server: &Arc<ForkServer>) -> Result<Self, WorkerStartError> {
        let forked = timeout(START_TIMEOUT, server.fork()).await;
        let forked = forked.map_err(|_| WorkerStartError::Slow)?;
        let (socket, process) = forked.map_err(WorkerStartError::Protocol)?;
        Self::new(ProcessHandle::Forked(process), socket)
    }

    fn new(process: ProcessHandle, socket: StdUnixStream) -> Result<Self, WorkerStartError> {
        let connect = || {
            socket.set_nonblocking(true)?;
            UnixStream::from_std(socket)
        };
        let (output, input) = connect().map_err(WorkerStartError::Protocol)?.into_split();
        let codec = LengthDelimitedCodec::builder()
            .little_endian()
            .length_field_length(4)
            .max_frame_length(MAX_FRAME_BYTES)
            .new_codec();
        let output = FramedRead::new(output, codec);
        Ok(Self { process, input, unsent: BytesMut::new(), output, isolation: None })
    }

    /// Waits until the worker is confined. Nothing may have been asked of it.
    pub(super) async fn ready(&mut self) -> Result<WorkerIsolation, WorkerStartError> {
        if let Some(isolation) = self.isolation {
            return Ok(isolation);
        }
        let ready = timeout(START_TIMEOUT, self.exchange_any()).await;
        match ready.map_err(|_| WorkerStartError::Slow)? {
            Ok(Some(WorkerMessage::Ready(isolation))) => {
                self.isolation = Some(isolation);
                Ok(isolation)
            }
            Ok(_) => Err(WorkerStartError::Ended),
            Err(error) => Err(WorkerStartError::Protocol(error)),
        }
    }

    /// Whether the process ends after a cell that leaves no state, because another one costs little.
    pub(super) fn ends_without_state(&self) -> bool {
        match &self.process {
            ProcessHandle::Started(_) => false,
            #[cfg(target_os = "linux")]
            ProcessHandle::Forked(_) => true,
        }
    }

    pub(super) fn id(&self) -> Option<u32> {
        match &self.process {
            ProcessHandle::Started(child) => child.id(),
            #[cfg(target_os = "linux")]
            ProcessHandle::Forked(forked) => u32::try_from(forked.process).ok(),
        }
    }

    /// Returns the memory that the process does not share with others, in bytes.
    pub(super) fn own_bytes(&self) -> u64 {
        let shared = match &self.process {
            ProcessHandle::Started(_) => None,
            #[cfg(target_os = "linux")]
            ProcessHandle::Forked(forked) => forked.server.id().and_then(unmapped_bytes),
        };
        let bytes = self.id().and_then(unmapped_bytes).unwrap_or(0);
        bytes.saturating_sub(shared.unwrap_or(0))
    }

    pub(super) fn is_alive(&mut self) -> bool {
        match &mut self.process {
            ProcessHandle::Started(child) => matches!(child.try_wait(), Ok(None)),
            #[cfg(target_os = "linux")]
            ProcessHandle::Forked(forked) => forked.is_alive(),
        }
    }

    /// Queues a frame that [`Self::exchange`] sends.
    pub(super) fn queue(&mut self, frame: &HostMessage) -> io::Result<()> {
        self.unsent.extend_from_slice(&protocol::encode(frame)?);
        Ok(())
    }

    /// Sends queued frames while waiting for the next frame. `None` is the end. Cancel-safe.
    pub(super) async fn exchange(&mut self) -> io::Result<Option<WorkerMessage>> {
        loop {
            match self.exchange_any().await? {
                Some(WorkerMessage::Ready(isolation)) if self.isolation.is_none() => {
                    self.isolation = Some(isolation);
                }
                frame => return Ok(frame),
            }
        }
    }

    /// Both at once, because each side could otherwise wait for the other to read.
    async fn exchange_any(&mut self) -> io::Result<Option<WorkerMessage>> {
        loop {
            tokio::select! {
                biased;
                sent = self.input.write_buf(&mut self.unsent), if !self.unsent.is_empty() => {
                    if sent.is_err() {
                        // The process is ending; its last frames may still be in the socket.
                        self.unsent.clear();
                    }
                }
                frame = self.output.next() => {
                    return match frame {
                        Some(Ok(frame)) => protocol::decode(&frame).map(Some),
                        // A process that ends with unread input resets its socket.
                        Some(Err(error)) if error.kind() == io::ErrorKind::ConnectionReset => Ok(None),
                        Some(Err(error)) => Err(error),
                        None => Ok(None),
                    };
                }
            }
        }
    }

    pub(super) async fn kill(&mut self) {
        match &mut self.process {
            ProcessHandle::Started(child) => {
                if let Err(error) = child.kill().await {
                    tracing::warn!(%error, "a sandbox worker could not be killed");
                }
            }
            #[cfg(target_os = "linux")]
            ProcessHandle::Forked(forked) => forked.kill(),
        }
    }

    pub(super) async fn death(&mut self) -> ProcessDeath {
        let Ok(Ok(signal)) = timeout(Duration::from_secs(1), self.end_signal()).await else {
            self.kill().await;
            return ProcessDeath::Other;
        };
        let crashes = [Signal::SEGV, Signal::ABORT, Signal::ILL, Signal::BUS, Signal::TRAP];
        match signal {
            Some(signal) if signal == Signal::XCPU.as_raw() => ProcessDeath::CpuLimit,
            Some(signal) if crashes.iter().any(|known| known.as_raw() == signal) => {
                ProcessDeath::Crash
            }
            _ => ProcessDeath::Other,
        }
    }

    async fn end_signal(&mut self) -> io::Result<Option<i32>> {
        match &mut self.process {
            ProcessHandle::Started(child) => Ok(child.wait().await?.signal()),
            #[cfg(target_os = "linux")]
            ProcessHandle::Forked(forked) => forked.end_signal().await,
        }
    }
}

/// Returns the memory of a process that is not mapped from files, in bytes.
fn unmapped_bytes(process: u32) -> Option<u64> {
    let pages = fs::read_to_string(format!("/proc/{process}/statm")).ok()?;
    let mut pages = pages.split(' ').skip(1).map_while(|count| count.parse::<u64>().ok());
    let (resident, mapped) = (pages.next()?, pages.next()?);
    Some(resident.saturating_sub(mapped) * rustix::param::page_size() as u64)
}
