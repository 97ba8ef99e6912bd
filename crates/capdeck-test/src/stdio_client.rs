//! A raw MCP client on a child's pipes. Keeps every line as text, so tests can compare bytes.

use std::{
    collections::VecDeque,
    io::{BufRead, BufReader, Read, Write},
    process::{Child, ChildStdin, Command, ExitStatus, Stdio},
    sync::mpsc::{self, Receiver},
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

/// An MCP server on pipes, seen from the client's side. The child is killed when this is dropped.
pub struct StdioClient {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    stderr: Receiver<String>,
    /// Messages read while waiting for something else, oldest first.
    aside: VecDeque<Value>,
    next_id: u64,
    timeout: Duration,
}

impl StdioClient {
    /// Starts the command with all three pipes captured.
    pub fn start(mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let (line_sender, lines) = mpsc::channel();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                if line_sender.send(line).is_err() {
                    break;
                }
            }
        });
        let (stderr_sender, stderr) = mpsc::channel();
        let mut stderr_pipe = child.stderr.take().unwrap();
        thread::spawn(move || {
            let mut bytes = Vec::new();
            let _partial = stderr_pipe.read_to_end(&mut bytes);
            let _nobody_asked = stderr_sender.send(String::from_utf8_lossy(&bytes).into_owned());
        });
        Self {
            stdin: child.stdin.take(),
            child,
            lines,
            stderr,
            aside: VecDeque::new(),
            next_id: 0,
            timeout: Duration::from_secs(30),
        }
    }

    /// How long a wait may take before the test fails.
    #[must_use]
    pub fn with_patience(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// The handshake of 2025-11-25 without client capabilities; gives the `initialize` result.
    pub fn initialize(&mut self) -> Value {
        self.initialize_with(json!({}))
    }

    /// The handshake with these client capabilities.
    pub fn initialize_with(&mut self, capabilities: Value) -> Value {
        let reply = self.request("initialize", initialize_params(capabilities));
        self.notify("notifications/initialized", json!({}));
        reply["result"].clone()
    }

    /// Sends a request and waits for its answer (the whole message). Other messages are set aside.
    pub fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.send_request(method, params);
        self.answer_to(id)
    }

    /// Sends a request without waiting; gives its id.
    pub fn send_request(&mut self, method: &str, params: Value) -> u64 {
        self.next_id += 1;
        let id = self.next_id;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    pub fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// Answers a request the server made.
    pub fn respond(&mut self, id: &Value, result: Value) {
        self.send(&json!({"jsonrpc": "2.0", "id": id, "result": result}));
    }

    pub fn send(&mut self, message: &Value) {
        self.send_line(&message.to_string());
    }

    /// Sends any text and a line end: for input that is not even JSON.
    pub fn send_line(&mut self, line: &str) {
        let stdin = self.stdin.as_mut().expect("stdin is still open");
        stdin.write_all(format!("{line}\n").as_bytes()).expect("the server reads its stdin");
    }

    /// Waits for the answer with this id.
    pub fn answer_to(&mut self, id: u64) -> Value {
        self.wait_for(&format!("the answer to request {id}"), |message| {
            message["id"] == json!(id) && message.get("method").is_none()
        })
    }

    /// Waits for a notification or server request with this method.
    pub fn incoming(&mut self, method: &str) -> Value {
        self.wait_for(&format!("`{method}`"), |message| message["method"] == method)
    }

    /// Waits for the first message that fits, set aside ones included.
    pub fn wait_for(&mut self, what: &str, fits: impl Fn(&Value) -> bool) -> Value {
        if let Some(place) = self.aside.iter().position(&fits) {
            return self.aside.remove(place).unwrap();
        }
        let deadline = Instant::now() + self.timeout;
        loop {
            let message = self.next_before(deadline, what);
            if fits(&message) {
                return message;
            }
            self.aside.push_back(message);
        }
    }

    /// The next line exactly as it came.
    pub fn next_line(&mut self) -> String {
        self.lines.recv_timeout(self.timeout).expect("the server writes a line")
    }

    /// What was read while waiting for something else.
    pub fn set_aside(&self) -> impl Iterator<Item = &Value> {
        self.aside.iter()
    }

    /// Closes stdin, waits for the end and gives the status and all of stderr.
    pub fn close(mut self) -> (ExitStatus, String) {
        drop(self.stdin.take());
        self.ended()
    }

    /// Waits until the server ends by itself; gives the status and all of stderr.
    pub fn ended(mut self) -> (ExitStatus, String) {
        let deadline = Instant::now() + self.timeout;
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(Instant::now() < deadline, "the server is still running");
            thread::sleep(Duration::from_millis(5));
        };
        let stderr = self.stderr.recv_timeout(self.timeout).unwrap_or_default();
        (status, stderr)
    }

    fn next_before(&mut self, deadline: Instant, what: &str) -> Value {
        let left = deadline.saturating_duration_since(Instant::now());
        let line = self.lines.recv_timeout(left).unwrap_or_else(|cause| {
            let state = match self.child.try_wait() {
                Ok(Some(status)) => format!("the server ended: {status}"),
                _ => "the server still runs".to_owned(),
            };
            panic!("waiting for {what}: {cause}; {state}; set aside: {:?}", self.aside)
        });
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("not JSON ({error}): {line}"))
    }
}

impl Drop for StdioClient {
    fn drop(&mut self) {
        let _already_gone = self.child.kill();
        let _already_gone = self.child.wait();
    }
}

impl std::fmt::Debug for StdioClient {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("StdioClient")
            .field("child", &self.child.id())
            .finish_non_exhaustive()
    }
}

pub(crate) fn initialize_params(capabilities: Value) -> Value {
    json!({
        "protocolVersion": "2025-11-25",
        "capabilities": capabilities,
        "clientInfo": {"name": "capdeck-test", "version": "0"},
    })
}
