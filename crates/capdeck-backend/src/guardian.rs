//! Ends child processes when the host dies, even by SIGKILL.
//!
//! The host keeps one helper process in its own group, connected by a pipe. The host writes `+<group>` and `-<group>`
//! lines; the end of the pipe means that the host is gone, and the helper ends every listed group. The helper is the
//! same binary with a hidden subcommand that calls [`run_guardian`], started with the first child.
//!
//! A host that dies between a child's start and its `+` line, one system call later, can still leak that child.

use std::{
    collections::BTreeSet,
    ffi::OsString,
    io::{self, BufRead, Write},
    os::unix::process::CommandExt,
    path::PathBuf,
    process::{Child, ChildStdin, Command, Stdio},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};

/// The time for orphaned groups to end by themselves.
const STOP_TIMEOUT: Duration = Duration::from_millis(500);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuardianCommand {
    pub program: PathBuf,
    pub args: Vec<OsString>,
}

/// The host's side. Cheap to clone; does nothing without a command.
#[derive(Debug, Clone, Default)]
pub(crate) struct ProcessGuardian(Option<Arc<Mutex<GuardianState>>>);

#[derive(Debug)]
struct GuardianState {
    command: GuardianCommand,
    groups: BTreeSet<i32>,
    helper: GuardianProcess,
}

#[derive(Debug)]
enum GuardianProcess {
    NotStarted,
    Running {
        child: Child,
        stdin: ChildStdin,
    },
    /// It could not be started or ended early; logged once, then children run without it.
    Unavailable,
}

/// The helper's side: reads lines until the host is gone, then ends every listed group.
pub fn run_guardian(stdin: impl BufRead) {
    let mut groups = BTreeSet::new();
    for line in stdin.lines() {
        let Ok(line) = line else { break };
        if let Some(id) = line.strip_prefix('+').and_then(parse_group) {
            groups.insert(id);
        } else if let Some(id) = line.strip_prefix('-').and_then(parse_group) {
            groups.remove(&id);
        }
    }
    let groups: Vec<Pid> = groups.into_iter().filter_map(Pid::from_raw).collect();
    for group in &groups {
        let _gone = kill_process_group(*group, Signal::TERM);
    }
    let deadline = Instant::now() + STOP_TIMEOUT;
    while Instant::now() < deadline
        && groups.iter().any(|group| test_kill_process_group(*group).is_ok())
    {
        thread::sleep(Duration::from_millis(10));
    }
    for group in &groups {
        let _gone = kill_process_group(*group, Signal::KILL);
    }
}

/// Rejects groups 0 and 1: signalling them would reach this group or everything.
fn parse_group(text: &str) -> Option<i32> {
    text.parse().ok().filter(|id| *id > 1)
}

impl ProcessGuardian {
    pub(crate) fn new(command: Option<GuardianCommand>) -> Self {
        Self(command.map(|command| {
            Arc::new(Mutex::new(GuardianState {
                command,
                groups: BTreeSet::new(),
                helper: GuardianProcess::NotStarted,
            }))
        }))
    }

    /// Starts the helper, so that the next child is watched from its start.
    pub(crate) fn prepare(&self) {
        let Some(watch) = &self.0 else { return };
        let mut watch = watch.lock();
        if matches!(watch.helper, GuardianProcess::NotStarted) {
            watch.restart();
        }
    }

    pub(crate) fn watch(&self, group: Pid) {
        let Some(watch) = &self.0 else { return };
        let mut watch = watch.lock();
        watch.groups.insert(group.as_raw_nonzero().get());
        watch.send_line(&format!("+{}\n", group.as_raw_nonzero()));
    }

    pub(crate) fn unwatch(&self, group: Pid) {
        let Some(watch) = &self.0 else { return };
        let mut watch = watch.lock();
        watch.groups.remove(&group.as_raw_nonzero().get());
        if matches!(watch.helper, GuardianProcess::Running { .. }) {
            watch.send_line(&format!("-{}\n", group.as_raw_nonzero()));
        }
    }
}

impl GuardianState {
    /// Sends a line and starts the helper if needed. A dead helper is replaced once per line.
    fn send_line(&mut self, line: &str) {
        if let GuardianProcess::Running { stdin, .. } = &mut self.helper {
            if stdin.write_all(line.as_bytes()).is_ok() {
                return;
            }
            self.stop();
        }
        if !matches!(self.helper, GuardianProcess::Unavailable) {
            self.restart();
        }
    }

    fn restart(&mut self) {
        self.helper = self.start().unwrap_or_else(|error| {
            tracing::warn!(%error, "the guardian process is not running; children may outlive a killed host");
            GuardianProcess::Unavailable
        });
    }

    fn start(&self) -> io::Result<GuardianProcess> {
        let mut child = Command::new(&self.command.program)
            .args(&self.command.args)
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()?;
        let mut stdin = child.stdin.take().ok_or(io::ErrorKind::BrokenPipe)?;
        let lines: String = self.groups.iter().map(|group| format!("+{group}\n")).collect();
        stdin.write_all(lines.as_bytes())?;
        Ok(GuardianProcess::Running { child, stdin })
    }

    /// Closes the pipe, which ends the helper, and reaps it.
    fn stop(&mut self) {
        if let GuardianProcess::Running { mut child, stdin } =
            std::mem::replace(&mut self.helper, GuardianProcess::NotStarted)
        {
            drop(stdin);
            thread::spawn(move || child.wait());
        }
    }
}

impl Drop for GuardianState {
    fn drop(&mut self) {
        self.stop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sleeper() -> Child {
        Command::new("sleep").arg("1000").process_group(0).spawn().unwrap()
    }

    #[test]
    fn the_end_of_input_ends_the_groups_still_listed() {
        let (mut listed, mut forgotten) = (sleeper(), sleeper());
        let lines = format!(
            "+{}\n+{}\n-{}\nnoise\n+1\n+0\n+-5\n",
            listed.id(),
            forgotten.id(),
            forgotten.id()
        );
        // The guardian sees the end of a group only after its child is reaped.
        let guardian = thread::spawn(move || run_guardian(lines.as_bytes()));
        listed.wait().unwrap();
        guardian.join().unwrap();
        assert!(forgotten.try_wait().unwrap().is_none());
        forgotten.kill().unwrap();
        forgotten.wait().unwrap();
    }

    #[test]
    fn a_guardian_that_cannot_start_is_done_without() {
        let guardian = ProcessGuardian::new(Some(GuardianCommand {
            program: PathBuf::from("/no/such/guardian"),
            args: Vec::new(),
        }));
        let mut child = sleeper();
        let group = Pid::from_raw(child.id().cast_signed()).unwrap();
        guardian.watch(group);
        guardian.unwatch(group);
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
