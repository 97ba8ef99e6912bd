//! Runs the `capdeck` binary with nothing of the person's own set-up in reach.

use std::{
    ffi::OsStr,
    io::{BufRead, BufReader, Read, Write},
    path::PathBuf,
    process::{Child, Command, ExitStatus, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::{HttpClient, StdioClient, TestDirs, built_binary};

/// Longer than any answer should take; a test that waits this long has found a hang.
const TIMEOUT: Duration = Duration::from_secs(60);

/// One invocation of the binary, being put together.
#[derive(Debug)]
pub struct CapdeckRun {
    command: Command,
    stdin: Option<Vec<u8>>,
    /// Where a host's stderr goes.
    log: Option<std::fs::File>,
}

/// How a command ended.
#[derive(Debug)]
pub struct CapdeckOutput {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

/// `capdeck up` on a port of its own. Killed when dropped.
#[derive(Debug)]
pub struct RunningHost {
    child: Child,
    /// `http://127.0.0.1:PORT`, without a slash at the end.
    pub url: String,
}

impl CapdeckRun {
    /// The binary built beside the running test.
    pub fn new(dirs: &TestDirs) -> Self {
        Self::at(built_binary("capdeck-cli", "capdeck"), dirs)
    }

    /// The binary at a known path, such as `env!("CARGO_BIN_EXE_capdeck")`.
    pub fn at(program: impl Into<PathBuf>, dirs: &TestDirs) -> Self {
        let mut command = Command::new(program.into());
        dirs.isolate(&mut command);
        Self { command, stdin: None, log: None }
    }

    #[must_use]
    pub fn arg(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.command.arg(argument);
        self
    }

    #[must_use]
    pub fn args(mut self, arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        self.command.args(arguments);
        self
    }

    #[must_use]
    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    #[must_use]
    pub fn current_dir(mut self, folder: impl AsRef<std::path::Path>) -> Self {
        self.command.current_dir(folder);
        self
    }

    /// Feeds stdin; without this it is closed from the start.
    #[must_use]
    pub fn stdin(mut self, text: impl Into<Vec<u8>>) -> Self {
        self.stdin = Some(text.into());
        self
    }

    /// Sends what a host says to people into a file; without this it goes where the test's own goes.
    #[must_use]
    pub fn stderr_to(mut self, file: impl AsRef<std::path::Path>) -> Self {
        self.log = Some(std::fs::File::create(file).unwrap());
        self
    }

    /// Runs to the end, at most a minute.
    pub fn run(mut self) -> CapdeckOutput {
        let stdin = if self.stdin.is_some() { Stdio::piped() } else { Stdio::null() };
        let mut child = self
            .command
            .stdin(stdin)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        if let (Some(text), Some(mut pipe)) = (self.stdin, child.stdin.take()) {
            // A command that answers without reading closes the pipe early; that is its right.
            thread::spawn(move || pipe.write_all(&text));
        }
        let stdout = read_aside(child.stdout.take().unwrap());
        let stderr = read_aside(child.stderr.take().unwrap());
        let status = wait(&mut child, &self.command);
        CapdeckOutput {
            code: status.code(),
            stdout: stdout.recv().unwrap(),
            stderr: stderr.recv().unwrap(),
        }
    }

    /// Starts `capdeck serve` with these arguments as an MCP server on pipes.
    pub fn serve(self, arguments: &[&str]) -> StdioClient {
        let serving = self.arg("serve").args(arguments);
        StdioClient::start(serving.command)
    }

    /// Starts `capdeck attach` with these arguments as an MCP server on pipes.
    pub fn attach(self, arguments: &[&str]) -> StdioClient {
        let serving = self.arg("attach").args(arguments);
        StdioClient::start(serving.command)
    }

    /// Starts `capdeck serve` with these arguments, and leaves its pipes to the test.
    pub fn serve_unread(self, arguments: &[&str]) -> Child {
        let mut serving = self.arg("serve").args(arguments);
        let command = serving.command.stdin(Stdio::piped()).stdout(Stdio::piped());
        command.stderr(Stdio::inherit()).spawn().unwrap()
    }

    /// Starts `capdeck up --port 0` and waits until it says where it listens.
    pub fn up(self, arguments: &[&str]) -> RunningHost {
        self.up_with("0", arguments)
    }

    /// The same on a port that is known to be free, such as that of a host that has ended.
    pub fn up_at(self, port: &str) -> RunningHost {
        self.up_with(port, &[])
    }

    fn up_with(self, port: &str, arguments: &[&str]) -> RunningHost {
        let mut serving = self.args(["up", "--port", port, "--json"]).args(arguments);
        let mut child = serving
            .command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(serving.log.take().map_or_else(Stdio::inherit, Stdio::from))
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        let (sender, receiver) = mpsc::channel();
        thread::spawn(move || {
            // Reading goes on after the first line, so that the host never meets a closed pipe.
            for line in lines.lines().map_while(Result::ok) {
                let _gone = sender.send(line);
            }
        });
        let line = receiver.recv_timeout(TIMEOUT).expect("`capdeck up` says where it listens");
        let started: Value = serde_json::from_str(&line)
            .unwrap_or_else(|_| panic!("`capdeck up --json` starts with JSON, not {line}"));
        let url = started["url"].as_str().expect("the first line has a `url`");
        RunningHost { child, url: url.trim_end_matches('/').to_owned() }
    }
}

impl CapdeckOutput {
    /// Stdout as one JSON value.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("stdout is not JSON ({error}):\n{self:?}"))
    }

    /// The same, after making sure that the command went well.
    pub fn success(self) -> Self {
        assert_eq!(self.code, Some(0), "the command failed:\n{}\n{}", self.stdout, self.stderr);
        self
    }
}

impl RunningHost {
    /// A client of one path of the host, such as `/mcp`.
    pub fn client(&self, path: &str) -> HttpClient {
        HttpClient::new(&format!("{}{path}", self.url))
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Asks the host to stop, as a service manager does, and waits until it has.
    pub fn stop(&mut self) {
        self.stop_by(Signal::TERM);
    }

    /// Sends the host a signal that ends it, and waits until it has ended.
    pub fn stop_by(&mut self, signal: Signal) -> ExitStatus {
        self.signal(signal);
        self.child.wait().unwrap()
    }

    /// Sends the host a signal.
    pub fn signal(&self, signal: Signal) {
        let id = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        kill_process(id.unwrap(), signal).unwrap();
    }
}

impl Drop for RunningHost {
    fn drop(&mut self) {
        let _already_gone = self.child.kill();
        let _already_gone = self.child.wait();
    }
}

fn read_aside(mut pipe: impl Read + Send + 'static) -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let _partial = pipe.read_to_end(&mut bytes);
        sender.send(String::from_utf8_lossy(&bytes).into_owned())
    });
    receiver
}

fn wait(child: &mut Child, command: &Command) -> ExitStatus {
    let deadline = Instant::now() + TIMEOUT;
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        if Instant::now() > deadline {
            let _already_gone = child.kill();
            panic!("still running after {TIMEOUT:?}: {command:?}");
        }
        thread::sleep(Duration::from_millis(5));
    }
}
