//! HTTP response bodies: JSON, or a live event stream.

use std::{
    convert::Infallible,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use tokio::time::{Instant, Sleep, sleep};
use tokio_util::task::AbortOnDropHandle;

use super::event_stream::EventStream;
use crate::sse;

/// The body of the responses of [`super::HttpEndpoint::handle`].
pub struct ResponseBody(pub(super) ResponseBodyKind);

pub(super) enum ResponseBodyKind {
    Full(Option<Bytes>),
    Events(EventReader),
}

pub(super) struct EventReader {
    stream: Arc<EventStream>,
    ticket: u64,
    position: u64,
    /// Sent first, once.
    priming: Option<Bytes>,
    /// The answered request, where a closed connection cancels it.
    answering: Option<AbortOnDropHandle<()>>,
    /// True where a client can resume.
    numbered: bool,
    keep_alive: Duration,
    silence: Pin<Box<Sleep>>,
}

impl EventReader {
    pub(super) fn new(stream: Arc<EventStream>, position: u64, keep_alive: Duration) -> Self {
        let ticket = stream.attach();
        let silence = Box::pin(sleep(keep_alive));
        Self {
            stream,
            ticket,
            position,
            priming: None,
            answering: None,
            numbered: true,
            keep_alive,
            silence,
        }
    }

    #[must_use]
    pub(super) fn primed(mut self, retry: Duration) -> Self {
        self.priming = Some(sse::encode_priming(&self.event_id(self.position), retry));
        self
    }

    /// Without resumption. `answering` ends with the connection.
    #[must_use]
    pub(super) fn unnumbered(mut self, answering: Option<AbortOnDropHandle<()>>) -> Self {
        self.numbered = false;
        self.answering = answering;
        self
    }

    fn event_id(&self, number: u64) -> String {
        format!("{}-{number}", self.stream.key)
    }

    fn poll_bytes(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if let Some(priming) = self.priming.take() {
            return Poll::Ready(Some(priming));
        }
        if let Poll::Ready(next) = self.stream.poll_after(self.position, self.ticket, context) {
            return Poll::Ready(next.map(|(number, message)| {
                self.position = number;
                self.silence.as_mut().reset(Instant::now() + self.keep_alive);
                match self.numbered {
                    true => sse::encode_event(&self.event_id(number), &message),
                    false => sse::encode_message(&message),
                }
            }));
        }
        // A comment keeps proxies from closing an idle stream, and detects a client that is gone.
        if self.silence.as_mut().poll(context).is_ready() {
            self.silence.as_mut().reset(Instant::now() + self.keep_alive);
            return Poll::Ready(Some(Bytes::from_static(b": keep-alive\n\n")));
        }
        Poll::Pending
    }
}

impl Drop for EventReader {
    fn drop(&mut self) {
        self.stream.detach(self.ticket);
    }
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let bytes = match &mut self.0 {
            ResponseBodyKind::Full(bytes) => Poll::Ready(bytes.take()),
            ResponseBodyKind::Events(reader) => reader.poll_bytes(context),
        };
        bytes.map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.0, ResponseBodyKind::Full(None))
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            ResponseBodyKind::Full(bytes) => {
                SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64))
            }
            ResponseBodyKind::Events(_) => SizeHint::default(),
        }
    }
}
