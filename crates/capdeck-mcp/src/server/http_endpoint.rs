//! Streamable HTTP server. One endpoint serves any number of sessions.
//!
//! Earlier layers check the host, the origin and the principal.

mod headers;
mod modern_post;
mod reply;
mod sessions;

use std::{
    future::poll_fn,
    pin::Pin,
    sync::{Arc, atomic::AtomicBool},
    task::Context,
    time::Duration,
};

use bytes::Bytes;
use futures_util::future::{FutureExt as _, join, join_all};
use http::{
    Extensions, HeaderMap, HeaderValue, Method, Request, Response, StatusCode, header::ALLOW,
};
use tokio::runtime::Handle;

use self::{
    modern_post::is_modern,
    reply::HttpErrorReply,
    sessions::{end_all, principal},
};
use super::{
    MissingScopes, ScopedSender, ServerLoad, SessionFactory,
    conversation::IncomingRequest,
    event_stream::StreamStart,
    http_session::HttpSession,
    modern::{ModernServer, SuspensionLimits},
    peer::MessageOutlet,
    response_body::{EventReader, ResponseBody},
    session_table::SessionTable,
};
use crate::{
    MAX_MESSAGE_BYTES, MalformedMessage, RpcError, RpcFrame, RpcMessage, TextSealer, encode,
    message::check_nesting, message_budget::keep_answer_room, request_head::SESSION,
};

/// Limits and delays of an HTTP endpoint.
#[derive(Debug, Clone)]
pub struct HttpOptions {
    /// In bytes.
    pub max_body: usize,
    /// The maximum number of sessions in each era. The one idle longest is ended for the next.
    pub max_sessions: usize,
    pub session_idle: Duration,
    /// A client that closed its stream and sends no request is taken for gone after this time, and its session rests.
    /// A client that had no stream yet has ten times as long.
    pub session_rest: Duration,
    /// A response that takes longer than this opens a stream instead of plain JSON.
    pub json_grace: Duration,
    /// The interval of comments on an idle stream.
    pub keep_alive: Duration,
    /// The delay before clients resume a broken stream.
    pub retry: Duration,
    /// The time for a modern client to answer questions before the call is cancelled.
    pub question_lifetime: Duration,
    /// The maximum number of calls that wait for answers to their questions.
    pub max_suspended: usize,
    /// The same limit for one principal.
    pub max_suspended_per_principal: usize,
    /// Seals the state that modern clients store between a question and its answer.
    pub sealer: Arc<TextSealer>,
}

/// An endpoint to mount under a path of any HTTP server.
pub struct HttpEndpoint {
    service: Arc<dyn SessionFactory>,
    options: HttpOptions,
    sessions: SessionTable,
    modern: Arc<ModernServer>,
    sweeping: AtomicBool,
}

impl Default for HttpOptions {
    fn default() -> Self {
        Self {
            max_body: MAX_MESSAGE_BYTES,
            max_sessions: 1024,
            session_idle: Duration::from_secs(30 * 60),
            session_rest: Duration::from_secs(30),
            json_grace: Duration::from_millis(150),
            keep_alive: Duration::from_secs(15),
            retry: Duration::from_secs(1),
            question_lifetime: Duration::from_secs(10 * 60),
            max_suspended: 1024,
            max_suspended_per_principal: 128,
            sealer: Arc::default(),
        }
    }
}

impl HttpEndpoint {
    pub fn new(service: Arc<dyn SessionFactory>, options: HttpOptions) -> Arc<Self> {
        let limits = SuspensionLimits {
            in_all: options.max_suspended,
            per_principal: options.max_suspended_per_principal,
            lifetime: options.question_lifetime,
        };
        let sealer = Arc::clone(&options.sealer);
        let modern = ModernServer::new(Arc::clone(&service), sealer, options.max_sessions, limits);
        let (sessions, sweeping) = (SessionTable::default(), AtomicBool::new(false));
        Arc::new(Self { service, options, sessions, modern, sweeping })
    }

    /// Answers one HTTP request. Its extensions reach [`SessionFactory::open`].
    pub async fn handle(self: &Arc<Self>, request: Request<Bytes>) -> Response<ResponseBody> {
        let (parts, body) = request.into_parts();
        let answering = async {
            let has_session = parts.headers.contains_key(SESSION);
            let session = || {
                let id = headers::session_id(&parts.headers)?;
                headers::check_revision(&parts.headers)?;
                // Another principal's session looks like one that does not exist.
                let known = self.sessions.get(id);
                let own = known.filter(|one| one.principal == principal(&parts.extensions));
                own.inspect(|session| session.touch()).ok_or_else(HttpErrorReply::session_not_found)
            };
            match parts.method {
                Method::POST => {}
                Method::GET if has_session => {
                    headers::check_accept(&parts.headers, &["text/event-stream"])?;
                    return self.get(&*session()?, &parts.headers);
                }
                Method::DELETE if has_session => return Ok(self.delete(&*session()?).await),
                Method::GET | Method::DELETE => return Ok(not_allowed("POST")),
                _ => return Ok(not_allowed("GET, POST, DELETE")),
            }
            headers::check_content_type(&parts.headers)?;
            headers::check_accept(&parts.headers, &["application/json", "text/event-stream"])?;
            let Some(frame) = read_frame(&body, self.options.max_body)? else {
                return Ok(reply::accepted());
            };
            if parts.extensions.get::<ScopedSender>().is_some() {
                self.check_scopes(&frame, &parts.extensions)?;
            }
            match frame {
                RpcFrame::Single(RpcMessage::Request { id, method, params })
                    if is_modern(&parts.headers, &method, params.as_deref()) =>
                {
                    Ok(self.post_modern(parts, IncomingRequest { id, method, params }).await)
                }
                RpcFrame::Single(RpcMessage::Notification { method, params })
                    if is_modern(&parts.headers, &method, params.as_deref()) =>
                {
                    self.notify_modern(parts, method, params).await
                }
                RpcFrame::Single(RpcMessage::Request { id, method, params })
                    if method == "initialize" && !has_session =>
                {
                    self.initialize(id, params, parts.extensions).await
                }
                RpcFrame::Single(message) => {
                    let session = session().map_err(|refusal| match &message {
                        RpcMessage::Request { id, .. } => refusal.with_id(id.clone()),
                        RpcMessage::Notification { .. } | RpcMessage::Response { .. } => refusal,
                    })?;
                    Ok(self.answer(&session, vec![Ok(message)], false, &parts.headers).await)
                }
                RpcFrame::Batch(messages) => {
                    let session = session()?;
                    if !session.revision.has_batches() {
                        let message = "batches are not part of this protocol revision";
                        let error = RpcError::invalid_request(message);
                        return Err(HttpErrorReply::malformed(None, error));
                    }
                    Ok(self.answer(&session, messages, true, &parts.headers).await)
                }
            }
        };
        answering.await.unwrap_or_else(HttpErrorReply::into_response)
    }

    /// Refuses a message before any request of it is answered, with everything that its requests lack.
    fn check_scopes(
        &self,
        frame: &RpcFrame,
        extensions: &Extensions,
    ) -> Result<(), HttpErrorReply> {
        let missing: Vec<String> = frame
            .messages()
            .filter_map(|message| match message {
                RpcMessage::Request { method, params, .. } => {
                    self.service.missing_scopes(extensions, method, params.as_deref())
                }
                RpcMessage::Notification { .. } | RpcMessage::Response { .. } => None,
            })
            .map(|MissingScopes(scopes)| scopes)
            .collect();
        match missing.is_empty() {
            true => Ok(()),
            false => Err(HttpErrorReply::missing_scopes(MissingScopes(missing.join(" ")))),
        }
    }

    pub fn load(&self) -> ServerLoad {
        self.sessions.load() + self.modern.load()
    }

    /// Ends every session. Requests in flight are cancelled.
    pub async fn shutdown(&self) {
        join(end_all(self.sessions.drain()), self.modern.end()).await;
    }

    /// Answers the messages of a session: as plain JSON when only responses come within the grace time, else as a
    /// stream that can be resumed. The requests go on without the connection: its client may resume for the responses.
    async fn answer(
        &self,
        session: &Arc<HttpSession>,
        messages: Vec<Result<RpcMessage, MalformedMessage>>,
        is_batch: bool,
        headers: &HeaderMap,
    ) -> Response<ResponseBody> {
        let is_answered = |message: &&Result<RpcMessage, MalformedMessage>| match message {
            Ok(message) => matches!(message, RpcMessage::Request { .. }),
            Err(malformed) => !malformed.is_stray_answer(),
        };
        let answers = messages.iter().filter(is_answered).count();
        let stream = session.new_stream(answers);
        let mut requests = Vec::new();
        for message in messages {
            match message {
                Ok(RpcMessage::Request { id, method, params }) => {
                    let request = IncomingRequest { id: id.clone(), method, params };
                    let outlet = MessageOutlet::Events(Arc::clone(&stream));
                    let answer = session.conversation.answer(request, outlet);
                    let (session, stream) = (Arc::clone(session), Arc::clone(&stream));
                    requests.push(keep_answer_room(async move {
                        // An open HTTP request needs an end, even after a cancellation.
                        let outcome = answer.await.unwrap_or_else(|| Err(RpcError::cancelled()));
                        stream.push_answer(encode::response(&id, &outcome).into());
                        session.touch();
                    }));
                }
                Ok(RpcMessage::Notification { method, params }) => {
                    session.conversation.notification(&method, params).await;
                }
                Ok(RpcMessage::Response { id, outcome }) => {
                    session.conversation.response(&id, outcome);
                }
                Err(malformed) if malformed.is_stray_answer() => {}
                Err(MalformedMessage { id, error, .. }) => {
                    stream.push_answer(encode::failure(id.as_ref(), &error).into());
                }
            }
        }
        if answers == 0 {
            return reply::accepted();
        }
        let mut answering = DetachedOnDrop(Some(Box::pin(join_all(requests).map(drop))));
        if !headers::prefers_events(headers) {
            let beginning = poll_fn(|context| {
                answering.poll(context);
                stream.poll_beginning(context)
            });
            let soon = tokio::time::timeout(self.options.json_grace, beginning).await;
            if let Ok(StreamStart::AnswersOnly(mut answers)) = soon {
                let body = match is_batch {
                    true => [b"[", answers.join(b",".as_slice()).as_slice(), b"]"].concat().into(),
                    false => answers.pop().unwrap_or_default(),
                };
                return reply::json(StatusCode::OK, body);
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

/// Work that its owner advances; when the owner is gone, it goes on in a task of its own. Most requests end before, and
/// cost no task.
struct DetachedOnDrop(Option<Pin<Box<dyn Future<Output = ()> + Send>>>);

impl DetachedOnDrop {
    fn poll(&mut self, context: &mut Context<'_>) {
        if self.0.as_mut().is_some_and(|work| work.as_mut().poll(context).is_ready()) {
            self.0 = None;
        }
    }
}

impl Drop for DetachedOnDrop {
    fn drop(&mut self) {
        if let (Some(work), Ok(runtime)) = (self.0.take(), Handle::try_current()) {
            runtime.spawn(work);
        }
    }
}

/// The messages of a body; `None` for a response that belongs to no request.
fn read_frame(body: &Bytes, max_body: usize) -> Result<Option<RpcFrame>, HttpErrorReply> {
    if body.len() > max_body {
        let message = format!("the body is over the limit of {max_body} bytes");
        return Err(HttpErrorReply::new(StatusCode::PAYLOAD_TOO_LARGE, message));
    }
    match check_nesting(body).and_then(|()| RpcFrame::parse(body)) {
        Ok(frame) => Ok(Some(frame)),
        Err(malformed) if malformed.is_stray_answer() => Ok(None),
        Err(MalformedMessage { id, error, .. }) => Err(HttpErrorReply::malformed(id, error)),
    }
}

/// GET and DELETE need a session.
fn not_allowed(allowed: &'static str) -> Response<ResponseBody> {
    let mut response = reply::empty(StatusCode::METHOD_NOT_ALLOWED);
    response.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
    response
}
