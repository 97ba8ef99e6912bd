//! JSON-RPC lines: what a client writes to a server over a pipe.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::Cursor,
    sync::Arc,
    time::Duration,
};

use capdeck_mcp::{
    FramedLine, LineReader, MalformedMessage, RequestId, RpcFrame, RpcMessage,
    server::{StdioOptions, serve_stdio},
};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::{io::AsyncReadExt, runtime::Runtime};

use super::{echo_service::EchoService, split_reader::SplitReader};
use crate::{FuzzTarget, seeds};

/// Small enough to be met by many inputs.
const MAX_LINE: usize = 2_000;

#[derive(Deserialize)]
struct RpcErrorCode {
    code: i64,
}

struct JsonRpc {
    runtime: Runtime,
}

pub(crate) fn json_rpc() -> Box<dyn FuzzTarget> {
    Box::new(JsonRpc { runtime: runtime() })
}

pub(crate) fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

impl FuzzTarget for JsonRpc {
    fn seeds(&self) -> Vec<Vec<u8>> {
        seeds::files("crates/capdeck-fuzz/seeds/json-rpc", &[".jsonl"])
    }

    fn dictionary(&self) -> &'static [&'static str] {
        WORDS
    }

    fn max_bytes(&self) -> usize {
        16 * 1024
    }

    fn execute(&mut self, input: &[u8]) -> String {
        self.runtime.block_on(async {
            let whole = lines(input, 0).await;
            for largest in [1, 3, 700] {
                let split = lines(input, largest).await;
                assert_eq!(split, whole, "pieces of up to {largest} bytes give other lines");
            }
            let kinds: BTreeSet<&str> = whole.iter().map(check_line).collect();
            let answers = serve(input).await;
            format!("{kinds:?} {answers:?}")
        })
    }
}

async fn lines(input: &[u8], largest: usize) -> Vec<FramedLine> {
    let mut reader = LineReader::new(SplitReader::new(input, largest), MAX_LINE);
    let mut lines = Vec::new();
    while let Some(line) = reader.next().await.unwrap() {
        lines.push(line);
    }
    lines
}

/// Which kind of message a line is. What it holds is what was sent.
fn check_line(line: &FramedLine) -> &'static str {
    let FramedLine::Text(text) = line else { return "too long" };
    assert!(!text.is_empty() && text.len() <= MAX_LINE && !text.contains(&b'\n'));
    match RpcFrame::parse(text) {
        Ok(RpcFrame::Single(message)) => check_message(&message, text),
        Ok(RpcFrame::Batch(parts)) => {
            assert!(!parts.is_empty());
            for part in &parts {
                match part {
                    Ok(message) => drop(check_message(message, text)),
                    Err(malformed) => check_malformed(malformed),
                }
            }
            "batch"
        }
        Err(malformed) => {
            check_malformed(&malformed);
            "malformed"
        }
    }
}

fn check_message(message: &RpcMessage, text: &[u8]) -> &'static str {
    let is_part = |raw: &str| text.windows(raw.len()).any(|window| window == raw.as_bytes());
    let (kind, payload) = match message {
        RpcMessage::Request { id, params, .. } => {
            let id_text = serde_json::to_string(id).unwrap();
            let again: RequestId = serde_json::from_str(&id_text).unwrap();
            assert_eq!(again, *id, "an id is not the same after it was written");
            ("request", params.as_ref())
        }
        RpcMessage::Notification { params, .. } => ("notification", params.as_ref()),
        RpcMessage::Response { outcome: Ok(result), .. } => ("result", Some(result)),
        RpcMessage::Response { outcome: Err(error), .. } => ("error", error.data.as_ref()),
    };
    if let Some(payload) = payload {
        assert!(is_part(payload.get()), "a payload is not the text that was sent");
    }
    kind
}

fn check_malformed(malformed: &MalformedMessage) {
    // The error of a stray answer is the peer's own and not checked.
    let is_ours = !malformed.is_answer || malformed.id.is_some();
    let says_why = malformed.error.code < 0 && !malformed.error.message.is_empty();
    assert!(says_why || !is_ours, "{malformed:?}");
}

/// What a server answers: one JSON object per line, each a response or a notification.
async fn serve(input: &[u8]) -> BTreeSet<String> {
    let (writer, mut theirs) = tokio::io::duplex(1 << 20);
    let options = StdioOptions {
        max_line: MAX_LINE,
        finish_grace: Duration::from_millis(50),
        ..StdioOptions::default()
    };
    let mut written = Vec::new();
    let service = Arc::new(EchoService::default());
    let reader = Cursor::new(input.to_vec());
    let (served, read) = tokio::join!(
        serve_stdio(reader, writer, service, options),
        theirs.read_to_end(&mut written)
    );
    served.unwrap();
    read.unwrap();
    assert!(written.is_empty() || written.ends_with(b"\n"), "the last answer is cut off");
    let mut kinds = BTreeSet::new();
    for line in written.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let shown = String::from_utf8_lossy(line);
        // Only as deep as our own members: what the client sent comes back byte for byte, and half a surrogate pair is JSON
        // that no Rust string can hold.
        let answer: BTreeMap<&str, &RawValue> = serde_json::from_slice(line)
            .unwrap_or_else(|error| panic!("an answer is not JSON: {error}: {shown}"));
        assert_eq!(answer["jsonrpc"].get(), "\"2.0\"", "{shown}");
        let has = |key: &str| answer.contains_key(key);
        assert!(has("method") || has("id") && has("result") != has("error"), "{shown}");
        let code = answer.get("error").map(|error| {
            let error: RpcErrorCode = serde_json::from_str(error.get()).unwrap();
            error.code
        });
        assert_ne!(code, Some(-32603), "an internal error: {shown}");
        kinds.insert(code.map_or_else(|| "result".to_owned(), |code| code.to_string()));
    }
    kinds
}

pub(crate) const WORDS: &[&str] = &[
    "jsonrpc",
    "2.0",
    "id",
    "method",
    "params",
    "result",
    "error",
    "code",
    "message",
    "data",
    "null",
    "initialize",
    "notifications/initialized",
    "notifications/cancelled",
    "notifications/progress",
    "ping",
    "tools/list",
    "tools/call",
    "prompts/get",
    "resources/read",
    "resources/subscribe",
    "completion/complete",
    "logging/setLevel",
    "server/discover",
    "subscriptions/listen",
    "tasks/get",
    "sampling/createMessage",
    "elicitation/create",
    "roots/list",
    "protocolVersion",
    "2025-11-25",
    "2025-06-18",
    "2025-03-26",
    "2024-11-05",
    "2026-07-28",
    "capabilities",
    "clientInfo",
    "serverInfo",
    "name",
    "arguments",
    "_meta",
    "progressToken",
    "requestId",
    "reason",
    "cursor",
    "nextCursor",
    "tools",
    "inputSchema",
    "content",
    "isError",
    "structuredContent",
    "inputResponses",
    "requestState",
    "resultType",
    "input_required",
    "inputRequests",
    "io.modelcontextprotocol/protocolVersion",
    "io.modelcontextprotocol/clientCapabilities",
    "io.modelcontextprotocol/clientInfo",
    "io.modelcontextprotocol/logLevel",
    "supportedVersions",
    "supported",
    "ask",
    "\n",
    "\n\n",
    "[{},{}]",
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n",
    "\"id\":1,\"id\":2,",
    "-32022",
    "-32601",
    "ttlMs",
    "cacheScope",
];
