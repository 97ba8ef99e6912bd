//! A raw MCP client over HTTP/1.1 on the standard library: statuses, headers and bodies as they came.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    time::Duration,
};

use serde_json::{Value, json};

use crate::stdio_client::initialize_params;

/// A Streamable HTTP client. Keeps one connection open and remembers the session id.
#[derive(Debug)]
pub struct HttpClient {
    authority: String,
    path: String,
    connection: Option<BufReader<TcpStream>>,
    /// Sent with every request once `initialize` has been answered.
    pub session: Option<String>,
    /// Sent with every request, such as `Authorization`.
    pub headers: Vec<(String, String)>,
    next_id: u64,
}

/// One answer.
#[derive(Debug)]
pub struct HttpReply {
    pub status: u16,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: String,
    /// The body byte for byte.
    pub bytes: Vec<u8>,
}

impl HttpClient {
    /// A client of `http://host:port/path`.
    pub fn new(url: &str) -> Self {
        let rest = url.strip_prefix("http://").expect("tests speak plain http");
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        Self {
            authority: authority.to_owned(),
            path: format!("/{path}"),
            connection: None,
            session: None,
            headers: Vec::new(),
            next_id: 0,
        }
    }

    /// The handshake of 2025-11-25; gives the `initialize` result.
    pub fn initialize(&mut self) -> Value {
        let body = json!({
            "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": initialize_params(json!({})),
        });
        let reply = self.post(&body.to_string());
        assert_eq!(reply.status, 200, "`initialize` was refused: {reply:?}");
        self.session = reply.header("mcp-session-id").map(str::to_owned);
        let result = reply.messages().pop().expect("`initialize` has an answer")["result"].clone();
        let ready = self.post(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        assert_eq!(ready.status, 202, "`notifications/initialized` was refused: {ready:?}");
        result
    }

    /// Sends a request; gives the message that answers it.
    pub fn request(&mut self, method: &str, params: Value) -> Value {
        self.next_id += 1;
        let id = self.next_id;
        let body = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        let reply = self.post(&body.to_string());
        let answer = reply.messages().into_iter().find(|message| message["id"] == json!(id));
        answer.unwrap_or_else(|| panic!("no answer to `{method}`: {reply:?}"))
    }

    /// Posts any text as JSON.
    pub fn post(&mut self, body: &str) -> HttpReply {
        let path = self.path.clone();
        self.send("POST", &path, &[("Content-Type", "application/json")], body.as_bytes())
    }

    /// Ends the session, where the server has an end for sessions.
    pub fn end_session(&mut self) {
        let path = self.path.clone();
        self.send("DELETE", &path, &[], b"");
        self.session = None;
    }

    /// Sends any method to any path of the same host.
    pub fn send(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> HttpReply {
        let mut head = format!("{method} {path} HTTP/1.1\r\n");
        let mut add = |name: &str, value: &str| {
            head.push_str(&format!("{name}: {value}\r\n"));
        };
        if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
            add("Host", &self.authority);
        }
        if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("accept")) {
            add("Accept", "application/json, text/event-stream");
        }
        add("Content-Length", &body.len().to_string());
        if let Some(session) = &self.session {
            add("Mcp-Session-Id", session);
            add("MCP-Protocol-Version", "2025-11-25");
        }
        for (name, value) in &self.headers {
            add(name, value);
        }
        for (name, value) in headers {
            add(name, value);
        }
        head.push_str("\r\n");
        let mut bytes = head.into_bytes();
        bytes.extend_from_slice(body);
        self.exchange(&bytes)
    }

    fn exchange(&mut self, request: &[u8]) -> HttpReply {
        // A kept connection may have been closed meanwhile; one fresh attempt tells the two apart.
        if let Some(mut kept) = self.connection.take()
            && kept.get_mut().write_all(request).is_ok()
            && let Some(reply) = read_reply(&mut kept)
        {
            self.connection = Some(kept);
            return reply;
        }
        let stream = TcpStream::connect(&self.authority).expect("the host accepts connections");
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let mut fresh = BufReader::new(stream);
        fresh.get_mut().write_all(request).expect("the host reads the request");
        let reply = read_reply(&mut fresh).expect("the host answers");
        self.connection = Some(fresh);
        reply
    }
}

impl HttpReply {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// The JSON-RPC messages in the body, whether it is JSON or an event stream.
    pub fn messages(&self) -> Vec<Value> {
        self.message_texts().iter().filter_map(|text| serde_json::from_str(text).ok()).collect()
    }

    /// The same as text, byte for byte.
    pub fn message_texts(&self) -> Vec<String> {
        if self.header("content-type").is_some_and(|kind| kind.starts_with("text/event-stream")) {
            let lines = self.body.lines().filter_map(|line| line.strip_prefix("data:"));
            return lines.map(|data| data.trim_start().to_owned()).collect();
        }
        vec![self.body.clone()]
    }
}

pub(crate) fn read_reply(stream: &mut BufReader<TcpStream>) -> Option<HttpReply> {
    let status_line = read_line(stream)?;
    let status = status_line.split(' ').nth(1)?.parse().ok()?;
    let mut headers = Vec::new();
    loop {
        let line = read_line(stream)?;
        if line.is_empty() {
            break;
        }
        let (name, value) = line.split_once(':')?;
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let mut reply = HttpReply { status, headers, body: String::new(), bytes: Vec::new() };
    let mut body = Vec::new();
    if reply.header("transfer-encoding").is_some_and(|coding| coding.contains("chunked")) {
        loop {
            let size_line = read_line(stream)?;
            let size = usize::from_str_radix(size_line.split(';').next()?.trim(), 16).ok()?;
            let mut chunk = vec![0; size];
            stream.read_exact(&mut chunk).ok()?;
            read_line(stream)?;
            if size == 0 {
                break;
            }
            body.extend_from_slice(&chunk);
        }
    } else if let Some(length) = reply.header("content-length") {
        body = vec![0; length.parse().ok()?];
        stream.read_exact(&mut body).ok()?;
    }
    reply.body = String::from_utf8_lossy(&body).into_owned();
    reply.bytes = body;
    Some(reply)
}

fn read_line(stream: &mut BufReader<TcpStream>) -> Option<String> {
    let mut line = String::new();
    if stream.read_line(&mut line).ok()? == 0 {
        return None;
    }
    Some(line.trim_end_matches(['\r', '\n']).to_owned())
}
