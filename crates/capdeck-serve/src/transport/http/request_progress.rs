//! How far the client of a connection is with its request. A head that was begun has to be whole soon, a body has to go on
//! arriving, and neither is counted before it keeps the host waiting.

use std::{
    io,
    net::IpAddr,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use parking_lot::Mutex;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    time::{Instant, Sleep},
};

use super::unfinished::{UnfinishedRequest, UnfinishedRequests};

/// The state of one connection, shared by its socket and its requests.
#[derive(Clone)]
pub(super) struct RequestProgress(Arc<ProgressInner>);

struct ProgressInner {
    /// Where unfinished requests are counted; none for connections of trusted proxies, which bound their clients themselves.
    counted: Option<(IpAddr, UnfinishedRequests)>,
    head_timeout: Duration,
    phase: Mutex<Phase>,
}

enum Phase {
    /// Between two requests.
    Idle,
    /// A head is being sent. Counted from the first time that the host waits for the rest of it.
    Head { since: Instant, counted: Option<UnfinishedRequest> },
    /// A request is being answered.
    Busy,
}

/// Why a connection is given up.
enum GivenUp {
    TooSlow,
    TooMany,
}

impl From<GivenUp> for io::Error {
    fn from(given_up: GivenUp) -> Self {
        match given_up {
            GivenUp::TooSlow => {
                Self::new(io::ErrorKind::TimedOut, "the head of a request took too long")
            }
            GivenUp::TooMany => Self::new(
                io::ErrorKind::ConnectionAborted,
                "too many unfinished requests came from the address",
            ),
        }
    }
}

impl RequestProgress {
    /// A new connection, whose first head is awaited.
    pub(super) fn new(
        counted: Option<(IpAddr, UnfinishedRequests)>,
        head_timeout: Duration,
    ) -> Self {
        let phase = Mutex::new(Phase::Head { since: Instant::now(), counted: None });
        Self(Arc::new(ProgressInner { counted, head_timeout, phase }))
    }

    /// The head is whole.
    pub(super) fn begin_answer(&self) {
        *self.0.phase.lock() = Phase::Busy;
    }

    fn end_answer(&self) {
        *self.0.phase.lock() = Phase::Idle;
    }

    fn note_bytes(&self) {
        let mut phase = self.0.phase.lock();
        if let Phase::Idle = *phase {
            *phase = Phase::Head { since: Instant::now(), counted: None };
        }
    }

    /// The host waits for bytes of the client: until when, if that matters.
    fn wait_for_head(&self, context: &Context<'_>) -> Result<Option<Instant>, GivenUp> {
        let mut phase = self.0.phase.lock();
        let Phase::Head { since, counted } = &mut *phase else { return Ok(None) };
        if counted.is_none() {
            *counted = self.count();
        }
        if counted.as_ref().is_some_and(|counted| counted.poll_given_up(context).is_ready()) {
            return Err(GivenUp::TooMany);
        }
        Ok(Some(*since + self.0.head_timeout))
    }

    fn count(&self) -> Option<UnfinishedRequest> {
        self.0.counted.as_ref().map(|(address, requests)| requests.begin(*address))
    }
}

/// A socket that gives up a client who does not finish a head.
pub(super) struct ClientSocket {
    stream: TcpStream,
    progress: RequestProgress,
    /// Made when the host first waits for the rest of a head.
    timer: Option<Pin<Box<Sleep>>>,
}

impl ClientSocket {
    pub(super) fn new(stream: TcpStream, progress: RequestProgress) -> Self {
        Self { stream, progress, timer: None }
    }

    fn poll_deadline(&mut self, deadline: Instant, context: &mut Context<'_>) -> Poll<GivenUp> {
        let timer = self.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(deadline)));
        if timer.deadline() != deadline {
            timer.as_mut().reset(deadline);
        }
        timer.as_mut().poll(context).map(|()| GivenUp::TooSlow)
    }
}

impl AsyncRead for ClientSocket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        if let Poll::Ready(read) = Pin::new(&mut self.stream).poll_read(context, buffer) {
            if buffer.filled().len() > before {
                self.progress.note_bytes();
            }
            return Poll::Ready(read);
        }
        match self.progress.wait_for_head(context) {
            Ok(None) => Poll::Pending,
            Ok(Some(deadline)) => {
                self.poll_deadline(deadline, context).map(|given_up| Err(given_up.into()))
            }
            Err(given_up) => Poll::Ready(Err(given_up.into())),
        }
    }
}

impl AsyncWrite for ClientSocket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

/// The body of a request. Counted from the first time that the host waits for the rest of it. How long it may take is up to
/// whatever reads it.
pub(super) struct RequestBody {
    body: Incoming,
    progress: RequestProgress,
    counted: Option<UnfinishedRequest>,
}

impl RequestBody {
    pub(super) fn new(body: Incoming, progress: RequestProgress) -> Self {
        Self { body, progress, counted: None }
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = Box<dyn std::error::Error + Send + Sync>;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        match Pin::new(&mut self.body).poll_frame(context) {
            Poll::Ready(Some(frame)) => Poll::Ready(Some(frame.map_err(Into::into))),
            Poll::Ready(None) => {
                self.counted = None;
                Poll::Ready(None)
            }
            Poll::Pending => {
                if self.counted.is_none() {
                    self.counted = self.progress.count();
                }
                match &self.counted {
                    Some(counted) if counted.poll_given_up(context).is_ready() => {
                        let given_up = io::Error::from(GivenUp::TooMany);
                        Poll::Ready(Some(Err(given_up.into())))
                    }
                    _ => Poll::Pending,
                }
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The body of an answer. When it is over, the connection waits for the next request.
pub(super) struct AnswerBody {
    body: axum::body::Body,
    progress: RequestProgress,
}

impl AnswerBody {
    pub(super) fn new(body: axum::body::Body, progress: RequestProgress) -> Self {
        Self { body, progress }
    }
}

impl Drop for AnswerBody {
    fn drop(&mut self) {
        self.progress.end_answer();
    }
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
