//! A connection to the host that is written to and read from as roughly as a test likes.

use std::{
    io::{BufReader, Write},
    net::TcpStream,
    time::Duration,
};

use serde_json::{Value, json};

use crate::{HttpReply, http_client::read_reply};

/// How long the driver itself waits for anything: far more than the host may take.
const MAX_WAIT: Duration = Duration::from_secs(40);

/// One connection and what goes with every message on it.
pub(super) struct RawConnection {
    stream: BufReader<TcpStream>,
    authority: String,
    pub(super) path: String,
    pub(super) session: Option<String>,
    pub(super) version: Option<&'static str>,
    /// The message that was sent last, for the record.
    pub(super) sent: String,
}

impl RawConnection {
    /// Connects. `None` when the host does not take the connection.
    pub(super) fn open(authority: &str, path: &str) -> Option<Self> {
        let stream = TcpStream::connect(authority).ok()?;
        stream.set_nodelay(true).ok()?;
        stream.set_read_timeout(Some(MAX_WAIT)).ok()?;
        stream.set_write_timeout(Some(MAX_WAIT)).ok()?;
        Some(Self {
            stream: BufReader::new(stream),
            authority: authority.to_owned(),
            path: path.to_owned(),
            session: None,
            version: None,
            sent: String::new(),
        })
    }

    /// The head of a request, with further headers.
    pub(super) fn head(&self, method: &str, length: usize, more: &[(&str, &str)]) -> String {
        let mut head = format!(
            "{method} {} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nContent-Length: {length}\r\n",
            self.path, self.authority
        );
        let session = self.session.iter().map(|id| ("Mcp-Session-Id", id.as_str()));
        let version = self.version.iter().map(|version| ("MCP-Protocol-Version", *version));
        for (name, value) in session.chain(version).chain(more.iter().copied()) {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("\r\n");
        head
    }

    /// Writes bytes as they are. False when the host no longer takes any.
    pub(super) fn write(&mut self, bytes: &[u8]) -> bool {
        self.stream.get_mut().write_all(bytes).is_ok()
    }

    /// Sends a message without waiting for its answer.
    pub(super) fn send(&mut self, message: &Value, more: &[(&str, &str)]) -> bool {
        let body = message.to_string();
        let text = self.head("POST", body.len(), more) + &body;
        self.sent = body;
        self.write(text.as_bytes())
    }

    /// Reads the next answer whole. `None` when the connection ends first.
    pub(super) fn reply(&mut self) -> Option<HttpReply> {
        read_reply(&mut self.stream)
    }
}

/// A JSON-RPC request.
pub(super) fn request(id: u64, method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

/// A call of a child's tool through the deck.
pub(super) fn call_tool(child: &str, tool: &str, data: &Value) -> Value {
    json!({"name": "call_tool", "arguments": {"name": format!("{child}__{tool}"), "data": data}})
}
