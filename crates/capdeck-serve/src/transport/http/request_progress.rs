//! The phase of a connection: idle, receiving a head, or responding.
//!
//! A timeout closes a connection only in the first two phases. A head must be complete soon after its first byte. A request
//! counts as unfinished from the first time the host waits for the rest of it.

use std::{
    future::poll_fn,
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
    runtime::Handle,
    time::{Instant, Sleep, timeout_at},
};
use tokio_util::sync::CancellationToken;

use super::{
    connections::HttpLimits,
    unfinished::{UnfinishedRequest, UnfinishedRequests},
};

/// Longer rests of a body are not read.
const MAX_UNREAD_BYTES: u64 = 256 * 1024;

#[derive(Clone)]
pub(super) struct RequestProgress(Arc<ProgressInner>);

struct ProgressInner {
    /// The counter of unfinished requests; `None` for trusted proxies, which limit their clients themselves.
    counted: Option<(IpAddr, UnfinishedRequests)>,
    limits: HttpLimits,
    stop: CancellationToken,
    state: Mutex<ConnectionState>,
}

struct ConnectionState {
    requests: u64,
    phase: ConnectionPhase,
}

enum ConnectionPhase {
    Idle {
        since: Instant,
    },
    /// Counted from the first time the host waits for the rest of the head.
    Head {
        since: Instant,
        counted: Option<UnfinishedRequest>,
    },
    /// The response is sent, or the rest of the body is read.
    Busy {
        is_answered: bool,
        has_unread_body: bool,
        is_last: bool,
    },
}

enum GiveUpReason {
    TooSlow,
    TooMany,
}

impl From<GiveUpReason> for io::Error {
    fn from(reason: GiveUpReason) -> Self {
        match reason {
            GiveUpReason::TooSlow => {
                Self::new(io::ErrorKind::TimedOut, "the request head timed out")
            }
            GiveUpReason::TooMany => Self::new(
                io::ErrorKind::ConnectionAborted,
                "too many unfinished requests from this address",
            ),
        }
    }
}

impl RequestProgress {
    pub(super) fn new(
        counted: Option<(IpAddr, UnfinishedRequests)>,
        limits: HttpLimits,
        stop: CancellationToken,
    ) -> Self {
        let phase = ConnectionPhase::Head { since: Instant::now(), counted: None };
        let state = Mutex::new(ConnectionState { requests: 0, phase });
        Self(Arc::new(ProgressInner { counted, limits, stop, state }))
    }

    /// The head is complete. Returns the number of the request.
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

    /// The rest of the body is read during the response.
    fn begin_unread_body(&self, request: u64) {
        let mut state = self.0.state.lock();
        if let (true, ConnectionPhase::Busy { has_unread_body, .. }) =
            (state.requests == request, &mut state.phase)
        {
            *has_unread_body = true;
        }
    }

    fn end_unread_body(&self, request: u64) {
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

    fn end_with_request(&self, request: u64) {
        let mut state = self.0.state.lock();
        if let (true, ConnectionPhase::Busy { is_last, .. }) =
            (state.requests == request, &mut state.phase)
        {
            *is_last = true;
        }
    }

    /// True when the response must have `connection: close`.
    pub(super) fn ends_with_answer(&self) -> bool {
        matches!(self.0.state.lock().phase, ConnectionPhase::Busy { is_last: true, .. })
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

    /// The response is not flushed yet, so the connection is not idle.
    fn note_unsent_answer(&self) {
        if let ConnectionPhase::Idle { since } = &mut self.0.state.lock().phase {
            *since = Instant::now();
        }
    }

    /// The deadline for the next bytes of the client.
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
            // Always in the future. The HTTP library need not read again after the response, so the idle timeout that starts then is
            // checked at this deadline.
            ConnectionPhase::Busy { .. } => Ok(Instant::now() + self.0.limits.idle_timeout),
        }
    }

    fn count(&self) -> Option<UnfinishedRequest> {
        self.0.counted.as_ref().map(|(address, requests)| requests.begin(*address))
    }
}

/// A socket that gives up on a client without a complete head in time.
pub(super) struct ClientSocket<S> {
    stream: S,
    progress: RequestProgress,
    timer: Option<Pin<Box<Sleep>>>,
    is_flushed: bool,
    has_given_up: bool,
}

impl<S> ClientSocket<S> {
    pub(super) fn new(stream: S, progress: RequestProgress) -> Self {
        Self { stream, progress, timer: None, is_flushed: true, has_given_up: false }
    }

    /// The stream, if the host gave up and can still write a response. A part of another response may be unsent.
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

    /// Ready at the deadline. The timer is reset only if it fires too early or would fire too late, because most requests arrive
    /// long before.
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

    /// The HTTP library calls this when everything is written.
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

type BodyError = Box<dyn std::error::Error + Send + Sync>;

/// The body of a request. Its reader sets the time limit; the rest is read when it is dropped.
pub(super) struct RequestBody {
    /// `Some` until dropped.
    incoming: Option<IncomingBody>,
    started: Instant,
    /// The client waits for `100 Continue`.
    is_on_demand: bool,
}

/// Counted as unfinished from the first wait for more bytes.
struct IncomingBody {
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
        Self { incoming: Some(incoming), started: Instant::now(), is_on_demand }
    }
}

impl Drop for RequestBody {
    fn drop(&mut self) {
        if let Some(incoming) = self.incoming.take().filter(|incoming| !incoming.is_over()) {
            incoming.finish_unread(self.started, self.is_on_demand);
        }
    }
}

impl IncomingBody {
    /// Reads the rest that a handler did not read during the response, or ends the connection with the response.
    ///
    /// Most error responses need only the head, and many clients send the body in a separate packet. If the connection were
    /// closed because of it, the client would notice only when its next request is lost.
    fn finish_unread(mut self, started: Instant, is_on_demand: bool) {
        let (progress, request) = (self.progress.clone(), self.request);
        let deadline = started + progress.0.limits.body_timeout;
        let is_long = self.body.size_hint().lower() > MAX_UNREAD_BYTES;
        if is_on_demand || is_long || deadline <= Instant::now() {
            progress.end_with_request(request);
        }
        // Read what is in transit even if the connection ends: unread bytes cause a reset, which can overtake the response.
        let (false, Ok(runtime)) = (is_on_demand, Handle::try_current()) else { return };
        progress.begin_unread_body(request);
        runtime.spawn(async move {
            let reading = async {
                let mut length = 0;
                while let Some(Ok(frame)) = poll_fn(|context| self.poll_frame(context)).await {
                    length += frame.data_ref().map_or(0, |data| data.len() as u64);
                    if length > MAX_UNREAD_BYTES {
                        break;
                    }
                }
            };
            progress.0.stop.run_until_cancelled(timeout_at(deadline, reading)).await;
            drop(self);
            progress.end_unread_body(request);
        });
    }

    fn is_over(&self) -> bool {
        self.is_over || self.body.is_end_stream()
    }

    fn poll_frame(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
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
    type Error = BodyError;

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
        self.incoming.as_ref().map(|incoming| incoming.body.size_hint()).unwrap_or_default()
    }
}

/// A response is sent until this is dropped; then the connection waits for the next request.
pub(super) struct AnswerGuard(pub(super) RequestProgress);

impl Drop for AnswerGuard {
    fn drop(&mut self) {
        self.0.end_answer();
    }
}
