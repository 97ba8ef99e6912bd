//! A stream that stays open: read line by line, never to its end.

use std::{
    io::{BufRead, BufReader, Write},
    net::TcpStream,
    time::Instant,
};

use serde_json::Value;

use crate::served::TEST_TIMEOUT;

pub(crate) struct EventStream {
    lines: BufReader<TcpStream>,
}

impl EventStream {
    /// Opens the GET stream of a session.
    pub(crate) fn listen(authority: &str, path: &str, session: &str) -> Self {
        let head = format!(
            "GET {path} HTTP/1.1\r\nHost: {authority}\r\nAccept: text/event-stream\r\n\
             Mcp-Session-Id: {session}\r\nMCP-Protocol-Version: 2025-11-25\r\n\r\n"
        );
        Self::open(authority, &head, "")
    }

    /// Opens the GET stream of a session with headers of its own.
    pub(crate) fn get_with(authority: &str, path: &str, headers: &[(&str, String)]) -> Self {
        let mut head =
            format!("GET {path} HTTP/1.1\r\nHost: {authority}\r\nAccept: text/event-stream\r\n");
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("\r\n");
        Self::open(authority, &head, "")
    }

    /// Whether a GET with headers of its own opens a stream. It is closed again.
    pub(crate) fn try_get(authority: &str, head: &str, headers: &[(&str, String)]) -> bool {
        let mut head = format!("{head}\r\nHost: {authority}\r\nAccept: text/event-stream\r\n");
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        let mut stream = TcpStream::connect(authority).unwrap();
        stream.set_read_timeout(Some(TEST_TIMEOUT)).unwrap();
        stream.write_all(format!("{head}\r\n").as_bytes()).unwrap();
        let mut status = String::new();
        BufReader::new(stream).read_line(&mut status).unwrap();
        status.starts_with("HTTP/1.1 200")
    }

    /// Posts a message whose answer is a stream.
    pub(crate) fn post(authority: &str, path: &str, session: &str, message: &Value) -> Self {
        let body = message.to_string();
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: {authority}\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nContent-Length: {}\r\n\
             Mcp-Session-Id: {session}\r\nMCP-Protocol-Version: 2025-11-25\r\n\r\n",
            body.len()
        );
        Self::open(authority, &head, &body)
    }

    /// Posts a message with headers of its own.
    pub(crate) fn post_with(
        authority: &str,
        path: &str,
        headers: &[(&str, String)],
        message: &Value,
    ) -> Self {
        let body = message.to_string();
        let mut head = format!(
            "POST {path} HTTP/1.1\r\nHost: {authority}\r\n\
             Accept: application/json, text/event-stream\r\nContent-Length: {}\r\n",
            body.len()
        );
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("\r\n");
        Self::open(authority, &head, &body)
    }

    /// The next message of the stream.
    pub(crate) fn next(&mut self) -> Value {
        loop {
            let line = self.line();
            if let Some(data) =
                line.strip_prefix("data:").map(str::trim).filter(|data| !data.is_empty())
            {
                return serde_json::from_str(data).unwrap_or_else(|_| panic!("no JSON: {data}"));
            }
        }
    }

    /// Reads on until the server ends the stream, which it does with an empty chunk.
    pub(crate) fn ended(&mut self) {
        // A stream that goes on sends signs of life, so that reading never takes too long.
        let deadline = Instant::now() + TEST_TIMEOUT;
        while self.line() != "0" {
            assert!(Instant::now() < deadline, "the stream goes on");
        }
    }

    /// Whether an answer has come by now.
    pub(crate) fn has_answer(&mut self) -> bool {
        self.lines.get_ref().set_nonblocking(true).unwrap();
        let mut text = String::new();
        // Ends with an error once nothing more is there.
        while self.lines.read_line(&mut text).is_ok_and(|length| length > 0) {}
        self.lines.get_ref().set_nonblocking(false).unwrap();
        text.contains(r#""result""#) || text.contains(r#""error""#)
    }

    fn open(authority: &str, head: &str, body: &str) -> Self {
        let mut stream = TcpStream::connect(authority).unwrap();
        stream.set_read_timeout(Some(TEST_TIMEOUT)).unwrap();
        stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
        let mut opened = Self { lines: BufReader::new(stream) };
        let status = opened.line();
        assert!(status.starts_with("HTTP/1.1 200"), "{status}");
        // The end of the head means that the stream is attached.
        while !opened.line().is_empty() {}
        opened
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        let count = self.lines.read_line(&mut line).expect("the stream goes on");
        assert!(count > 0, "the stream ended");
        line.trim_end().to_owned()
    }
}
