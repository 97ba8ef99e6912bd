//! Child processes: started without a shell, in a group of their own, and ended as a group.
//!
//! A process is owned by a [`Process`]; dropping it ends the whole group. A task per process waits for
//! it, ends what it left behind in its group, and tells the guardian that the group is gone. What a
//! descendant does after leaving the group on purpose (its own session) is out of reach.

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

/// How long a group may take to end by itself after it was asked to.
const GRACE: Duration = Duration::from_secs(2);

/// How long the rest of a group may go on after its program ended by itself, such as the end of a pipeline.
const LINGER: Duration = Duration::from_millis(200);

/// A program to start.
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

/// What the program reads on standard input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Input {
    /// Nothing: reading gives the end at once.
    Closed,
    Piped,
}

/// Where standard error goes. It is read in any case, so that a chattering program never blocks.
#[derive(Debug, Clone)]
pub(crate) enum Errors {
    Log { log: ProcessLog, scrubber: Scrubber },
    Piped,
}

/// The ends of a started program's pipes.
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

/// Starts programs and tells the guardian about them. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(crate) struct Spawner {
    guardian: Guardian,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Life {
    Running,
    /// The program has ended; others of its group may not have.
    Exited(Exit),
    Gone(Exit),
}

impl Spawner {
    /// A spawner whose groups this guardian watches.
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
    /// Waits until the program itself has ended.
    pub(crate) async fn exited(&self) -> Exit {
        self.reached(|life| !matches!(life, Life::Running)).await
    }

    /// How the program ended, once it has.
    pub(crate) fn exit(&self) -> Option<Exit> {
        match *self.life.borrow() {
            Life::Running => None,
            Life::Exited(exit) | Life::Gone(exit) => Some(exit),
        }
    }

    /// Waits until the program and everything it left in its group have ended.
    pub(crate) async fn gone(&self) -> Exit {
        self.reached(|life| matches!(life, Life::Gone(_))).await
    }

    /// Starts ending the whole group and does not wait for it.
    pub(crate) fn stop(&self) {
        self.stop.cancel();
    }

    /// Ends the whole group and waits until it is gone.
    pub(crate) async fn kill(&self) -> Exit {
        self.stop();
        self.gone().await
    }

    async fn reached(&self, goal: impl Fn(&Life) -> bool) -> Exit {
        let mut life = self.life.clone();
        match life.wait_for(goal).await.as_deref() {
            Ok(Life::Exited(exit) | Life::Gone(exit)) => *exit,
            // The supervisor only goes away early with the runtime, and takes the group along.
            Ok(Life::Running) | Err(_) => Exit::UNKNOWN,
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// Waits for a program, ends it when asked, and never leaves its group behind.
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
        // Whoever hears of the exit can read the program's last words. Others may hold the pipe for longer.
        let _still_open = timeout(LINGER, logging).await;
    }
    announce.send_replace(Life::Exited(exit));
    group.end(&stop).await;
    announce.send_replace(Life::Gone(exit));
}

/// A process group. Dropped before its end, it is killed on the spot.
#[derive(Debug)]
struct Group {
    id: Option<Pid>,
    guardian: Guardian,
}

impl Group {
    fn new(child: &Child, guardian: Guardian) -> Self {
        // The child leads its own group, so the two have the same number.
        let id = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        if let Some(id) = id {
            guardian.watch(id);
        }
        Self { id, guardian }
    }

    fn signal(&self, signal: Signal) {
        if let Some(id) = self.id {
            // The only failure that matters, no such group, is the state that is wanted.
            let _gone = rustix::process::kill_process_group(id, signal);
        }
    }

    fn exists(&self) -> bool {
        self.id.is_some_and(|id| {
            !matches!(rustix::process::test_kill_process_group(id), Err(rustix::io::Errno::SRCH))
        })
    }

    /// Ends what the program left behind: lets it finish, asks, then kills.
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

    /// Waits for the group to end, but no longer than this.
    async fn ended(&self, limit: Duration) {
        let deadline = Instant::now() + limit;
        // Only children can be waited for; for the rest of the group the kernel must be asked.
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
