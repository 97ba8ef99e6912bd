//! Running `git`: without questions, without the person's hooks and filters, and never longer than a deadline.

use std::{
    ffi::{OsStr, OsString},
    io::{self, Read, Write as _},
    path::Path,
    process::{Child, Command, Stdio},
    sync::mpsc::{self, RecvTimeoutError},
    thread,
    time::{Duration, Instant},
};

use super::{GitError, RepoAddress, address::without_password};

/// Settings of every command; they override the person's own configuration.
const SETTINGS: [&str; 8] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.askPass=",
    "gc.auto=0",
    "maintenance.auto=false",
    "advice.detachedHead=false",
    "protocol.version=2",
    "submodule.recurse=false",
];

/// Variables that tie a command to the repository it was started in, as inside a hook.
const REMOVED_VARIABLES: [&str; 8] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_NAMESPACE",
    "GIT_QUARANTINE_PATH",
];

const MAX_ERROR_BYTES: u64 = 64 * 1024;

#[derive(Debug)]
pub(super) struct GitCommand<'a> {
    program: &'a OsStr,
    repo: &'a RepoAddress,
    pub(super) settings: Vec<OsString>,
    pub(super) git_dir: Option<&'a Path>,
    deadline: Duration,
}

impl<'a> GitCommand<'a> {
    pub(super) fn new(program: &'a OsStr, repo: &'a RepoAddress, deadline: Duration) -> Self {
        let settings = SETTINGS.iter().map(OsString::from).collect();
        Self { program, repo, settings, git_dir: None, deadline }
    }

    /// What git wrote; an error when it failed.
    pub(super) fn run<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Result<Vec<u8>, GitError> {
        self.run_with_input(arguments, Vec::new(), |output| {
            let mut bytes = Vec::new();
            output.read_to_end(&mut bytes).map(|_| bytes)
        })
    }

    /// Feeds `input` to git and gives its output to `read`, which runs on a thread of its own.
    pub(super) fn run_with_input<S: AsRef<OsStr>, T: Send>(
        &self,
        arguments: &[S],
        input: Vec<u8>,
        read: impl FnOnce(&mut dyn Read) -> io::Result<T> + Send,
    ) -> Result<T, GitError> {
        let mut child = self.spawn(arguments)?;
        let (stdin, stdout, stderr) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(mut stdin), Some(mut stdout), Some(stderr)) = (stdin, stdout, stderr) else {
            return Err(self.failed("it was started without its pipes"));
        };
        let started = Instant::now();
        thread::scope(|scope| {
            let (done, finished) = mpsc::channel();
            // A git that stops reading has failed, and says why on its error output.
            scope.spawn(move || stdin.write_all(&input).is_ok());
            let reader = {
                let done = done.clone();
                scope.spawn(move || {
                    let value = read(&mut stdout);
                    let _receiver_gone = done.send(());
                    value
                })
            };
            let errors = scope.spawn(move || {
                let mut bytes = Vec::new();
                let mut stderr = stderr;
                let kept = stderr.by_ref().take(MAX_ERROR_BYTES).read_to_end(&mut bytes);
                let drained = io::copy(&mut stderr, &mut io::sink());
                let _receiver_gone = done.send(());
                kept.and(drained).map(|_| bytes).unwrap_or_default()
            });
            let mut is_late = false;
            for _pipe in 0..2 {
                let left = self.deadline.saturating_sub(started.elapsed());
                if finished.recv_timeout(left) == Err(RecvTimeoutError::Timeout) {
                    is_late = true;
                    break;
                }
            }
            if is_late {
                end(&mut child);
            }
            let value = reader.join();
            let errors = errors.join().unwrap_or_default();
            let status = child.wait().map_err(|error| self.failed(&error.to_string()))?;
            if is_late {
                return Err(GitError::TimedOut {
                    repo: self.repo.to_string(),
                    after: self.deadline,
                });
            }
            if !status.success() {
                return Err(self.parse_error(&String::from_utf8_lossy(&errors)));
            }
            match value {
                Ok(Ok(value)) => Ok(value),
                Ok(Err(error)) => Err(self.failed(&error.to_string())),
                Err(_) => Err(self.failed("its output could not be read")),
            }
        })
    }

    fn spawn<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Result<Child, GitError> {
        let mut command = Command::new(self.program);
        for setting in &self.settings {
            command.arg("-c").arg(setting);
        }
        if let Some(git_dir) = self.git_dir {
            let mut argument = OsString::from("--git-dir=");
            argument.push(git_dir);
            command.arg(argument);
        }
        command.args(arguments);
        for name in REMOVED_VARIABLES {
            command.env_remove(name);
        }
        command
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_ASKPASS", "")
            .env("SSH_ASKPASS", "")
            .env("SSH_ASKPASS_REQUIRE", "never")
            .env("GCM_INTERACTIVE", "never")
            .env("GIT_LFS_SKIP_SMUDGE", "1")
            .env("GIT_ALLOW_PROTOCOL", "https:http:ssh:file")
            .env("GIT_PAGER", "cat")
            // Messages are distinguished below.
            .env("LC_ALL", "C")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        #[cfg(unix)]
        {
            use std::os::unix::process::CommandExt as _;
            // Its helpers belong to the group, so that they end with it.
            command.process_group(0);
        }
        command.spawn().map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => GitError::NoGit,
            _ => self.failed(&error.to_string()),
        })
    }

    fn failed(&self, detail: &str) -> GitError {
        GitError::Failed { repo: self.repo.to_string(), detail: detail.to_owned() }
    }

    /// The error that git's own words mean.
    fn parse_error(&self, errors: &str) -> GitError {
        const MISSING: [&str; 8] = [
            "repository not found",
            "does not appear to be a git repository",
            "could not read username",
            "could not read password",
            "authentication failed",
            "permission denied",
            "access denied",
            "the requested url returned error: 40",
        ];
        const AWAY: [&str; 10] = [
            "could not resolve host",
            "could not resolve hostname",
            "failed to connect",
            "couldn't connect",
            "connection refused",
            "connection timed out",
            "network is unreachable",
            "no route to host",
            "connection reset",
            "ssl",
        ];
        let (repo, detail) = (self.repo.to_string(), error_summary(errors));
        let lower = errors.to_lowercase();
        let says = |words: &[&str]| words.iter().any(|word| lower.contains(word));
        if says(&AWAY) {
            GitError::Unreachable { repo, detail }
        } else if says(&MISSING) {
            GitError::NoSuchRepository { repo, detail }
        } else {
            GitError::Failed { repo, detail }
        }
    }
}

/// The line of git's output that says most, safe to show.
fn error_summary(errors: &str) -> String {
    let lines: Vec<&str> = errors.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let is_reason = |line: &&&str| line.starts_with("fatal:") || line.starts_with("error:");
    let line =
        lines.iter().find(is_reason).or(lines.last()).copied().unwrap_or("it gave no reason");
    let line = line.trim_start_matches("fatal: ").trim_start_matches("error: ");
    let visible: String = without_password(line).chars().filter(|c| !c.is_control()).collect();
    visible.chars().take(300).collect()
}

fn end(child: &mut Child) {
    #[cfg(unix)]
    if let Some(group) = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw) {
        let _gone = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    let _gone = child.kill();
}
