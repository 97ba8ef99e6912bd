//! POST: handles a message and sends its response as JSON or as a stream.

use std::{future::poll_fn, sync::Arc};

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, request::Parts};

use super::{
    HttpEndpointInner, headers,
    modern_post::{is_modern_notification, is_modern_request},
    principal,
    reply::{self, HttpErrorReply},
};
use crate::{
    MalformedMessage, RequestId, RpcError, RpcFrame, RpcMessage, encode,
    message::check_nesting,
    message_budget::keep_answer_room,
    request_head::SESSION,
    server::{
        MissingScopes, SessionLimit,
        conversation::{self, IncomingRequest, RequestCompletion, ServerConversation},
        event_stream::{EventStream, StreamStart},
        http_session::HttpSession,
        peer::MessageOutlet,
        response_body::{EventReader, ResponseBody},
        session_table::new_session_id,
    },
};

/// The stream key of messages without a request; response streams start at one.
const SESSION_STREAM_KEY: u64 = 0;

impl HttpEndpointInner {
    pub(super) async fn post(
        self: &Arc<Self>,
        parts: Parts,
        body: Bytes,
    ) -> Result<Response<ResponseBody>, HttpErrorReply> {
        headers::check_content_type(&parts.headers)?;
        headers::check_accept(&parts.headers, &["application/json", "text/event-stream"])?;
        if body.len() > self.options.max_body {
            let message = format!("the body is over the limit of {} bytes", self.options.max_body);
            return Err(HttpErrorReply::new(StatusCode::PAYLOAD_TOO_LARGE, message));
        }
        let form = if headers::prefers_events(&parts.headers) {
            ReplyForm::Events
        } else {
            ReplyForm::Json
        };
        let incoming = match check_nesting(&body).and_then(|()| RpcFrame::parse(&body)) {
            Ok(incoming) => incoming,
            Err(malformed) if malformed.is_stray_answer() => return Ok(reply::accepted()),
            Err(MalformedMessage { id, error, .. }) => {
                return Err(HttpErrorReply::malformed(id, error));
            }
        };
        self.check_scopes(&parts.extensions, &incoming)?;
        match incoming {
            RpcFrame::Single(RpcMessage::Request { id, method, params })
                if is_modern_request(&parts.headers, &method, params.as_deref()) =>
            {
                Ok(self.post_modern(parts, IncomingRequest { id, method, params }).await)
            }
            RpcFrame::Single(RpcMessage::Notification { method, params })
                if is_modern_notification(&parts.headers, &method, params.as_deref()) =>
            {
                self.notify_modern(parts, method, params).await
            }
            RpcFrame::Single(RpcMessage::Request { id, method, params })
                if method == "initialize" && !parts.headers.contains_key(SESSION) =>
            {
                self.initialize(IncomingRequest { id, method, params }, parts.extensions).await
            }
            RpcFrame::Single(message) => {
                let session = self.session(&parts).map_err(|refusal| match &message {
                    RpcMessage::Request { id, .. } => refusal.of(id.clone()),
                    RpcMessage::Notification { .. } | RpcMessage::Response { .. } => refusal,
                })?;
                self.answer(&session, vec![Ok(message)], BatchShape::Single, form).await
            }
            RpcFrame::Batch(messages) => {
                let session = self.session(&parts)?;
                if !session.revision.has_batches() {
                    let message = "batches are not part of this protocol revision";
                    return Err(HttpErrorReply::malformed(
                        None,
                        RpcError::invalid_request(message),
                    ));
                }
                self.answer(&session, messages, BatchShape::Batch, form).await
            }
        }
    }

    /// Refuses a message with a request that the sender's token has no scope for, with everything that its requests lack.
    fn check_scopes(
        &self,
        extensions: &http::Extensions,
        incoming: &RpcFrame,
    ) -> Result<(), HttpErrorReply> {
        let missing_for = |message: &RpcMessage| match message {
            RpcMessage::Request { method, params, .. } => {
                self.service.missing_scopes(extensions, method, params.as_deref())
            }
            RpcMessage::Notification { .. } | RpcMessage::Response { .. } => None,
        };
        let missing: Vec<MissingScopes> = match incoming {
            RpcFrame::Single(message) => missing_for(message).into_iter().collect(),
            RpcFrame::Batch(messages) => {
                messages.iter().flatten().filter_map(missing_for).collect()
            }
        };
        if missing.is_empty() {
            return Ok(());
        }
        let all: Vec<String> = missing.into_iter().map(|MissingScopes(scopes)| scopes).collect();
        Err(HttpErrorReply::missing_scopes(MissingScopes(all.join(" "))))
    }

    async fn initialize(
        self: &Arc<Self>,
        request: IncomingRequest,
        extensions: http::Extensions,
    ) -> Result<Response<ResponseBody>, HttpErrorReply> {
        let id = request.id;
        let session_id = new_session_id().map_err(|error| {
            tracing::error!(%error, "no randomness for a session id");
            HttpErrorReply::new(StatusCode::INTERNAL_SERVER_ERROR, "a session cannot be opened now")
        })?;
        let conversation = ServerConversation::new();
        let unasked = EventStream::for_session(SESSION_STREAM_KEY);
        let principal = principal(&extensions);
        let limit = extensions.get::<SessionLimit>().copied();
        let outlet = MessageOutlet::Events(Arc::clone(&unasked));
        let opened =
            conversation::open(&self.service, &conversation, outlet, request.params, extensions);
        let (revision, result) = match opened.await {
            Ok(opened) => opened,
            Err(error) => {
                return Ok(reply::json(StatusCode::OK, encode::failure(Some(&id), &error)));
            }
        };
        let session =
            HttpSession::new(session_id.clone(), principal, revision, conversation, unasked);
        match self.sessions.insert(Arc::clone(&session), self.options.max_sessions, limit) {
            Ok(None) => {}
            Ok(Some(evicted)) => {
                tracing::info!("the session idle longest was ended to make room for another");
                tokio::spawn(async move { evicted.end().await });
            }
            Err(full) => {
                session.end().await;
                return Err(HttpErrorReply::with_status(reply::status_of(&full), full).of(id));
            }
        }
        self.start_sweeping();
        let mut response = reply::json(StatusCode::OK, encode::response(&id, &Ok(result)));
        if let Ok(value) = HeaderValue::from_str(&session_id) {
            response.headers_mut().insert(SESSION, value);
        }
        Ok(response)
    }

    async fn answer(
        &self,
        session: &Arc<HttpSession>,
        messages: Vec<Result<RpcMessage, MalformedMessage>>,
        shape: BatchShape,
        form: ReplyForm,
    ) -> Result<Response<ResponseBody>, HttpErrorReply> {
        let mut requests = Vec::new();
        let mut malformed = Vec::new();
        for message in messages {
            match message {
                Ok(RpcMessage::Request { id, method, params }) => {
                    requests.push(IncomingRequest { id, method, params });
                }
                Ok(RpcMessage::Notification { method, params }) => {
                    session.conversation.notification(&method, params).await;
                }
                Ok(RpcMessage::Response { id, outcome }) => {
                    session.conversation.response(&id, outcome);
                }
                Err(part) if part.is_stray_answer() => {}
                Err(part) => malformed.push(part),
            }
        }
        let answers = requests.len() + malformed.len();
        if answers == 0 {
            return Ok(reply::accepted());
        }
        let stream = session.new_stream(answers);
        for MalformedMessage { id, error, .. } in malformed {
            stream.push_answer(encode::failure(id.as_ref(), &error).into());
        }
        for request in requests {
            run(session, request, Arc::clone(&stream));
        }
        Ok(self.respond(session, stream, shape, form).await)
    }

    /// Sends plain JSON when only responses come within the grace time, else a stream that can be resumed.
    async fn respond(
        &self,
        session: &Arc<HttpSession>,
        stream: Arc<EventStream>,
        shape: BatchShape,
        form: ReplyForm,
    ) -> Response<ResponseBody> {
        if let ReplyForm::Json = form {
            let beginning = poll_fn(|context| stream.poll_beginning(context));
            let soon = tokio::time::timeout(self.options.json_grace, beginning).await;
            if let Ok(StreamStart::AnswersOnly(answers)) = soon {
                return reply::json(StatusCode::OK, shape.body(answers));
            }
        }
        session.keep_stream(Arc::clone(&stream));
        let mut reader = EventReader::new(stream, 0, self.options.keep_alive);
        if session.revision.has_priming_event() {
            reader = reader.primed(self.options.retry);
        }
        reply::events(reader)
    }
}

#[derive(Debug, Clone, Copy)]
enum ReplyForm {
    Json,
    Events,
}

/// The form of the request body, which a JSON response repeats.
#[derive(Debug, Clone, Copy)]
enum BatchShape {
    Single,
    Batch,
}

impl BatchShape {
    fn body(self, mut answers: Vec<Bytes>) -> Bytes {
        match self {
            Self::Single => answers.pop().unwrap_or_default(),
            Self::Batch => {
                let mut body = Vec::from(b"[");
                body.extend_from_slice(&answers.join(b",".as_slice()));
                body.push(b']');
                body.into()
            }
        }
    }
}

/// Answers a request in its own task: a client that disconnects may resume for the response.
fn run(session: &Arc<HttpSession>, request: IncomingRequest, stream: Arc<EventStream>) {
    let session = Arc::clone(session);
    let id: RequestId = request.id.clone();
    let outlet = MessageOutlet::Events(Arc::clone(&stream));
    let answer = session.conversation.answer(request, outlet);
    tokio::spawn(keep_answer_room(async move {
        let outcome = match answer.await {
            RequestCompletion::Outcome(outcome) => outcome,
            // An open HTTP request needs an end, even after a cancellation.
            RequestCompletion::Cancelled => {
                Err(RpcError::new(RpcError::REQUEST_CANCELLED, "the request was cancelled"))
            }
        };
        stream.push_answer(encode::response(&id, &outcome).into());
        session.touch();
    }));
}
