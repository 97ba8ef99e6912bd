//! Streams that a client listens to stand open for hours. One ends with the credential that it was opened with.

use std::{
    future::ready,
    pin::Pin,
    task::{Context, Poll},
};

use axum::{
    body::{Body, HttpBody},
    response::Response,
};
use bytes::Bytes;
use capdeck_auth::inbound::{Registry, Standing};
use futures_util::{
    Stream as _, StreamExt as _,
    stream::{self, BoxStream},
};
use http::{HeaderValue, header};
use hyper::body::{Frame, SizeHint};

use crate::admission::changes;

/// An event stream of somebody who came with a credential.
struct CredentialStream {
    body: Body,
    registry: Registry,
    credential: String,
    /// Yields whenever the credential may have been taken back.
    changes: BoxStream<'static, ()>,
}

/// Has an answer end with the credential, if it is a stream. Other answers are over soon.
pub(super) fn ends_with(standing: &Standing, registry: &Registry, response: Response) -> Response {
    let is_stream = response.headers().get(header::CONTENT_TYPE)
        == Some(&HeaderValue::from_static("text/event-stream"));
    if !is_stream {
        return response;
    }
    response.map(|body| {
        Body::new(CredentialStream {
            body,
            registry: registry.clone(),
            credential: standing.credential.clone(),
            // Looked at once at the start: it may have been taken back since the request was let in.
            changes: stream::once(ready(())).chain(changes(registry)).boxed(),
        })
    })
}

impl CredentialStream {
    /// Ready when the credential is over.
    fn poll_over(&mut self, context: &mut Context<'_>) -> Poll<()> {
        loop {
            let change = std::task::ready!(Pin::new(&mut self.changes).poll_next(context));
            if change.is_none() || !self.registry.is_connected(&self.credential) {
                return Poll::Ready(());
            }
        }
    }
}

impl HttpBody for CredentialStream {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if self.poll_over(context).is_ready() {
            return Poll::Ready(None);
        }
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
