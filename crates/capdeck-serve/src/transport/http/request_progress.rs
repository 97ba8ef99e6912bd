//! How far the client of a connection is with its request: between requests, sending a head, or being answered.
//!
//! A connection is closed by a timeout only in the first two phases. A head has to be whole soon after its first byte, and a
//! request counts as unfinished from the first time that the host waits for the rest of it.

use std::{
    io,
    net::IpAddr,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use parking_lot::Mutex;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::{Instant, Sleep},
};
use tokio_util::sync::CancellationToken;

use super::{
    connections::HttpLimits,
    unfinished::{UnfinishedRequest, UnfinishedRequests},
    unread_body::UnreadBody,
};

/// The state of one connection, shared by its socket and its requests.
#[derive(Clone)]
pub(super) struct RequestProgress(Arc<ProgressInner>);

struct ProgressInner {
    /// Where unfinished requests are counted; none for connections of trusted proxies, which bound their clients themselves.
    counted: Option<(IpAddr, UnfinishedRequests)>,
    limits: HttpLimits,
    stop: CancellationToken,
    state: Mutex<ConnectionState>,
}

struct ConnectionState {
    /// How many requests were answered or are.
    requests: u64,
    phase: ConnectionPhase,
}

enum ConnectionPhase {
    /// Between two requests.
    Idle { since: Instant },
    /// A head is being sent. Counted from the first time that the host waits for the rest of it.
    Head { since: Instant, counted: Option<UnfinishedRequest> },
    /// A request is being answered, or the rest of its body is being read.
    Busy { is_answered: bool, has_unread_body: bool, is_last: bool },
}

/// Why the host does not wait any longer.
enum GiveUpReason {
    TooSlow,
    TooMany,
}

impl From<GiveUpReason> for io::Error {
    fn from(reason: GiveUpReason) -> Self {
        match reason {
            GiveUpReason::TooSlow => {
                Self::new(io::ErrorKind::TimedOut, "no whole head of a request came in time")
            }
            GiveUpReason::TooMany => Self::new(
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
        limits: HttpLimits,
        stop: CancellationToken,
    ) -> Self {
        let phase = ConnectionPhase::Head { since: Instant::now(), counted: None };
        let state = Mutex::new(ConnectionState { requests: 0, phase });
        Self(Arc::new(ProgressInner { counted, limits, stop, state }))
    }

    /// The head is whole. Returns the number of the request.
    pub(super) fn begin_answer(&self) -> u64 {
        let mut state = self.0.state.lock();
        state.phase =
            ConnectionPhase::Busy { is_answered: false, has_unread_body: false, is_last: false };
        state.requests += 1;
        state.requests
    }

    fn end_answer(&self) {
        let mut state = self.0.state.lock();
        if let ConnectionPhase::Busy { is_answered, has_unread_body: true, .. } = &mut state.phase {
            *is_answered = true;
        } else {
            state.phase = ConnectionPhase::Idle { since: Instant::now() };
        }
    }

    /// The rest of the body of a request is read beside its answer.
    pub(super) fn begin_unread_body(&self, request: u64) {
        let mut state = self.0.state.lock();
        if let (true, ConnectionPhase::Busy { has_unread_body, .. }) =
            (state.requests == request, &mut state.phase)
        {
            *has_unread_body = true;
        }
    }

    pub(super) fn end_unread_body(&self, request: u64) {
        let mut state = self.0.state.lock();
        if state.requests != request {
            return;
        }
        match &mut state.phase {
            ConnectionPhase::Busy { is_answered: true, .. } => {
                state.phase = ConnectionPhase::Idle { since: Instant::now() };
            }
            ConnectionPhase::Busy { has_unread_body, .. } => *has_unread_body = false,
            ConnectionPhase::Idle { .. } | ConnectionPhase::Head { .. } => {}
        }
    }

    /// No other request can follow this one.
    pub(super) fn end_with_request(&self, request: u64) {
        let mut state = self.0.state.lock();
        if let (true, ConnectionPhase::Busy { is_last, .. }) =
            (state.requests == request, &mut state.phase)
        {
            *is_last = true;
        }
    }

    /// Whether the answer has to say that the connection ends with it.
    pub(super) fn ends_with_answer(&self) -> bool {
        matches!(self.0.state.lock().phase, ConnectionPhase::Busy { is_last: true, .. })
    }

    pub(super) fn limits(&self) -> &HttpLimits {
        &self.0.limits
    }

    pub(super) fn stop(&self) -> &CancellationToken {
        &self.0.stop
    }

    fn note_bytes(&self) {
        let mut state = self.0.state.lock();
        if let ConnectionPhase::Idle { .. } = state.phase {
            state.phase = ConnectionPhase::Head { since: Instant::now(), counted: None };
        }
    }

    /// An answer is still on its way to the client, so the connection is not idle yet.
    fn note_unsent_answer(&self) {
        if let ConnectionPhase::Idle { since } = &mut self.0.state.lock().phase {
            *since = Instant::now();
        }
    }

    /// The host waits for bytes of the client: until when.
    fn wait_for_head(&self, context: &Context<'_>) -> Result<Instant, GiveUpReason> {
        let mut state = self.0.state.lock();
        match &mut state.phase {
            ConnectionPhase::Idle { since } => Ok(*since + self.0.limits.idle_timeout),
            ConnectionPhase::Head { since, counted } => {
                if counted.is_none() {
                    *counted = self.count();
                }
                let counted = counted.as_ref();
                if counted.is_some_and(|counted| counted.poll_given_up(context).is_ready()) {
                    return Err(GiveUpReason::TooMany);
                }
                Ok(*since + self.0.limits.head_timeout)
            }
            // Always later than now. The HTTP library need not read again after the answer, so the idle time that begins then
            // is looked at when this is over.
            ConnectionPhase::Busy { .. } => Ok(Instant::now() + self.0.limits.idle_timeout),
        }
    }

    fn count(&self) -> Option<UnfinishedRequest> {
        self.0.counted.as_ref().map(|(address, requests)| requests.begin(*address))
    }
}

/// A socket that stops waiting for a client who sends no whole head in time.
pub(super) struct ClientSocket<S> {
    stream: S,
    progress: RequestProgress,
    /// Made when the host first waits for the client.
    timer: Option<Pin<Box<Sleep>>>,
    /// Whether everything that was written has left.
    is_flushed: bool,
    /// Whether the host stopped waiting for the client.
    has_given_up: bool,
}

impl<S> ClientSocket<S> {
    pub(super) fn new(stream: S, progress: RequestProgress) -> Self {
        Self { stream, progress, timer: None, is_flushed: true, has_given_up: false }
    }

    /// The stream, if the host stopped waiting for the client and an answer can be written. A part of another one may still
    /// be on its way.
    pub(super) fn into_given_up(self) -> Option<S> {
        (self.has_given_up && self.is_flushed).then_some(self.stream)
    }

    fn poll_give_up(&mut self, context: &mut Context<'_>) -> Poll<GiveUpReason> {
        if !self.is_flushed {
            self.progress.note_unsent_answer();
        }
        match self.progress.wait_for_head(context) {
            Ok(deadline) => self.poll_deadline(deadline, context).map(|()| GiveUpReason::TooSlow),
            Err(reason) => Poll::Ready(reason),
        }
    }

    /// Ready at the deadline. The timer is moved only when it goes off too early or would go off too late, because most
    /// requests come long before.
    fn poll_deadline(&mut self, deadline: Instant, context: &mut Context<'_>) -> Poll<()> {
        let timer = self.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(deadline)));
        if timer.deadline() > deadline {
            timer.as_mut().reset(deadline);
        }
        ready!(timer.as_mut().poll(context));
        if timer.deadline() < deadline {
            timer.as_mut().reset(deadline);
            return timer.as_mut().poll(context);
        }
        Poll::Ready(())
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for ClientSocket<S> {
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
        let reason = ready!(self.poll_give_up(context));
        self.has_given_up = true;
        Poll::Ready(Err(reason.into()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for ClientSocket<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.is_flushed = false;
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    /// Called when nothing is left to be written.
    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.stream).poll_flush(context))?;
        self.is_flushed = true;
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.is_flushed = false;
        Pin::new(&mut self.stream).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

/// The body of a request. How long it may take is up to whatever reads it; what its reader leaves is read as an
/// [`UnreadBody`].
pub(super) struct RequestBody {
    /// There until this is dropped.
    incoming: Option<IncomingBody>,
    begun: Instant,
    /// The client sends the body only once it is asked for.
    is_on_demand: bool,
}

/// The body as it arrives. Counted from the first time that the host waits for the rest of it.
pub(super) struct IncomingBody {
    body: Incoming,
    counted: Option<UnfinishedRequest>,
    progress: RequestProgress,
    request: u64,
    is_over: bool,
}

impl RequestBody {
    pub(super) fn new(
        body: Incoming,
        is_on_demand: bool,
        progress: RequestProgress,
        request: u64,
    ) -> Self {
        let incoming = IncomingBody { body, counted: None, progress, request, is_over: false };
        Self { incoming: Some(incoming), begun: Instant::now(), is_on_demand }
    }
}

impl Drop for RequestBody {
    fn drop(&mut self) {
        if let Some(incoming) = self.incoming.take().filter(|incoming| !incoming.is_over()) {
            UnreadBody { incoming, begun: self.begun, is_on_demand: self.is_on_demand }.finish();
        }
    }
}

impl IncomingBody {
    pub(super) fn progress(&self) -> &RequestProgress {
        &self.progress
    }

    /// The number of the request that it belongs to.
    pub(super) fn request(&self) -> u64 {
        self.request
    }

    pub(super) fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }

    fn is_over(&self) -> bool {
        self.is_over || self.body.is_end_stream()
    }

    pub(super) fn poll_frame(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Box<dyn std::error::Error + Send + Sync>>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(context) {
            if !matches!(frame, Some(Ok(_))) {
                (self.counted, self.is_over) = (None, true);
            }
            return Poll::Ready(frame.map(|frame| frame.map_err(Into::into)));
        }
        if self.counted.is_none() {
            self.counted = self.progress.count();
        }
        let counted = self.counted.as_ref();
        if counted.is_none_or(|counted| counted.poll_given_up(context).is_pending()) {
            return Poll::Pending;
        }
        self.is_over = true;
        self.progress.end_with_request(self.request);
        Poll::Ready(Some(Err(io::Error::from(GiveUpReason::TooMany).into())))
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = Box<dyn std::error::Error + Send + Sync>;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        match &mut self.incoming {
            Some(incoming) => incoming.poll_frame(context),
            None => Poll::Ready(None),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.incoming.as_ref().is_none_or(IncomingBody::is_over)
    }

    fn size_hint(&self) -> SizeHint {
        self.incoming.as_ref().map(IncomingBody::size_hint).unwrap_or_default()
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
