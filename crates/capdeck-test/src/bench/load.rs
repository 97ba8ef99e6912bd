//! Closed loops of calls, over pipes and over HTTP.
//!
//! On pipes one thread keeps a window of calls open, because that is what one client on one pipe does.
//! Over HTTP each caller has its own thread and its own connection.

use std::{
    collections::{HashMap, HashSet},
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use serde::Deserialize;
use serde_json::{Value, json};

use super::LoadFigures;
use crate::{HttpClient, stdio_client::initialize_params};

/// A server on pipes, without the threads a patient test client needs.
pub(super) struct PipeServer {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    next_id: u64,
}

#[derive(Deserialize)]
struct PipeAnswer {
    id: Option<u64>,
}

impl PipeServer {
    /// Starts the program and shakes hands.
    pub(super) fn start(mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let (stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let mut pipe = Self { child, stdin, stdout: BufReader::new(stdout), next_id: 0 };
        pipe.ask("initialize", initialize_params(json!({})));
        pipe.write(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string());
        pipe
    }

    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends one request and gives the answering line.
    pub(super) fn ask(&mut self, method: &str, params: Value) -> String {
        let id = self.send(method, &params.to_string());
        loop {
            let (answered, line) = self.read();
            if answered == Some(id) {
                return line;
            }
        }
    }

    /// Makes the same call this often at once and gives the answering lines.
    pub(super) fn call_at_once(&mut self, params: &str, calls: usize) -> Vec<String> {
        let mut open: HashSet<u64> = (0..calls).map(|_| self.send("tools/call", params)).collect();
        let mut answers = Vec::with_capacity(calls);
        while !open.is_empty() {
            let (answered, line) = self.read();
            if answered.is_some_and(|id| open.remove(&id)) {
                answers.push(line);
            }
        }
        answers
    }

    /// Makes this many calls, `window` of them open at any time.
    pub(super) fn load(&mut self, params: &str, calls: usize, window: usize) -> LoadFigures {
        let mut sent = HashMap::with_capacity(window);
        let mut samples = Vec::with_capacity(calls);
        let started = Instant::now();
        let mut left = calls;
        while samples.len() < calls {
            while left > 0 && sent.len() < window {
                let now = Instant::now();
                let id = self.send("tools/call", params);
                sent.insert(id, now);
                left -= 1;
            }
            if let (Some(id), _) = self.read()
                && let Some(started) = sent.remove(&id)
            {
                samples.push(started.elapsed());
            }
        }
        summarise(samples, started.elapsed())
    }

    fn send(&mut self, method: &str, params: &str) -> u64 {
        self.next_id += 1;
        let id = self.next_id;
        self.write(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#
        ));
        id
    }

    fn write(&mut self, message: &str) {
        self.stdin.write_all(format!("{message}\n").as_bytes()).expect("the server reads");
    }

    fn read(&mut self) -> (Option<u64>, String) {
        let mut line = String::new();
        let length = self.stdout.read_line(&mut line).expect("the server writes text");
        assert!(length > 0, "the server ended");
        let answer: PipeAnswer = serde_json::from_str(&line).unwrap_or(PipeAnswer { id: None });
        (answer.id, line)
    }
}

impl Drop for PipeServer {
    fn drop(&mut self) {
        let _already_gone = self.child.kill();
        let _already_gone = self.child.wait();
    }
}

/// Makes this many calls over HTTP, split between callers with a session and a connection each.
pub(super) fn http_load(url: &str, params: &Value, calls: usize, callers: usize) -> LoadFigures {
    let mut callers = HttpCallers::open(url, &[], callers);
    let load = callers.load(params, calls);
    callers.close();
    load
}

/// Clients that call at the same time, each with a session and a connection that stay open.
pub(super) struct HttpCallers {
    clients: Vec<HttpClient>,
}

impl HttpCallers {
    /// Opens the sessions. These headers go with every request.
    pub(super) fn open(url: &str, headers: &[(String, String)], callers: usize) -> Self {
        let open = |_| {
            let mut client = HttpClient::new(url);
            client.headers = headers.to_vec();
            client.initialize();
            client
        };
        Self { clients: (0..callers).map(open).collect() }
    }

    /// Makes this many calls, split between all.
    pub(super) fn load(&mut self, params: &Value, calls: usize) -> LoadFigures {
        let share = calls.div_ceil(self.clients.len());
        let params = params.to_string();
        let started = Instant::now();
        let samples = thread::scope(|scope| {
            let start = |client| scope.spawn(|| make_calls(client, &params, share));
            let threads: Vec<_> = self.clients.iter_mut().map(start).collect();
            threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
        });
        summarise(samples, started.elapsed())
    }

    /// Ends the sessions: some servers keep a process for each.
    pub(super) fn close(self) {
        self.clients.into_iter().for_each(|mut client| client.end_session());
    }
}

fn make_calls(client: &mut HttpClient, params: &str, calls: usize) -> Vec<Duration> {
    let call = |id| {
        let body =
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{params}}}"#);
        let started = Instant::now();
        let reply = client.post(&body);
        assert_eq!(reply.status, 200, "a call was refused: {reply:?}");
        started.elapsed()
    };
    (0..calls).map(call).collect()
}

/// Reads the head of an endless answer, and nothing of its body.
pub(super) fn read_stream_head(stream: &mut TcpStream) {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).expect("the host answers");
        head.push(byte[0]);
    }
    assert!(head.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&head));
}

/// The value below which this share of the samples lies.
pub(super) fn percentile(sorted: &[Duration], share: f64) -> Duration {
    let rank = ((sorted.len() as f64 * share).ceil() as usize).clamp(1, sorted.len());
    sorted[rank - 1]
}

/// What a loop of calls comes to.
pub(super) fn summarise(mut samples: Vec<Duration>, elapsed: Duration) -> LoadFigures {
    samples.sort_unstable();
    let micros = |duration: Duration| duration.as_secs_f64() * 1e6;
    let count = samples.len() as f64;
    LoadFigures {
        calls: samples.len(),
        p50_us: micros(percentile(&samples, 0.5)),
        p99_us: micros(percentile(&samples, 0.99)),
        calls_per_second: count / elapsed.as_secs_f64(),
    }
}
