//! Programs of others that are measured beside Capdeck.

use std::{
    ffi::OsString,
    net::{TcpListener, TcpStream},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use super::stage::alone;
use crate::FakePlan;

const START_TIMEOUT: Duration = Duration::from_secs(30);
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// A program, its arguments, and its name with its version.
#[derive(Debug, Clone)]
pub struct BenchPeer {
    pub name: String,
    pub command: Vec<OsString>,
}

impl BenchPeer {
    pub(super) fn command(&self) -> Command {
        let mut words = self.command.iter();
        let mut command = Command::new(words.next().expect("a peer has a program"));
        command.args(words);
        command
    }
}

/// npm `supergateway` with a stdio server behind it. Killed when dropped.
pub(super) struct PeerGateway {
    child: Child,
    pub url: String,
}

impl PeerGateway {
    /// Starts the peer with sessions, which is its quicker way, and waits until it listens.
    pub(super) fn start(peer: &BenchPeer, plan: &FakePlan) -> Self {
        let port = free_port();
        let mut command = peer.command();
        command.args(["--stdio", &shell_words(&alone(plan)), "--port", &port.to_string()]).args([
            "--outputTransport",
            "streamableHttp",
            "--stateful",
            "--streamableHttpPath",
            "/mcp",
            "--logLevel",
            "none",
        ]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let started = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(child.try_wait().unwrap().is_none(), "the peer ended: {command:?}");
            assert!(started.elapsed() < START_TIMEOUT, "the peer does not listen: {command:?}");
            thread::sleep(POLL_INTERVAL);
        }
        Self { child, url: format!("http://127.0.0.1:{port}/mcp") }
    }

    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for PeerGateway {
    fn drop(&mut self) {
        let _already_gone = self.child.kill();
        let _already_gone = self.child.wait();
    }
}

/// A port that was free a moment ago: the peer cannot choose one by itself.
fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

/// The command as one line for a shell.
fn shell_words(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let quoted = words.map(|word| format!("'{}'", word.to_string_lossy().replace('\'', r"'\''")));
    quoted.collect::<Vec<_>>().join(" ")
}
