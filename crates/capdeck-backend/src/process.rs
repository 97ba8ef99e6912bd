//! Child processes: started without a shell, in their own group, and ended as a group.
//!
//! A [`Process`] owns a process; dropping it ends the whole group. A task per process waits for it, ends the rest of
//! its group, and reports the end to the guardian. A descendant that leaves the group (its own session) cannot be
//! ended.

mod cpu_time;
mod find;
#[cfg(test)]
mod tests;

use std::{
    fmt,
    os::unix::process::ExitStatusExt,
    path::PathBuf,
    process::{ExitStatus, Stdio},
    time::Duration,
};

use capdeck_auth::SecretScrubber;
use indexmap::IndexMap;
use rustix::process::{Pid, Signal};
use tokio::{
    process::{Child, ChildStderr, ChildStdin, ChildStdout, Command},
    sync::watch,
    task::JoinHandle,
    time::{Instant, sleep, timeout},
};
use tokio_util::sync::CancellationToken;

pub(crate) use self::find::{SpawnError, find_program};
use crate::{guardian::ProcessGuardian, process_log::ProcessLog};

const STOP_TIMEOUT: Duration = Duration::from_secs(2);

/// The time for the rest of a group, such as the end of a pipeline, after its program exited.
const GROUP_EXIT_TIMEOUT: Duration = Duration::from_millis(200);

#[derive(Debug, Clone, Default)]
pub(crate) struct ChildCommand {
    pub(crate) program: String,
    pub(crate) args: Vec<String>,
    /// The whole environment; nothing else is inherited.
    pub(crate) env: IndexMap<String, String>,
    /// `None` means the host's own folder.
    pub(crate) folder: Option<PathBuf>,
    /// Without a pipe, reading returns the end of file.
    pub(crate) pipes_stdin: bool,
    /// Standard error goes there, or else to a pipe. It is always read, so that the program never blocks.
    pub(crate) error_log: Option<(ProcessLog, SecretScrubber)>,
}

#[derive(Debug)]
pub(crate) struct ProcessPipes {
    pub(crate) stdin: Option<ChildStdin>,
    pub(crate) stdout: Option<ChildStdout>,
    pub(crate) stderr: Option<ChildStderr>,
}

/// A running program. Dropping it ends its whole group in the background.
#[derive(Debug)]
pub(crate) struct Process {
    stop: CancellationToken,
    life: watch::Receiver<ProcessState>,
    group: Option<Pid>,
}

/// Starts programs and registers them with the guardian. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(crate) struct ProcessSpawner {
    guardian: ProcessGuardian,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ProcessState {
    Running,
    /// The program has exited; others of its group may still run.
    Exited(ProcessExit),
    Gone(ProcessExit),
}

impl ProcessSpawner {
    pub(crate) fn new(guardian: ProcessGuardian) -> Self {
        Self { guardian }
    }

    /// Starts a program. Must be called inside the runtime.
    pub(crate) fn spawn(
        &self,
        command: &ChildCommand,
    ) -> Result<(Process, ProcessPipes), SpawnError> {
        let search_path = command.env.get("PATH").map(String::as_str);
        let file = find_program(&command.program, search_path, command.folder.as_deref())?;
        let mut builder = Command::new(&file);
        builder
            .args(&command.args)
            .env_clear()
            .envs(&command.env)
            .stdin(if command.pipes_stdin { Stdio::piped() } else { Stdio::null() })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        if let Some(folder) = &command.folder {
            builder.current_dir(folder);
        }
        self.guardian.prepare();
        let mut child =
            builder.spawn().map_err(|source| SpawnError::from_io(&command.program, source))?;
        let group = ProcessGroup::new(&child, self.guardian.clone());
        let (logging, stderr) = match (&command.error_log, child.stderr.take()) {
            (Some((log, scrubber)), Some(stderr)) => {
                (Some(tokio::spawn(log.clone().drain(stderr, scrubber.clone()))), None)
            }
            (_, stderr) => (None, stderr),
        };
        let pipes = ProcessPipes { stdin: child.stdin.take(), stdout: child.stdout.take(), stderr };
        let (announce, life) = watch::channel(ProcessState::Running);
        let stop = CancellationToken::new();
        let group_id = group.id;
        tokio::spawn(supervise(child, group, logging, stop.clone(), announce));
        Ok((Process { stop, life, group: group_id }, pipes))
    }
}

impl Process {
    pub(crate) async fn exited(&self) -> ProcessExit {
        self.reached(|life| !matches!(life, ProcessState::Running)).await
    }

    pub(crate) fn exit(&self) -> Option<ProcessExit> {
        match *self.life.borrow() {
            ProcessState::Running => None,
            ProcessState::Exited(exit) | ProcessState::Gone(exit) => Some(exit),
        }
    }

    /// Waits until the program and the rest of its group have ended.
    pub(crate) async fn wait_group_exit(&self) -> ProcessExit {
        self.reached(|life| matches!(life, ProcessState::Gone(_))).await
    }

    /// The processor time of its group so far. `None` where the system does not tell.
    pub(crate) fn cpu_time(&self) -> Option<Duration> {
        self.group.and_then(cpu_time::of_group)
    }

    /// Ends the whole group without waiting.
    pub(crate) fn stop(&self) {
        self.stop.cancel();
    }

    pub(crate) async fn kill(&self) -> ProcessExit {
        self.stop();
        self.wait_group_exit().await
    }

    async fn reached(&self, goal: impl Fn(&ProcessState) -> bool) -> ProcessExit {
        let mut life = self.life.clone();
        match life.wait_for(goal).await.as_deref() {
            Ok(ProcessState::Exited(exit) | ProcessState::Gone(exit)) => *exit,
            // The supervisor only ends early with the runtime, which also ends the group.
            Ok(ProcessState::Running) | Err(_) => ProcessExit::UNKNOWN,
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// Waits for a program, ends it on request, and never leaves its group behind.
async fn supervise(
    mut child: Child,
    mut group: ProcessGroup,
    logging: Option<JoinHandle<()>>,
    stop: CancellationToken,
    announce: watch::Sender<ProcessState>,
) {
    let ended = tokio::select! {
        ended = child.wait() => ended,
        () = stop.cancelled() => {
            group.signal(Signal::TERM);
            if let Ok(ended) = timeout(STOP_TIMEOUT, child.wait()).await {
                ended
            } else {
                group.signal(Signal::KILL);
                child.wait().await
            }
        }
    };
    let exit = match ended {
        Ok(status) => ProcessExit::from(status),
        Err(error) => {
            tracing::warn!(%error, "waiting for a child process failed");
            ProcessExit::UNKNOWN
        }
    };
    if let Some(logging) = logging {
        // The exit is reported after the program's last output was read. Others may hold the pipe for longer.
        let _still_open = timeout(GROUP_EXIT_TIMEOUT, logging).await;
    }
    announce.send_replace(ProcessState::Exited(exit));
    group.end(&stop).await;
    announce.send_replace(ProcessState::Gone(exit));
}

/// A process group. Dropping it before its end kills it.
#[derive(Debug)]
struct ProcessGroup {
    id: Option<Pid>,
    guardian: ProcessGuardian,
}

impl ProcessGroup {
    fn new(child: &Child, guardian: ProcessGuardian) -> Self {
        // The child leads its own group, so both have the same number.
        let id = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        if let Some(id) = id {
            guardian.watch(id);
        }
        Self { id, guardian }
    }

    fn signal(&self, signal: Signal) {
        if let Some(id) = self.id {
            // The only relevant failure, no such group, is the wanted state.
            let _gone = rustix::process::kill_process_group(id, signal);
        }
    }

    fn exists(&self) -> bool {
        self.id.is_some_and(|id| {
            !matches!(rustix::process::test_kill_process_group(id), Err(rustix::io::Errno::SRCH))
        })
    }

    /// Ends the rest of a group: waits, terminates, then kills.
    async fn end(&mut self, stop: &CancellationToken) {
        if self.exists() {
            tokio::select! {
                () = self.ended(GROUP_EXIT_TIMEOUT) => {}
                () = stop.cancelled() => {}
            }
        }
        if self.exists() {
            self.signal(Signal::TERM);
            self.ended(STOP_TIMEOUT).await;
            self.signal(Signal::KILL);
        }
        if let Some(id) = self.id.take() {
            self.guardian.unwatch(id);
        }
    }

    async fn ended(&self, limit: Duration) {
        let deadline = Instant::now() + limit;
        // Only children can be waited for; the rest of the group is polled.
        while self.exists() && Instant::now() < deadline {
            sleep(Duration::from_millis(10)).await;
        }
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
        if let Some(id) = self.id.take() {
            self.guardian.unwatch(id);
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ProcessExit {
    /// `None` when a signal ended it.
    pub(crate) code: Option<i32>,
    pub(crate) signal: Option<i32>,
}

impl ProcessExit {
    pub(super) const UNKNOWN: Self = Self { code: None, signal: None };

    pub(crate) fn signal_name(self) -> Option<String> {
        let name = match self.signal? {
            1 => "SIGHUP",
            2 => "SIGINT",
            3 => "SIGQUIT",
            4 => "SIGILL",
            6 => "SIGABRT",
            8 => "SIGFPE",
            9 => "SIGKILL",
            11 => "SIGSEGV",
            13 => "SIGPIPE",
            14 => "SIGALRM",
            15 => "SIGTERM",
            other => return Some(format!("signal {other}")),
        };
        Some(name.to_owned())
    }
}

impl From<ExitStatus> for ProcessExit {
    fn from(status: ExitStatus) -> Self {
        Self { code: status.code(), signal: status.signal() }
    }
}

impl fmt::Display for ProcessExit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.code, self.signal_name()) {
            (Some(code), _) => write!(formatter, "exit code {code}"),
            (None, Some(signal)) => write!(formatter, "ended by {signal}"),
            (None, None) => formatter.write_str("ended with an unknown status"),
        }
    }
}
