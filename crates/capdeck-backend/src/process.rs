//! Child processes: started without a shell, in their own group, and ended as a group.
//!
//! A [`Process`] owns a process; dropping it ends the whole group. A task per process waits for it, ends the rest of
//! its group, and reports the end to the guardian. A descendant that leaves the group (its own session) cannot be
//! ended.

mod exit;
mod find;
mod spawn_error;
#[cfg(test)]
mod tests;

use std::{path::PathBuf, process::Stdio, time::Duration};

use capdeck_auth::Scrubber;
use indexmap::IndexMap;
use rustix::process::{Pid, Signal};
use tokio::{
    process::{Child, ChildStderr, ChildStdin, ChildStdout, Command},
    sync::watch,
    task::JoinHandle,
    time::{Instant, sleep, timeout},
};
use tokio_util::sync::CancellationToken;

pub(crate) use self::{exit::Exit, find::find_program, spawn_error::SpawnError};
use crate::{guardian::Guardian, process_log::ProcessLog};

const GRACE: Duration = Duration::from_secs(2);

/// The time for the rest of a group, such as the end of a pipeline, after its program exited.
const LINGER: Duration = Duration::from_millis(200);

#[derive(Debug, Clone)]
pub(crate) struct ChildCommand {
    pub(crate) program: String,
    pub(crate) args: Vec<String>,
    /// The whole environment; nothing else is inherited.
    pub(crate) env: IndexMap<String, String>,
    /// `None` means the host's own folder.
    pub(crate) folder: Option<PathBuf>,
    pub(crate) input: Input,
    pub(crate) errors: Errors,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Input {
    /// Reading returns the end of file.
    Closed,
    Piped,
}

/// The destination of standard error. It is always read, so that the program never blocks.
#[derive(Debug, Clone)]
pub(crate) enum Errors {
    Log { log: ProcessLog, scrubber: Scrubber },
    Piped,
}

#[derive(Debug)]
pub(crate) struct Pipes {
    pub(crate) stdin: Option<ChildStdin>,
    pub(crate) stdout: Option<ChildStdout>,
    pub(crate) stderr: Option<ChildStderr>,
}

/// A running program. Dropping it ends its whole group in the background.
#[derive(Debug)]
pub(crate) struct Process {
    stop: CancellationToken,
    life: watch::Receiver<Life>,
}

/// Starts programs and registers them with the guardian. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(crate) struct Spawner {
    guardian: Guardian,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Life {
    Running,
    /// The program has exited; others of its group may still run.
    Exited(Exit),
    Gone(Exit),
}

impl Spawner {
    pub(crate) fn new(guardian: Guardian) -> Self {
        Self { guardian }
    }

    /// Starts a program. Must be called inside the runtime.
    pub(crate) fn spawn(&self, command: &ChildCommand) -> Result<(Process, Pipes), SpawnError> {
        let search_path = command.env.get("PATH").map(String::as_str);
        let file = find_program(&command.program, search_path, command.folder.as_deref())?;
        let mut builder = Command::new(&file);
        builder
            .args(&command.args)
            .env_clear()
            .envs(&command.env)
            .stdin(match command.input {
                Input::Closed => Stdio::null(),
                Input::Piped => Stdio::piped(),
            })
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
        let group = Group::new(&child, self.guardian.clone());
        let mut pipes =
            Pipes { stdin: child.stdin.take(), stdout: child.stdout.take(), stderr: None };
        let logging = match (&command.errors, child.stderr.take()) {
            (Errors::Log { log, scrubber }, Some(stderr)) => {
                Some(tokio::spawn(log.clone().drain(stderr, scrubber.clone())))
            }
            (_, stderr) => {
                pipes.stderr = stderr;
                None
            }
        };
        let (announce, life) = watch::channel(Life::Running);
        let stop = CancellationToken::new();
        tokio::spawn(supervise(child, group, logging, stop.clone(), announce));
        Ok((Process { stop, life }, pipes))
    }
}

impl Process {
    pub(crate) async fn exited(&self) -> Exit {
        self.reached(|life| !matches!(life, Life::Running)).await
    }

    pub(crate) fn exit(&self) -> Option<Exit> {
        match *self.life.borrow() {
            Life::Running => None,
            Life::Exited(exit) | Life::Gone(exit) => Some(exit),
        }
    }

    /// Waits until the program and the rest of its group have ended.
    pub(crate) async fn gone(&self) -> Exit {
        self.reached(|life| matches!(life, Life::Gone(_))).await
    }

    /// Ends the whole group without waiting.
    pub(crate) fn stop(&self) {
        self.stop.cancel();
    }

    pub(crate) async fn kill(&self) -> Exit {
        self.stop();
        self.gone().await
    }

    async fn reached(&self, goal: impl Fn(&Life) -> bool) -> Exit {
        let mut life = self.life.clone();
        match life.wait_for(goal).await.as_deref() {
            Ok(Life::Exited(exit) | Life::Gone(exit)) => *exit,
            // The supervisor only ends early with the runtime, which also ends the group.
            Ok(Life::Running) | Err(_) => Exit::UNKNOWN,
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
    mut group: Group,
    logging: Option<JoinHandle<()>>,
    stop: CancellationToken,
    announce: watch::Sender<Life>,
) {
    let ended = tokio::select! {
        ended = child.wait() => ended,
        () = stop.cancelled() => {
            group.signal(Signal::TERM);
            if let Ok(ended) = timeout(GRACE, child.wait()).await {
                ended
            } else {
                group.signal(Signal::KILL);
                child.wait().await
            }
        }
    };
    let exit = match ended {
        Ok(status) => Exit::from(status),
        Err(error) => {
            tracing::warn!(%error, "waiting for a child process failed");
            Exit::UNKNOWN
        }
    };
    if let Some(logging) = logging {
        // The exit is reported after the program's last output was read. Others may hold the pipe for longer.
        let _still_open = timeout(LINGER, logging).await;
    }
    announce.send_replace(Life::Exited(exit));
    group.end(&stop).await;
    announce.send_replace(Life::Gone(exit));
}

/// A process group. Dropping it before its end kills it.
#[derive(Debug)]
struct Group {
    id: Option<Pid>,
    guardian: Guardian,
}

impl Group {
    fn new(child: &Child, guardian: Guardian) -> Self {
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
                () = self.ended(LINGER) => {}
                () = stop.cancelled() => {}
            }
        }
        if self.exists() {
            self.signal(Signal::TERM);
            self.ended(GRACE).await;
            self.signal(Signal::KILL);
        }
        if let Some(id) = self.id.take() {
            self.guardian.forget(id);
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

impl Drop for Group {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
        if let Some(id) = self.id.take() {
            self.guardian.forget(id);
        }
    }
}
