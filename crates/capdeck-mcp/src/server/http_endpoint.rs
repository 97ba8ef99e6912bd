//! Streamable HTTP server. One endpoint serves any number of sessions.
//!
//! Earlier layers check the host, the origin and the principal.

mod headers;
mod modern_post;
mod post;
mod reply;

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use futures_util::future::{join, join_all};
use http::{Method, Request, Response, StatusCode, header::ALLOW, request::Parts};

use super::{
    ServerLoad, SessionFactory, SessionOwner,
    http_session::HttpSession,
    modern::{ModernServer, SuspensionLimits},
    response_body::{EventReader, ResponseBody},
    session_table::SessionTable,
};
use crate::{MAX_MESSAGE_BYTES, TextSealer, request_head::SESSION};
use reply::HttpErrorReply;

/// Limits and delays of an HTTP endpoint.
#[derive(Debug, Clone)]
pub struct HttpOptions {
    /// In bytes.
    pub max_body: usize,
    /// The maximum number of sessions in each era. The one idle longest is ended for the next.
    pub max_sessions: usize,
    pub session_idle: Duration,
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
#[derive(Clone)]
pub struct HttpEndpoint {
    inner: Arc<HttpEndpointInner>,
}

struct HttpEndpointInner {
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
    pub fn new(service: Arc<dyn SessionFactory>, options: HttpOptions) -> Self {
        let sessions = SessionTable::default();
        let sweeping = AtomicBool::new(false);
        let limits = SuspensionLimits {
            in_all: options.max_suspended,
            per_principal: options.max_suspended_per_principal,
            lifetime: options.question_lifetime,
        };
        let sealer = Arc::clone(&options.sealer);
        let modern = ModernServer::new(Arc::clone(&service), sealer, options.max_sessions, limits);
        Self { inner: Arc::new(HttpEndpointInner { service, options, sessions, modern, sweeping }) }
    }

    /// Answers one HTTP request. Its extensions reach [`SessionFactory::open`].
    pub async fn handle(&self, request: Request<Bytes>) -> Response<ResponseBody> {
        let (parts, body) = request.into_parts();
        let answer = match parts.method {
            Method::POST => self.inner.post(parts, body).await,
            Method::GET if parts.headers.contains_key(SESSION) => self.inner.get(&parts),
            Method::DELETE if parts.headers.contains_key(SESSION) => {
                self.inner.delete(&parts).await
            }
            Method::GET | Method::DELETE => Ok(not_allowed("POST")),
            _ => Ok(not_allowed("GET, POST, DELETE")),
        };
        answer.unwrap_or_else(HttpErrorReply::into_response)
    }

    pub fn load(&self) -> ServerLoad {
        self.inner.sessions.load() + self.inner.modern.load()
    }

    /// Ends every session. Requests in flight are cancelled.
    pub async fn shutdown(&self) {
        join(end_all(self.inner.sessions.drain()), self.inner.modern.end()).await;
    }
}

impl HttpEndpointInner {
    async fn delete(&self, parts: &Parts) -> Result<Response<ResponseBody>, HttpErrorReply> {
        let session = self.session(parts)?;
        self.sessions.remove(&session.id);
        session.end().await;
        let mut response = Response::new(ResponseBody::empty());
        *response.status_mut() = StatusCode::NO_CONTENT;
        Ok(response)
    }

    fn session(&self, parts: &Parts) -> Result<Arc<HttpSession>, HttpErrorReply> {
        let id = headers::session_id(&parts.headers)?;
        headers::check_revision(&parts.headers)?;
        // Another principal's session looks like one that does not exist.
        let session = self
            .sessions
            .get(id)
            .filter(|session| session.principal == principal(&parts.extensions))
            .ok_or_else(HttpErrorReply::session_not_found)?;
        session.touch();
        Ok(session)
    }

    /// Starts the task that ends idle sessions. It lives as long as the endpoint.
    fn start_sweeping(self: &Arc<Self>) {
        if self.sweeping.swap(true, Ordering::Relaxed) {
            return;
        }
        let period = (self.options.session_idle / 4)
            .clamp(Duration::from_millis(10), Duration::from_secs(15));
        let endpoint = Arc::downgrade(self);
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(period).await;
                let Some(endpoint) = endpoint.upgrade() else { return };
                let idle = endpoint.options.session_idle;
                join(end_all(endpoint.sessions.sweep(idle)), endpoint.modern.sweep(idle)).await;
            }
        });
    }
}

/// Ends sessions concurrently: one must not wait for the others.
async fn end_all(sessions: Vec<Arc<HttpSession>>) {
    join_all(sessions.iter().map(|session| session.end())).await;
}

fn principal(extensions: &http::Extensions) -> SessionOwner {
    extensions.get::<SessionOwner>().cloned().unwrap_or_default()
}

/// GET and DELETE need a session.
fn not_allowed(allowed: &'static str) -> Response<ResponseBody> {
    let mut response = Response::new(ResponseBody::empty());
    *response.status_mut() = StatusCode::METHOD_NOT_ALLOWED;
    response.headers_mut().insert(ALLOW, http::HeaderValue::from_static(allowed));
    response
}

impl fmt::Debug for HttpEndpoint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("HttpEndpoint")
            .field("options", &self.inner.options)
            .finish_non_exhaustive()
    }
}

impl HttpEndpointInner {
    fn get(&self, parts: &Parts) -> Result<Response<ResponseBody>, HttpErrorReply> {
        headers::check_accept(&parts.headers, &["text/event-stream"])?;
        let session = self.session(parts)?;
        if let Some(event_id) = headers::last_event_id(&parts.headers) {
            let (stream, position) = session.find_stream(event_id).ok_or_else(|| {
                HttpErrorReply::bad_request(
                    "the stream of this `Last-Event-ID` can no longer be read",
                )
            })?;
            return Ok(reply::events(EventReader::new(stream, position, self.options.keep_alive)));
        }
        let stream = Arc::clone(&session.unasked);
        // Two readers would each see half of the messages.
        if stream.is_attached() {
            return Err(HttpErrorReply::new(
                StatusCode::CONFLICT,
                "this session has an open GET stream already",
            ));
        }
        let position = stream.delivered();
        let mut reader = EventReader::new(stream, position, self.options.keep_alive);
        if session.revision.has_priming_event() {
            reader = reader.primed(self.options.retry);
        }
        Ok(reply::events(reader))
    }
}
