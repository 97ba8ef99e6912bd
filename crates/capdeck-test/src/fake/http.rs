//! The fake server on HTTP/1.1: Streamable HTTP at `/mcp`, the older HTTP+SSE pair at `/sse`.
//!
//! One thread per connection, on the standard library alone, so that it builds fast and behaves the
//! same under load.

use std::{
    collections::HashMap,
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use serde_json::{Value, json};

use super::{
    modern,
    plan::FakeEra,
    server::{FakeOutlet, FakeServer, MessageEnd},
};

const JSON: (&str, &str) = ("Content-Type", "application/json");

/// Accepts connections for ever. `announce` gets the address once it is known.
pub fn serve_http(server: &Arc<FakeServer>, announce: impl FnOnce(&str)) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    announce(&listener.local_addr().unwrap().to_string());
    let sessions = Arc::new(FakeSessions::default());
    for stream in listener.incoming().map_while(Result::ok) {
        let (server, sessions) = (Arc::clone(server), Arc::clone(&sessions));
        thread::spawn(move || FakeConnection { server, sessions, stream }.run());
    }
}

/// Open sessions of both transports.
#[derive(Default)]
struct FakeSessions {
    next: AtomicUsize,
    /// Streamable HTTP: how many requests a session has made.
    used: Mutex<HashMap<String, usize>>,
    /// HTTP+SSE: the stream that carries a session's answers.
    streams: Mutex<HashMap<String, Arc<dyn FakeOutlet>>>,
}

struct FakeConnection {
    server: Arc<FakeServer>,
    sessions: Arc<FakeSessions>,
    stream: TcpStream,
}

struct FakeRequest {
    method: String,
    path: String,
    headers: HashMap<String, String>,
    body: Vec<u8>,
}

impl FakeConnection {
    fn run(self) {
        self.stream.set_nodelay(true).unwrap();
        let mut reader = BufReader::new(self.stream.try_clone().unwrap());
        while let Some(request) = read_request(&mut reader) {
            if !self.treat(&request) {
                return;
            }
        }
    }

    /// Answers one request. False ends the connection.
    fn treat(&self, request: &FakeRequest) -> bool {
        let plan = &self.server.plan;
        if let Some(target) = &plan.http_redirect {
            return self.reply(307, &[("Location", target)], "");
        }
        if let Some((name, value)) = &plan.http_required_header
            && request.headers.get(&name.to_ascii_lowercase()) != Some(value)
        {
            return self.reply(401, &[("WWW-Authenticate", "Bearer")], "");
        }
        let (path, query) = request.path.split_once('?').unwrap_or((&request.path, ""));
        match (request.method.as_str(), path) {
            ("POST", "/mcp") => self.streamable(request),
            (_, "/mcp") if plan.era == FakeEra::Modern => self.reply(405, &[], ""),
            ("GET", "/mcp") => self.stand(None),
            ("DELETE", "/mcp") => self.reply(204, &[], ""),
            ("GET", "/sse") => {
                let session = self.sessions.next.fetch_add(1, Ordering::Relaxed).to_string();
                self.stand(Some(session))
            }
            ("POST", "/message") => self.message(request, query),
            _ => self.reply(404, &[], ""),
        }
    }

    fn streamable(&self, request: &FakeRequest) -> bool {
        let Ok(message) = serde_json::from_slice::<Value>(&request.body) else {
            return self.reply(400, &[], "");
        };
        let is_modern = modern::is_modern(&self.server.plan, &message);
        let session = if is_modern {
            let header = |name: &str| request.headers.get(name).cloned();
            if let Some(error) = modern::header_mismatch(&message, header) {
                let body = json!({"jsonrpc": "2.0", "id": message["id"], "error": error});
                return self.reply(400, &[JSON], &body.to_string());
            }
            String::new()
        } else if message["method"] == "initialize" {
            let session = format!("session-{}", self.sessions.next.fetch_add(1, Ordering::Relaxed));
            self.sessions.used.lock().unwrap().insert(session.clone(), 0);
            session
        } else {
            let session = request.headers.get("mcp-session-id").cloned().unwrap_or_default();
            let mut used = self.sessions.used.lock().unwrap();
            let count = used.entry(session.clone()).or_default();
            *count += 1;
            if self.server.plan.http_forget_session_after.is_some_and(|most| *count > most) {
                drop(used);
                return self.reply(404, &[], "");
            }
            session
        };
        if message["method"] == "tools/call"
            && let Some(status) = self.server.plan.http_call_status
        {
            return self.reply(status, &[], "");
        }
        if message.get("id").is_none() || message.get("method").is_none() {
            let nowhere: Arc<dyn FakeOutlet> = Arc::new(NullOutlet);
            self.server.handle(message, &nowhere);
            return self.reply(202, &[], "");
        }
        let stream = Mutex::new(self.stream.try_clone().unwrap());
        let session = Some(session).filter(|session| !session.is_empty());
        let headers = request.headers.clone();
        let outlet: Arc<dyn FakeOutlet> =
            Arc::new(PostReply { stream, session, headers, streaming: Mutex::new(false) });
        self.server.handle(message, &outlet);
        true
    }

    /// Holds the connection open as a stream for messages that belong to no request.
    fn stand(&self, legacy_session: Option<String>) -> bool {
        let mut stream = self.stream.try_clone().unwrap();
        let head =
            "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";
        if stream.write_all(head.as_bytes()).is_err() {
            return false;
        }
        if let Some(session) = &legacy_session {
            let endpoint = format!("event: endpoint\ndata: /message?session={session}\n\n");
            let _client_left = stream.write_all(endpoint.as_bytes());
        }
        let outlet: Arc<dyn FakeOutlet> = Arc::new(FakeEventStream { stream: Mutex::new(stream) });
        match legacy_session {
            Some(session) => {
                self.sessions.streams.lock().unwrap().insert(session, Arc::clone(&outlet));
            }
            None => self.server.standing.lock().unwrap().push(Arc::clone(&outlet)),
        }
        // Nothing more comes from the client here; reading tells when it leaves.
        let _left = (&self.stream).read(&mut [0]);
        self.server.standing.lock().unwrap().retain(|stream| !Arc::ptr_eq(stream, &outlet));
        false
    }

    fn message(&self, request: &FakeRequest, query: &str) -> bool {
        let session = query.strip_prefix("session=").unwrap_or_default();
        let outlet = self.sessions.streams.lock().unwrap().get(session).cloned();
        let (Some(outlet), Ok(message)) = (outlet, serde_json::from_slice::<Value>(&request.body))
        else {
            return self.reply(400, &[], "");
        };
        let server = Arc::clone(&self.server);
        thread::spawn(move || server.handle(message, &outlet));
        self.reply(202, &[], "")
    }

    fn reply(&self, status: u16, headers: &[(&str, &str)], body: &str) -> bool {
        write_reply(&mut &self.stream, status, headers, body)
    }
}

/// The answer to one POST: plain JSON when the first thing sent is the answer, else an event stream.
struct PostReply {
    stream: Mutex<TcpStream>,
    /// Legacy only.
    session: Option<String>,
    headers: HashMap<String, String>,
    streaming: Mutex<bool>,
}

impl PostReply {
    fn session_header(&self) -> Option<(&str, &str)> {
        self.session.as_deref().map(|session| ("Mcp-Session-Id", session))
    }
}

impl FakeOutlet for PostReply {
    fn send(&self, text: &str, kind: MessageEnd) {
        let mut stream = self.stream.lock().unwrap();
        let mut streaming = self.streaming.lock().unwrap();
        if !*streaming && kind == MessageEnd::Answer {
            let headers: Vec<_> = self.session_header().into_iter().chain([JSON]).collect();
            write_reply(&mut *stream, 200, &headers, text);
            return;
        }
        if !*streaming {
            *streaming = true;
            let session = self.session_header();
            let session = session.map_or(String::new(), |(name, id)| format!("{name}: {id}\r\n"));
            let head = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n{session}Transfer-Encoding: chunked\r\n\r\n",
            );
            let _client_left = stream.write_all(head.as_bytes());
        }
        let event = format!("event: message\ndata: {text}\n\n");
        let mut chunk = format!("{:x}\r\n{event}\r\n", event.len());
        if kind == MessageEnd::Answer {
            chunk.push_str("0\r\n\r\n");
        }
        let _client_left = stream.write_all(chunk.as_bytes());
    }

    fn refuse(&self, text: &str, status: u16) {
        if status == 200 || *self.streaming.lock().unwrap() {
            return self.send(text, MessageEnd::Answer);
        }
        write_reply(&mut *self.stream.lock().unwrap(), status, &[JSON], text);
    }

    /// The connection is held, silent, for as long as the process lives.
    fn abandon(&self) {
        loop {
            thread::sleep(Duration::from_secs(3600));
        }
    }

    fn hold(&self) -> bool {
        // Nothing more comes from the client here; reading tells when it leaves.
        let mut stream = self.stream.lock().unwrap().try_clone().unwrap();
        let _left = stream.read(&mut [0]);
        true
    }

    fn headers(&self) -> Value {
        json!(self.headers)
    }
}

struct FakeEventStream {
    stream: Mutex<TcpStream>,
}

impl FakeOutlet for FakeEventStream {
    fn send(&self, text: &str, _kind: MessageEnd) {
        let event = format!("event: message\ndata: {text}\n\n");
        let _client_left = self.stream.lock().unwrap().write_all(event.as_bytes());
    }
}

/// For messages that have no answer.
struct NullOutlet;

impl FakeOutlet for NullOutlet {
    fn send(&self, _text: &str, _kind: MessageEnd) {}
}

fn write_reply(stream: &mut impl Write, status: u16, headers: &[(&str, &str)], body: &str) -> bool {
    let mut reply = format!("HTTP/1.1 {status} Fake\r\nContent-Length: {}\r\n", body.len());
    for (name, value) in headers {
        reply.push_str(&format!("{name}: {value}\r\n"));
    }
    reply.push_str("\r\n");
    reply.push_str(body);
    stream.write_all(reply.as_bytes()).is_ok()
}

fn read_request(reader: &mut BufReader<TcpStream>) -> Option<FakeRequest> {
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|length| *length > 0)?;
    let mut words = line.split_whitespace();
    let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut headers = HashMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let length = headers.get("content-length").and_then(|text| text.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(FakeRequest { method, path, headers, body })
}
