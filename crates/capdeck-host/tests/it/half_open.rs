//! Peers that accept and then fall silent, at every point where that is possible.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    thread,
    time::Duration,
};

use serde_json::{Value, json};

use crate::deck::{Deck, call};

/// Guards against a call that hangs. That a call ends by its own timeout is what its error says.
const GUARD_TIMEOUT: Duration = Duration::from_secs(120);

/// Where a server stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stop {
    /// It takes the request and says nothing.
    BeforeHead,
    /// It sends a head that promises a body.
    AfterHead,
    /// It sends half of the body.
    InBody,
    /// It opens an event stream and sends half an event.
    InEvent,
    /// It sends half of the body and hangs up.
    HangUp,
}

/// A server that stops at one point of one method and is well otherwise. Gives its address.
fn serve(stop: Stop, at: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            thread::spawn(move || answer_all(&stream, stop, at));
        }
    });
    format!("http://{address}/mcp")
}

fn answer_all(stream: &TcpStream, stop: Stop, at: &str) -> Option<()> {
    let mut reader = BufReader::new(stream);
    loop {
        let (is_post, message) = read_request(&mut reader)?;
        let id = &message["id"];
        let mut writer = stream;
        if !is_post {
            writer.write_all(b"HTTP/1.1 405 No\r\nContent-Length: 0\r\n\r\n").ok()?;
            continue;
        }
        if message["method"] == at {
            return fall_silent(stream, stop, id);
        }
        let result = match message["method"].as_str().unwrap_or_default() {
            "initialize" => json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                "serverInfo": {"name": "half", "version": "0"}}),
            "tools/list" => json!({"tools": [{"name": "one", "inputSchema": {"type": "object"}}]}),
            _ if id.is_null() => {
                writer.write_all(b"HTTP/1.1 202 Taken\r\nContent-Length: 0\r\n\r\n").ok()?;
                continue;
            }
            _ => {
                let error = json!({"code": -32601, "message": "unknown method"});
                let body = json!({"jsonrpc": "2.0", "id": id, "error": error}).to_string();
                writer.write_all(reply("application/json", &body, body.len()).as_bytes()).ok()?;
                continue;
            }
        };
        let body = json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string();
        writer.write_all(reply("application/json", &body, body.len()).as_bytes()).ok()?;
    }
}

fn fall_silent(mut stream: &TcpStream, stop: Stop, id: &Value) -> Option<()> {
    let whole = json!({"jsonrpc": "2.0", "id": id, "result": {"content": []}}).to_string();
    let half = whole.get(..whole.len() / 2)?;
    let said = match stop {
        Stop::BeforeHead => String::new(),
        Stop::AfterHead => reply("application/json", "", whole.len()),
        Stop::InBody | Stop::HangUp => reply("application/json", half, whole.len()),
        Stop::InEvent => reply("text/event-stream", &format!("data: {half}"), 10_000),
    };
    stream.write_all(said.as_bytes()).ok()?;
    if stop != Stop::HangUp {
        // Until the other side has had enough.
        let _gone = stream.read(&mut [0; 64]);
    }
    None
}

fn reply(kind: &str, body: &str, length: usize) -> String {
    format!("HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n{body}")
}

fn read_request(reader: &mut BufReader<&TcpStream>) -> Option<(bool, Value)> {
    let mut head = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|length| *length > 0)?;
        if line.trim().is_empty() {
            break;
        }
        head.push(line.to_ascii_lowercase());
    }
    let length = head.iter().find_map(|line| line.strip_prefix("content-length:"));
    let length = length.map_or(0, |length| length.trim().parse().unwrap());
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let is_post = head.first()?.starts_with("post");
    Some((is_post, serde_json::from_slice(&body).unwrap_or_default()))
}

/// Calls a tool of such a server; gives the code of the error, which comes in time.
async fn failure(stop: Stop, at: &'static str) -> &'static str {
    // Who hangs up is answered at once, however busy the machine is.
    let timeout = if stop == Stop::HangUp { 5000 } else { 400 };
    let entry = json!({"name": "Half", "description": "A server that stops half-way",
        "url": serve(stop, at), "transport": "http", "protocolEra": "legacy",
        "startupTimeoutMs": timeout, "callTimeoutMs": timeout});
    let (host, session) = Deck::new().entry("mcpServers", "half", entry).operator();
    let calling = tokio::time::timeout(GUARD_TIMEOUT, call(&session, "half", "one", json!({})));
    let error = calling.await.unwrap_or_else(|_| panic!("{stop:?} at {at} hangs")).unwrap_err();
    assert!(error.message.contains("`half`"), "{error}");
    host.close().await;
    error.code.as_str()
}

#[tokio::test]
async fn a_handshake_that_stops_half_way_ends_with_the_start_timeout() {
    for stop in [Stop::BeforeHead, Stop::AfterHead, Stop::InBody, Stop::InEvent] {
        assert_eq!(failure(stop, "initialize").await, "SERVER_START_TIMEOUT", "{stop:?}");
    }
    assert_eq!(failure(Stop::HangUp, "initialize").await, "SERVER_UNAVAILABLE");
}

#[tokio::test]
async fn a_listing_that_stops_half_way_ends_with_the_call_timeout() {
    for stop in [Stop::BeforeHead, Stop::InBody, Stop::InEvent] {
        assert_eq!(failure(stop, "tools/list").await, "TOOL_CALL_TIMEOUT", "{stop:?}");
    }
}

#[tokio::test]
async fn a_call_that_stops_half_way_ends_with_the_call_timeout() {
    for stop in [Stop::BeforeHead, Stop::AfterHead, Stop::InBody, Stop::InEvent] {
        assert_eq!(failure(stop, "tools/call").await, "TOOL_CALL_TIMEOUT", "{stop:?}");
    }
    assert_eq!(failure(Stop::HangUp, "tools/call").await, "SERVER_UNAVAILABLE");
}
