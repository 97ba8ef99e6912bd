//! The sessions of an endpoint: they are opened by a handshake, read with GET, and ended with DELETE or when they are idle.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use futures_util::future::{join, join_all};
use http::{HeaderMap, HeaderValue, Response, StatusCode};
use serde_json::value::RawValue;

use super::{
    HttpEndpoint, headers,
    reply::{self, HttpErrorReply},
};
use crate::{
    RequestId, encode,
    request_head::SESSION,
    server::{
        SessionLimit, SessionOwner,
        conversation::{self, ServerConversation},
        event_stream::EventStream,
        http_session::HttpSession,
        peer::MessageOutlet,
        response_body::{EventReader, ResponseBody},
        session_table::new_session_id,
    },
};

/// The stream key of messages without a request; response streams start at one.
const SESSION_STREAM_KEY: u64 = 0;

impl HttpEndpoint {
    pub(super) fn get(
        &self,
        session: &HttpSession,
        headers: &HeaderMap,
    ) -> Result<Response<ResponseBody>, HttpErrorReply> {
        if let Some(event_id) = headers::last_event_id(headers) {
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

    pub(super) async fn initialize(
        self: &Arc<Self>,
        id: RequestId,
        params: Option<Box<RawValue>>,
        extensions: http::Extensions,
    ) -> Result<Response<ResponseBody>, HttpErrorReply> {
        let session_id = new_session_id().map_err(|error| {
            tracing::error!(%error, "no randomness for a session id");
            HttpErrorReply::new(StatusCode::INTERNAL_SERVER_ERROR, "a session cannot be opened now")
        })?;
        let conversation = ServerConversation::new();
        let unasked = EventStream::for_session(SESSION_STREAM_KEY);
        let principal = principal(&extensions);
        let limit = extensions.get::<SessionLimit>().copied();
        let outlet = MessageOutlet::Events(Arc::clone(&unasked));
        let opened = conversation::open(&self.service, &conversation, outlet, params, extensions);
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
                return Err(HttpErrorReply::with_status(reply::status_of(&full), full).with_id(id));
            }
        }
        self.start_sweeping();
        let mut response = reply::json(StatusCode::OK, encode::response(&id, &Ok(result)));
        if let Ok(value) = HeaderValue::from_str(&session_id) {
            response.headers_mut().insert(SESSION, value);
        }
        Ok(response)
    }

    pub(super) async fn delete(&self, session: &HttpSession) -> Response<ResponseBody> {
        self.sessions.remove(&session.id);
        session.end().await;
        reply::empty(StatusCode::NO_CONTENT)
    }

    /// Starts the task that ends idle sessions. It lives as long as the endpoint.
    pub(super) fn start_sweeping(self: &Arc<Self>) {
        if self.sweeping.swap(true, Ordering::Relaxed) {
            return;
        }
        let shortest = self.options.session_idle.min(self.options.session_rest);
        let period = (shortest / 4).clamp(Duration::from_millis(10), Duration::from_secs(15));
        let endpoint = Arc::downgrade(self);
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(period).await;
                let Some(endpoint) = endpoint.upgrade() else { return };
                let idle = endpoint.options.session_idle;
                join(end_all(endpoint.sessions.sweep(idle)), endpoint.modern.sweep(idle)).await;
                let resting = endpoint.sessions.resting(endpoint.options.session_rest);
                let resting = join_all(resting.iter().map(|session| session.rest()));
                join(resting, endpoint.modern.rest(endpoint.options.session_rest)).await;
            }
        });
    }
}

/// Ends sessions concurrently: one must not wait for the others.
pub(super) async fn end_all(sessions: Vec<Arc<HttpSession>>) {
    join_all(sessions.iter().map(|session| session.end())).await;
}

pub(super) fn principal(extensions: &http::Extensions) -> SessionOwner {
    extensions.get::<SessionOwner>().cloned().unwrap_or_default()
}
