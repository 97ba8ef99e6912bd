//! A process with an engine that is ready, from which the processes of sessions are forked.
//!
//! Starting the binary and reading the prelude takes milliseconds, a copy of a process that did both takes a fraction of
//! one. The server has one thread, reads no code of clients and does nothing but fork and wait, so it can copy itself at any
//! time. A copy confines itself before it reads the first cell. It draws its random numbers from the system when a run
//! begins, so copies share none.

mod fork;

use std::{
    collections::VecDeque,
    fs, io,
    os::fd::{AsFd, OwnedFd},
};

use rustix::{
    event::{PollFd, PollFlags, poll},
    io::Errno,
    process::{
        PidfdFlags, Resource, WaitId, WaitIdOptions, getrlimit, pidfd_open, setpgid, setrlimit,
        waitid,
    },
    stdio::{dup2_stdin, dup2_stdout, stdin},
};

use self::fork::ForkedSide;
use crate::fork_packet::{receive, send};
use crate::protocol::{ForkAction, ForkOutcome, ForkRequest, ForkResponse};

/// The host asks for the end of a process at once, or never.
const MAX_ENDED: usize = 256;

/// Prepares the process before an engine starts: closes what it inherited, and lets the main thread's stack grow as far as
/// that of a thread made for an engine.
pub(super) fn prepare(stack_bytes: usize) {
    fork::close_inherited();
    let mut limit = getrlimit(Resource::Stack);
    let wanted = limit.maximum.unwrap_or(u64::MAX).min(stack_bytes as u64);
    if limit.current.is_some_and(|current| current < wanted) {
        limit.current = Some(wanted);
        // With less, deeply nested code ends its process sooner.
        let _smaller = setrlimit(Resource::Stack, limit);
    }
}

/// Forks on request until the host is gone, then returns `None`. In a forked process, returns its socket to the host.
pub(super) fn serve() -> io::Result<Option<OwnedFd>> {
    if fs::read_dir("/proc/self/task")?.count() != 1 {
        return Err(io::Error::other("a process with several threads cannot be forked"));
    }
    let mut server = ChildProcesses::default();
    loop {
        if !server.wait()? {
            continue;
        }
        let Some((request, socket)) = receive::<ForkRequest>(stdin())? else { return Ok(None) };
        let outcome = match (request.action, socket) {
            (ForkAction::Fork, Some(socket)) => match fork::fork() {
                Ok(ForkedSide::Child) => return Ok(Some(socket)),
                Ok(ForkedSide::Parent(child)) => match pidfd_open(child, PidfdFlags::empty()) {
                    Ok(handle) => {
                        let process = child.as_raw_pid();
                        let outcome = ForkOutcome::Forked(process);
                        let response = ForkResponse { number: request.number, outcome };
                        send(stdin(), &response, Some(handle.as_fd()))?;
                        server.running.push(ForkedProcess { process, handle });
                        continue;
                    }
                    Err(error) => ForkOutcome::Failed(error.to_string()),
                },
                Err(error) => ForkOutcome::Failed(error.to_string()),
            },
            (ForkAction::Fork, None) => ForkOutcome::Failed("no socket was sent along".to_owned()),
            (ForkAction::Status { process }, _) => ForkOutcome::Ended(server.status(process)),
        };
        send(stdin(), &ForkResponse { number: request.number, outcome }, None)?;
    }
}

/// Makes a forked process a worker: the socket becomes its standard input and output.
pub(super) fn take_place(socket: OwnedFd) -> io::Result<()> {
    dup2_stdin(&socket)?;
    dup2_stdout(&socket)?;
    drop(socket);
    // Signals of a terminal are for the host.
    setpgid(None, None)?;
    Ok(())
}

#[derive(Default)]
struct ChildProcesses {
    running: Vec<ForkedProcess>,
    ended: VecDeque<(i32, Option<i32>)>,
}

struct ForkedProcess {
    process: i32,
    handle: OwnedFd,
}

impl ChildProcesses {
    /// Waits for a packet or the end of a process. Returns whether there is a packet.
    fn wait(&mut self) -> io::Result<bool> {
        let mut files = vec![PollFd::from_borrowed_fd(stdin(), PollFlags::IN)];
        let handles = self.running.iter().map(|running| &running.handle);
        files.extend(handles.map(|handle| PollFd::new(handle, PollFlags::IN)));
        match poll(&mut files, None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let mut ready = files.iter().map(|file| !file.revents().is_empty());
        let is_packet = ready.next().unwrap_or(false);
        let ended: Vec<bool> = ready.collect();
        drop(files);
        for (index, _) in ended.iter().enumerate().rev().filter(|(_, ended)| **ended) {
            self.reap(index);
        }
        Ok(is_packet)
    }

    fn reap(&mut self, index: usize) -> Option<i32> {
        let ForkedProcess { process, handle } = self.running.swap_remove(index);
        let status = waitid(WaitId::PidFd(handle.as_fd()), WaitIdOptions::EXITED).ok().flatten();
        let signal = status.and_then(|status| status.terminating_signal());
        if self.ended.len() == MAX_ENDED {
            self.ended.pop_front();
        }
        self.ended.push_back((process, signal));
        signal
    }

    /// Returns the signal that ended a process. Waits for the end, which has begun when this is asked.
    fn status(&mut self, process: i32) -> Option<i32> {
        if let Some(index) = self.running.iter().position(|running| running.process == process) {
            return self.reap(index);
        }
        self.ended.iter().rev().find(|(ended, _)| *ended == process).and_then(|(_, signal)| *signal)
    }
}
