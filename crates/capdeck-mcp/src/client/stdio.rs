//! Newline-framed JSON over a pair of pipes.

use std::sync::Arc;

use async_trait::async_trait;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::mpsc,
};
use tokio_util::sync::CancellationToken;

use super::{
    ClientError,
    call::{ClientTransport, PendingCall, ResponseResult},
    message_hub::{MessageHub, MessageOrigin},
};
use crate::{
    line::{FramedLine, LineReader, write_lines},
    message_budget::MessageBudget,
};

const QUEUE_CAPACITY: usize = 64;

/// A pair of pipes. One task writes, so that a cancelled request never leaves half a line.
struct StdioTransport {
    hub: Arc<MessageHub>,
    lines: mpsc::Sender<Vec<u8>>,
}

pub(super) fn open(
    reader: impl AsyncRead + Send + Unpin + 'static,
    writer: impl AsyncWrite + Send + Unpin + 'static,
    hub: &Arc<MessageHub>,
    limit: usize,
) -> Arc<dyn ClientTransport> {
    let (lines, queue) = mpsc::channel(QUEUE_CAPACITY);
    let transport: Arc<dyn ClientTransport> =
        Arc::new(StdioTransport { hub: Arc::clone(hub), lines });
    let writing = Arc::clone(hub);
    tokio::spawn(async move {
        tokio::select! {
            written = write_lines(writer, queue, CancellationToken::new()) => {
                // The reading side has the better reason; a broken pipe only follows from it.
                if let Err(error) = written {
                    tracing::debug!(%error, "the server no longer reads");
                }
            }
            () = writing.stopped() => {}
        }
    });
    let (hub, replies) = (Arc::clone(hub), Arc::clone(&transport));
    tokio::spawn(async move {
        let mut lines = LineReader::with_budget(reader, limit, MessageBudget::of_process());
        loop {
            let line = tokio::select! {
                line = lines.next() => line,
                () = hub.stopped() => return,
            };
            match line {
                Ok(Some(FramedLine::Text(line))) => {
                    hub.receive(&line, lines.take_room(), MessageOrigin::Connection, &replies);
                }
                Ok(Some(FramedLine::TooLong)) => hub.fail_calls(&ClientError::TooLarge { limit }),
                Ok(None) => return hub.end("the server closed its output"),
                Err(error) => return hub.end(format!("reading from the server failed: {error}")),
            }
        }
    });
    transport
}

impl StdioTransport {
    fn input_closed(&self) -> ClientError {
        let reason = self.hub.ended();
        let reason = reason.unwrap_or_else(|| "the server closed its input".to_owned());
        ClientError::Closed { reason }
    }
}

#[async_trait]
impl ClientTransport for StdioTransport {
    async fn exchange(&self, call: &Arc<PendingCall>, mut body: Vec<u8>) -> ResponseResult {
        let outcome = call.outcome();
        body.push(b'\n');
        self.lines.send(body).await.map_err(|_| self.input_closed())?;
        outcome.await.unwrap_or_else(|_| Err(self.hub.closed_error()))
    }

    async fn send(&self, _method: Option<&str>, mut body: Vec<u8>) -> Result<(), ClientError> {
        body.push(b'\n');
        self.lines.send(body).await.map_err(|_| self.input_closed())
    }

    fn send_detached(&self, mut body: Vec<u8>) {
        body.push(b'\n');
        if self.lines.try_send(body).is_err() {
            tracing::debug!("a message to a server that does not read was dropped");
        }
    }

    /// A process that lost its session is another process.
    fn lose_session(&self) -> Option<ClientError> {
        self.hub.end("the server forgot the session");
        Some(self.hub.closed_error())
    }
}
