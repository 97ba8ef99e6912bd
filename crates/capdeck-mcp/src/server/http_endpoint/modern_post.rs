//! POST of a modern client: one request, one response, no resumption.

use std::{future::poll_fn, sync::Arc};

use http::{HeaderMap, Response, StatusCode, request::Parts};
use serde_json::value::RawValue;
use tokio_util::task::AbortOnDropHandle;

use super::{
    HttpEndpointInner, headers, principal,
    reply::{self, HttpErrorReply},
};
use crate::{
    RpcError, encode, raw,
    request_meta::RequestMeta,
    server::{
        conversation::IncomingRequest,
        event_stream::{EventStream, ReaderBehaviour},
        header_check,
        message_outlet::MessageOutlet,
        modern::{self, ModernRequest, RequestSender},
        response_body::{EventReader, ResponseBody},
    },
};

const STREAM: u64 = 0;

/// A request with a session belongs to it, and a handshake without a sender description opens one.
pub(super) fn is_modern_request(
    headers: &HeaderMap,
    method: &str,
    params: Option<&RawValue>,
) -> bool {
    !headers.contains_key(headers::SESSION)
        && (modern::is_modern(method, params)
            || (method != "initialize" && header_check::names_modern(headers)))
}

/// The same for notifications, which never open a session.
pub(super) fn is_modern_notification(
    headers: &HeaderMap,
    method: &str,
    params: Option<&RawValue>,
) -> bool {
    !headers.contains_key(headers::SESSION)
        && (modern::is_modern(method, params) || header_check::names_modern(headers))
}

impl HttpEndpointInner {
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
        let patience = match request.method.as_str() {
            modern::LISTEN => self.options.json_grace,
            _ => self.options.keep_alive,
        };
        let stream = EventStream::for_answers(STREAM, 1, ReaderBehaviour::ReadOnce);
        let outlet = MessageOutlet::Events(Arc::clone(&stream));
        let modern = Arc::clone(&self.modern);
        let mut answering = Box::pin(async move { modern.answer(request, outlet).await });
        let outcome = tokio::select! {
            biased;
            outcome = &mut answering => Some(outcome),
            _ = poll_fn(|context| stream.poll_beginning(context)) => None,
            () = tokio::time::sleep(patience) => None,
        };
        let reader = |answering| {
            let reader = EventReader::new(Arc::clone(&stream), 0, self.options.keep_alive);
            reply::events(reader.unnumbered(answering))
        };
        match outcome {
            Some(outcome) if stream.is_empty() => {
                reply::json(status(&outcome), encode::text_response(&id, &outcome))
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
    header_check::check_target(&parts.headers, &request.method, &request.params)?;
    request.headers = Some(parts.headers);
    request.extensions = parts.extensions;
    Ok(request)
}

fn admit_body(parts: &Parts, request: IncomingRequest) -> Result<ModernRequest, RpcError> {
    let IncomingRequest { id, method, params: written } = request;
    let mut params = raw::parse_params(written.as_deref())?.unwrap_or_default();
    let meta = RequestMeta::take(&mut params);
    header_check::check_version(&parts.headers, meta.protocol_version.as_deref())?;
    let sender = RequestSender::read(meta)?;
    let principal = principal(&parts.extensions);
    let extensions = http::Extensions::new();
    Ok(ModernRequest { id, method, written, params, sender, principal, extensions, headers: None })
}

fn status(outcome: &Result<String, RpcError>) -> StatusCode {
    match outcome.as_ref().map_err(|error| error.code) {
        Err(RpcError::METHOD_NOT_FOUND) => StatusCode::NOT_FOUND,
        Err(
            RpcError::HEADER_MISMATCH
            | RpcError::MISSING_CAPABILITY
            | RpcError::UNSUPPORTED_VERSION,
        ) => StatusCode::BAD_REQUEST,
        Err(RpcError::REFUSED) => StatusCode::SERVICE_UNAVAILABLE,
        Err(RpcError::TOO_MANY_SESSIONS) => StatusCode::TOO_MANY_REQUESTS,
        _ => StatusCode::OK,
    }
}
