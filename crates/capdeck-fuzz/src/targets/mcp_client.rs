//! What an MCP server writes to us over a pipe: answers, requests, notifications, and anything else.

use std::{io::Cursor, sync::Arc, time::Duration};

use async_trait::async_trait;
use capdeck_mcp::{
    RawObject, RpcError,
    client::{ClientDescription, ClientError, ClientHandler, EraChoice, McpClient, RequestOptions},
};
use serde_json::value::RawValue;
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream},
    runtime::Runtime,
};

use super::{
    echo_service::{object, raw},
    json_rpc,
};
use crate::{FuzzTarget, seeds};

/// Longer than any execution; what waits ends when the server's output ends.
const TIMEOUT: Duration = Duration::from_secs(600);

struct McpClientTarget {
    runtime: Runtime,
}

struct QuietHandler;

pub(crate) fn mcp_client() -> Box<dyn FuzzTarget> {
    Box::new(McpClientTarget { runtime: json_rpc::runtime() })
}

#[async_trait]
impl ClientHandler for QuietHandler {
    fn notification(&self, _method: &str, _params: Option<RawObject>) {}

    async fn request(
        &self,
        _method: &str,
        _params: Option<RawObject>,
    ) -> Result<Box<RawValue>, RpcError> {
        Ok(raw("{}"))
    }
}

impl FuzzTarget for McpClientTarget {
    fn seeds(&self) -> Vec<Vec<u8>> {
        seeds::files("crates/capdeck-fuzz/seeds/mcp-client", &[".jsonl"])
    }

    fn dictionary(&self) -> &'static [&'static str] {
        json_rpc::WORDS
    }

    fn max_bytes(&self) -> usize {
        16 * 1024
    }

    fn execute(&mut self, input: &[u8]) -> String {
        self.runtime.block_on(talk(input))
    }
}

/// Connects and asks a few things, while the server says one line of the input for each line it gets.
async fn talk(input: &[u8]) -> String {
    let (ours, theirs) = tokio::io::duplex(1 << 20);
    let (reader, writer) = tokio::io::split(ours);
    let client = McpClient::stdio_with_limit(reader, writer, Arc::new(QuietHandler), 8_000);
    let server = tokio::spawn(speak(theirs, input.to_vec()));
    let hello = ClientDescription {
        info: object(r#"{"name":"fuzz","version":"1"}"#),
        capabilities: object(r#"{"elicitation":{}}"#),
    };
    let mut outcomes = Vec::new();
    let connected = client.connect(hello, EraChoice::Auto, TIMEOUT).await;
    outcomes.push(match &connected {
        Ok(found) => found.revision.as_str().to_owned(),
        Err(error) => kind(error),
    });
    if connected.is_ok() {
        for method in ["tools/list", "tools/call", "resources/read"] {
            let params = Some(object(r#"{"name":"a","uri":"a:b"}"#));
            let outcome = client.request(method, params, RequestOptions::within(TIMEOUT)).await;
            outcomes.push(match &outcome {
                Ok(_) => "ok".to_owned(),
                Err(error) => kind(error),
            });
        }
    }
    client.close().await;
    server.await.unwrap();
    outcomes.join(" ")
}

/// One line of the input for each line of the client, then the end.
async fn speak(pipe: DuplexStream, input: Vec<u8>) {
    let (reader, mut writer) = tokio::io::split(pipe);
    let mut lines = BufReader::new(reader).lines();
    let mut said = BufReader::new(Cursor::new(input));
    loop {
        // A client that was asked something back says more than it is answered, and one that waits says nothing.
        let silence = tokio::time::sleep(Duration::from_millis(2));
        tokio::select! {
            line = lines.next_line() => match line {
                Ok(Some(_)) => {}
                Ok(None) | Err(_) => return,
            },
            () = silence => {}
        }
        let mut line = Vec::new();
        said.read_until(b'\n', &mut line).await.unwrap();
        if line.is_empty() || writer.write_all(&line).await.is_err() {
            writer.shutdown().await.ok();
            return;
        }
    }
}

fn kind(error: &ClientError) -> String {
    assert!(!error.to_string().is_empty());
    match error {
        ClientError::Rpc(_) => "rpc".to_owned(),
        ClientError::Closed { .. } => "closed".to_owned(),
        ClientError::Protocol { message } => message.chars().take(30).collect(),
        ClientError::Timeout { .. } => panic!("a request reached its timeout"),
        other => format!("{other:?}").chars().take(12).collect(),
    }
}
