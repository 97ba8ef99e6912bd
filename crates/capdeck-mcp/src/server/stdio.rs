//! Serves one client over a pair of pipes.

use std::{io, sync::Arc, time::Duration};

use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::mpsc,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    Service,
    conversation::{Answer, Conversation, Request},
    handshake,
    outlet::Outlet,
};
use crate::{
    Incoming, MAX_MESSAGE_BYTES, Malformed, Message, Revision, RpcError, encode,
    line::{Line, LineReader, write_lines},
};

/// Limits of a stdio server.
#[derive(Debug, Clone, Copy)]
pub struct StdioOptions {
    /// The longest line taken.
    pub max_line: usize,
    /// How long requests may still run once the client has closed its side, before they are cancelled.
    pub finish_grace: Duration,
}

/// How many messages may wait for a client that does not read.
const QUEUE: usize = 256;

/// How long cancelled requests and unwritten answers may hold up the end.
const LAST_WORDS: Duration = Duration::from_secs(2);

impl Default for StdioOptions {
    fn default() -> Self {
        Self { max_line: MAX_MESSAGE_BYTES, finish_grace: Duration::from_secs(5) }
    }
}

/// Serves until the client closes its side. Dropping the future cancels every request.
pub async fn serve_stdio(
    reader: impl AsyncRead + Send + Unpin,
    writer: impl AsyncWrite + Send + Unpin + 'static,
    service: Arc<dyn Service>,
) -> io::Result<()> {
    serve_stdio_with(reader, writer, service, StdioOptions::default()).await
}

/// As [`serve_stdio`], with other limits.
pub async fn serve_stdio_with(
    reader: impl AsyncRead + Send + Unpin,
    writer: impl AsyncWrite + Send + Unpin + 'static,
    service: Arc<dyn Service>,
    options: StdioOptions,
) -> io::Result<()> {
    let finish = CancellationToken::new();
    let (lines, queue) = mpsc::channel(QUEUE);
    let mut writing = tokio::spawn(write_lines(writer, queue, finish.clone()));
    let server = StdioServer {
        service,
        conversation: Conversation::new(),
        outlet: Outlet::Lines(lines),
        requests: TaskTracker::new(),
        revision: None,
    };
    let conversation = Abort(Arc::clone(&server.conversation));
    let requests = server.requests.clone();

    let served = tokio::select! {
        read = server.run(LineReader::new(reader, options.max_line)) => read,
        // Without a way to answer there is nothing left to do.
        written = &mut writing => written.unwrap_or(Ok(())),
    };
    requests.close();
    if !writing.is_finished() {
        tokio::select! {
            _ = tokio::time::timeout(options.finish_grace, requests.wait()) => {}
            _ = &mut writing => {}
        }
    }
    conversation.0.end().await;
    tokio::time::timeout(LAST_WORDS, requests.wait()).await.ok();
    // The session may hold a peer for longer, so the queue does not close by itself.
    finish.cancel();
    if !writing.is_finished() {
        tokio::time::timeout(LAST_WORDS, &mut writing).await.ok();
    }
    writing.abort();
    match served {
        // A client that stopped reading has gone, like one that closed its side.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        served => served,
    }
}

struct StdioServer {
    service: Arc<dyn Service>,
    conversation: Arc<Conversation>,
    outlet: Outlet,
    requests: TaskTracker,
    revision: Option<Revision>,
}

/// Cancels everything when the serving future is dropped.
struct Abort(Arc<Conversation>);

impl Drop for Abort {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl StdioServer {
    async fn run<R: AsyncRead + Unpin>(mut self, mut lines: LineReader<R>) -> io::Result<()> {
        while let Some(line) = lines.next().await? {
            match line {
                Line::Text(line) => self.receive(&line).await,
                Line::TooLong => {
                    let error = RpcError::invalid_request("the message is too large");
                    self.refuse(Malformed { id: None, error }).await;
                }
            }
        }
        Ok(())
    }

    async fn receive(&mut self, line: &[u8]) {
        match Incoming::parse(line) {
            Ok(Incoming::Single(message)) => self.receive_message(message).await,
            Ok(Incoming::Batch(parts)) if self.revision.is_some_and(Revision::has_batches) => {
                for part in parts {
                    match part {
                        Ok(message) => self.receive_message(message).await,
                        Err(malformed) => self.refuse(malformed).await,
                    }
                }
            }
            Ok(Incoming::Batch(_)) => {
                let error =
                    RpcError::invalid_request("batches are not part of this protocol revision");
                self.refuse(Malformed { id: None, error }).await;
            }
            Err(malformed) => self.refuse(malformed).await,
        }
    }

    async fn receive_message(&mut self, message: Message) {
        match message {
            Message::Request { id, method, params }
                if method == "initialize" && self.revision.is_none() =>
            {
                // Nothing that follows makes sense before the handshake is through, so the reader waits for it.
                let outlet = self.outlet.clone();
                let (service, extensions) = (&self.service, http::Extensions::new());
                let opened =
                    handshake::open(service, &self.conversation, outlet, params, extensions).await;
                let outcome = opened.map(|greeting| {
                    self.revision = Some(greeting.revision);
                    greeting.result
                });
                self.outlet.send(encode::response(&id, &outcome)).await;
            }
            Message::Request { id, method, params } => {
                let (conversation, outlet) = (Arc::clone(&self.conversation), self.outlet.clone());
                self.requests.spawn(async move {
                    let request = Request { id: id.clone(), method, params };
                    match conversation.answer(request, outlet.clone()).await {
                        Answer::Outcome(outcome) => {
                            outlet.send(encode::response(&id, &outcome)).await;
                        }
                        Answer::Cancelled => {}
                    }
                });
            }
            Message::Notification { method, params } => {
                self.conversation.notification(&method, params).await;
            }
            Message::Response { id, outcome } => self.conversation.response(&id, outcome),
        }
    }

    async fn refuse(&self, malformed: Malformed) {
        self.outlet.send(encode::failure(malformed.id.as_ref(), &malformed.error)).await;
    }
}
