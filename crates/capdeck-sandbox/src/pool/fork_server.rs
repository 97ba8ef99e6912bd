//! The host side of the fork server: one process from which the workers of sessions are forked.

use std::{
    io,
    os::{
        fd::{AsFd, OwnedFd},
        unix::net::UnixStream as StdUnixStream,
    },
    process::Stdio,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    net::{AddressFamily, SocketFlags, SocketType, socketpair},
    process::{Signal, pidfd_send_signal},
};
use tokio::{io::Interest, net::UnixStream, process::Child, sync::Mutex};

use super::worker_process::{self, ADDRESS_SPACE, WorkerStartError};
use crate::{
    fork_packet::{receive, send},
    protocol::{self, ForkAction, ForkOutcome, ForkRequest, ForkResponse, HostMessage, WorkerRole},
    settings::WorkerCommand,
};

/// A running fork server. Dropping the last reference ends it; its workers go on.
#[derive(Debug)]
pub(super) struct ForkServer {
    control: UnixStream,
    /// Held from a request to its response.
    turn: Mutex<()>,
    last_number: AtomicU64,
    process: Child,
}

/// A worker that a fork server has made. Dropping it kills the process.
#[derive(Debug)]
pub(super) struct ForkedWorker {
    pub(super) process: i32,
    handle: OwnedFd,
    pub(super) server: Arc<ForkServer>,
}

impl ForkServer {
    pub(super) fn start(command: &WorkerCommand) -> Result<Self, WorkerStartError> {
        let failed = |error: rustix::io::Errno| WorkerStartError::Protocol(error.into());
        let (ours, theirs) =
            socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
                .map_err(failed)?;
        let process = worker_process::spawn(command, theirs.into(), Stdio::null())?;
        let role = WorkerRole::ForkServer;
        let start = HostMessage::Start { role, address_space: ADDRESS_SPACE };
        let start = protocol::encode(&start).map_err(WorkerStartError::Protocol)?;
        rustix::io::write(&ours, &start).map_err(failed)?;
        // Only its readiness is used, which a socket of packets has like one of bytes.
        let control = StdUnixStream::from(ours);
        let registered = control.set_nonblocking(true).and_then(|()| UnixStream::from_std(control));
        let control = registered.map_err(WorkerStartError::Protocol)?;
        let (turn, last_number) = (Mutex::default(), AtomicU64::default());
        Ok(Self { control, turn, last_number, process })
    }

    pub(super) fn id(&self) -> Option<u32> {
        self.process.id()
    }

    /// Forks a worker. Returns the host's end of its socket.
    pub(super) async fn fork(self: &Arc<Self>) -> io::Result<(StdUnixStream, ForkedWorker)> {
        let (ours, theirs) = StdUnixStream::pair()?;
        match self.request(ForkAction::Fork, Some(theirs.into())).await? {
            (ForkOutcome::Forked(process), Some(handle)) => {
                Ok((ours, ForkedWorker { process, handle, server: Arc::clone(self) }))
            }
            (ForkOutcome::Failed(reason), _) => Err(io::Error::other(reason)),
            _ => Err(io::ErrorKind::InvalidData.into()),
        }
    }

    async fn request(
        &self,
        action: ForkAction,
        socket: Option<OwnedFd>,
    ) -> io::Result<(ForkOutcome, Option<OwnedFd>)> {
        let number = self.last_number.fetch_add(1, Ordering::Relaxed) + 1;
        let request = ForkRequest { number, action };
        let _turn = self.turn.lock().await;
        let file = socket.as_ref().map(AsFd::as_fd);
        self.control.async_io(Interest::WRITABLE, || send(&self.control, &request, file)).await?;
        drop(socket);
        loop {
            let packet = self
                .control
                .async_io(Interest::READABLE, || receive::<ForkResponse>(&self.control))
                .await?;
            let Some((response, handle)) = packet else {
                return Err(io::ErrorKind::UnexpectedEof.into());
            };
            // The response to a request whose future was dropped is of no use, nor is its handle.
            if response.number == number {
                return Ok((response.outcome, handle));
            }
        }
    }
}

impl ForkedWorker {
    pub(super) fn is_alive(&self) -> bool {
        let mut files = [PollFd::new(&self.handle, PollFlags::IN)];
        poll(&mut files, Some(&Timespec::default())) == Ok(0)
    }

    pub(super) fn kill(&self) {
        // It may have ended by itself.
        let _gone = pidfd_send_signal(&self.handle, Signal::KILL);
    }

    /// Returns the signal that ended the process, which has closed its socket.
    pub(super) async fn end_signal(&self) -> io::Result<Option<i32>> {
        // The server waits for its end and serves no one else meanwhile. Killing one that is ending changes nothing.
        self.kill();
        let status = ForkAction::Status { process: self.process };
        match self.server.request(status, None).await? {
            (ForkOutcome::Ended(signal), _) => Ok(signal),
            _ => Err(io::ErrorKind::InvalidData.into()),
        }
    }
}

impl Drop for ForkedWorker {
    fn drop(&mut self) {
        self.kill();
    }
}
