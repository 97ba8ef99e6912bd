//! A server at the other end of a client's pipes, driven by hand.

use std::sync::Arc;

use capdeck_mcp::client::McpClient;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf};

use super::Recorder;

/// The server's end of the pipes, driven by hand.
pub(crate) struct PipedServer {
    pub(crate) lines: tokio::io::Lines<BufReader<ReadHalf<DuplexStream>>>,
    pub(crate) writer: WriteHalf<DuplexStream>,
}

impl PipedServer {
    pub(crate) async fn read(&mut self) -> serde_json::Value {
        let line = super::soon(self.lines.next_line()).await.unwrap().expect("the client hung up");
        serde_json::from_str(&line).unwrap()
    }

    pub(crate) async fn write(&mut self, text: &str) {
        self.write_bytes(text.as_bytes()).await;
    }

    pub(crate) async fn write_bytes(&mut self, bytes: &[u8]) {
        self.writer.write_all(bytes).await.unwrap();
    }
}

/// A client and the server at the other end of its pipes, not yet introduced.
pub(crate) fn pair() -> (McpClient, PipedServer, Arc<Recorder>) {
    let (ours, theirs) = tokio::io::duplex(64 * 1024);
    let (reader, writer) = tokio::io::split(theirs);
    let server = PipedServer { lines: BufReader::new(reader).lines(), writer };
    let (reader, writer) = tokio::io::split(ours);
    let owner = Recorder::new();
    (McpClient::stdio_with_limit(reader, writer, owner.clone(), 1_000_000), server, owner)
}
