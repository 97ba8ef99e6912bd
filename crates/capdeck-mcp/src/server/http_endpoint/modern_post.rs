//! POST of a modern client: one request, one response, no resumption.

use std::{future::poll_fn, sync::Arc};

use http::{HeaderMap, Response, StatusCode, request::Parts};
use serde_json::value::RawValue;
use tokio_util::task::AbortOnDropHandle;

use super::{
    HttpEndpoint,
    reply::{self, HttpErrorReply},
    sessions::principal,
};
use crate::{
    RpcError, encode,
    message_budget::keep_answer_room,
    request_head::{self, SESSION},
    server::{
        conversation::IncomingRequest,
        event_stream::{EventStream, ReaderBehaviour},
        modern::{self, ModernRequest},
        peer::MessageOutlet,
        response_body::{EventReader, ResponseBody},
    },
};

const STREAM: u64 = 0;

/// A message with a session belongs to it, and a handshake without a sender description opens one.
pub(super) fn is_modern(headers: &HeaderMap, method: &str, params: Option<&RawValue>) -> bool {
    !headers.contains_key(SESSION)
        && (modern::is_modern(method, params)
            || (method != "initialize" && request_head::names_modern(headers)))
}

impl HttpEndpoint {
    /// Answers a request. Sends nothing before there is something to send, so that the status is right. A client that
    /// disconnects early cancels the request.
    pub(super) async fn post_modern(
        self: &Arc<Self>,
        parts: Parts,
        request: IncomingRequest,
    ) -> Response<ResponseBody> {
        let id = request.id.clone();
        let request = match admit(parts, request) {
            Ok(request) => request,
            Err(error) => {
                return reply::json(StatusCode::BAD_REQUEST, encode::failure(Some(&id), &error));
            }
        };
        self.start_sweeping();
        let first_wait = match request.method.as_str() {
            modern::LISTEN => self.options.json_grace,
            _ => self.options.keep_alive,
        };
        let stream = EventStream::for_answers(STREAM, 1, ReaderBehaviour::ReadOnce);
        let outlet = MessageOutlet::Events(Arc::clone(&stream));
        let modern = Arc::clone(&self.modern);
        let mut answering =
            Box::pin(keep_answer_room(async move { modern.answer(request, outlet).await }));
        let outcome = tokio::select! {
            biased;
            outcome = &mut answering => Some(outcome),
            _ = poll_fn(|context| stream.poll_beginning(context)) => None,
            () = tokio::time::sleep(first_wait) => None,
        };
        let reader = |answering| {
            let reader = EventReader::new(Arc::clone(&stream), 0, self.options.keep_alive);
            reply::events(reader.unnumbered(answering))
        };
        match outcome {
            Some(outcome) if stream.is_empty() => {
                let status = outcome.as_ref().err().map_or(StatusCode::OK, reply::status_of);
                reply::json(status, encode::text_response(&id, &outcome))
            }
            // Earlier notifications come first.
            Some(outcome) => {
                stream.push_answer(encode::text_response(&id, &outcome).into());
                reader(None)
            }
            None => {
                let stream = Arc::clone(&stream);
                let answering = tokio::spawn(async move {
                    let outcome = answering.await;
                    stream.push_answer(encode::text_response(&id, &outcome).into());
                });
                reader(Some(AbortOnDropHandle::new(answering)))
            }
        }
    }

    /// Handles a notification. One without a sender description has no session.
    pub(super) async fn notify_modern(
        &self,
        parts: Parts,
        method: String,
        params: Option<Box<RawValue>>,
    ) -> Result<Response<ResponseBody>, HttpErrorReply> {
        if modern::is_removed(&method) {
            let error = RpcError::method_not_found(&method);
            return Err(HttpErrorReply::with_status(StatusCode::NOT_FOUND, error));
        }
        let is_ours = method != "notifications/cancelled";
        if is_ours && modern::is_modern(&method, params.as_deref()) {
            // Notifications have no id, and no message uses this one.
            let request = IncomingRequest { id: 0.into(), method, params };
            let admitted = admit_body(&parts, request);
            let mut request = admitted
                .map_err(|error| HttpErrorReply::with_status(StatusCode::BAD_REQUEST, error))?;
            // The notification may open the sender's session, so it keeps the extensions like a request.
            request.extensions = parts.extensions;
            if let Err(error) = self.modern.notification(request).await {
                tracing::debug!(%error, "a notification was dropped");
            }
        }
        Ok(reply::accepted())
    }
}

fn admit(parts: Parts, request: IncomingRequest) -> Result<ModernRequest, RpcError> {
    let mut request = admit_body(&parts, request)?;
    request_head::check_target(&parts.headers, &request.method, &request.params)?;
    request.headers = Some(parts.headers);
    request.extensions = parts.extensions;
    Ok(request)
}

fn admit_body(parts: &Parts, request: IncomingRequest) -> Result<ModernRequest, RpcError> {
    ModernRequest::read(request, principal(&parts.extensions), |version| {
        request_head::check_version(&parts.headers, version)
    })
}
