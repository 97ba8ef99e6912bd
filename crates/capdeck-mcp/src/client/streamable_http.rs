//! Streamable HTTP: every message is a POST, answered by JSON or by its own event stream.

mod response;
mod stream;

use std::{sync::Arc, sync::Weak, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;
use http::{
    HeaderValue, Method, StatusCode,
    header::{ACCEPT, CONTENT_TYPE},
};
use parking_lot::Mutex;
use reqwest::RequestBuilder;
use tokio_util::sync::CancellationToken;

use super::{
    ClientError, HttpTarget,
    call::{ClientTransport, PendingCall, ResponseResult},
    message_hub::MessageHub,
};
use crate::{
    ProtocolRevision, encode,
    request_head::{METHOD, PROTOCOL_VERSION, SESSION},
};

pub(super) use response::check_status;

const DETACHED_TIMEOUT: Duration = Duration::from_secs(10);

struct StreamableHttp {
    hub: Arc<MessageHub>,
    target: HttpTarget,
    session: Mutex<SessionHeaders>,
    this: Weak<Self>,
}

/// The result of the handshake, sent with every later request.
#[derive(Debug, Clone, Default)]
struct SessionHeaders {
    id: Option<HeaderValue>,
    revision: Option<ProtocolRevision>,
    /// Cancelled by the next handshake; ends the stream that listens to this session.
    ended: CancellationToken,
}

pub(super) fn open(target: HttpTarget, hub: &Arc<MessageHub>) -> Arc<dyn ClientTransport> {
    Arc::new_cyclic(|this| StreamableHttp {
        hub: Arc::clone(hub),
        target,
        session: Mutex::default(),
        this: this.clone(),
    })
}

pub(super) fn deliver_detached(target: HttpTarget, request: RequestBuilder) {
    let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
    runtime.spawn(async move {
        if let Err(error) = target.send(request.timeout(DETACHED_TIMEOUT)).await {
            let error = error.without_url();
            tracing::debug!(%error, "a message to the server could not be sent");
        }
    });
}

impl StreamableHttp {
    fn request(&self, method: Method) -> RequestBuilder {
        let session = self.session.lock().clone();
        let mut request = self.target.http.request(method, self.target.url.clone());
        request = request.headers(self.target.headers.clone());
        if let Some(id) = session.id {
            request = request.header(SESSION, id);
        }
        if let Some(revision) = session.revision {
            request = request.header(PROTOCOL_VERSION, revision.as_str());
        }
        request
    }

    fn post(&self, body: Vec<u8>) -> RequestBuilder {
        with_body(self.request(Method::POST), body)
    }

    /// A modern request is self-contained; a legacy one belongs to the session.
    fn post_call(&self, call: &PendingCall, body: Vec<u8>) -> RequestBuilder {
        let Some(head) = &call.head else { return self.post(body) };
        let HttpTarget { http, url, headers, .. } = &self.target;
        let request = http.post(url.clone()).headers(headers.clone());
        with_body(request.headers(head.headers(&call.method)), body)
    }

    fn has_session(&self) -> bool {
        self.session.lock().id.is_some()
    }

    fn as_transport(&self) -> Option<Arc<dyn ClientTransport>> {
        self.this.upgrade().map(|this| this as Arc<dyn ClientTransport>)
    }
}

fn with_body(request: RequestBuilder, body: Vec<u8>) -> RequestBuilder {
    request
        .header(CONTENT_TYPE, "application/json")
        .header(ACCEPT, "application/json, text/event-stream")
        .body(Bytes::from(body))
}

#[async_trait]
impl ClientTransport for StreamableHttp {
    async fn exchange(&self, call: &Arc<PendingCall>, body: Vec<u8>) -> ResponseResult {
        let had_session = call.head.is_none() && self.has_session();
        let request = self.post_call(call, body);
        let response = self.target.send(request).await.map_err(ClientError::unreachable)?;
        if response.status() == StatusCode::NOT_FOUND && had_session {
            return Err(ClientError::SessionExpired);
        }
        if call.method == "initialize" && response.status().is_success() {
            self.session.lock().id = response.headers().get(SESSION).cloned();
        }
        self.read_answer(call, response).await
    }

    async fn send(&self, method: Option<&str>, body: Vec<u8>) -> Result<(), ClientError> {
        let had_session = self.has_session();
        let mut request = self.post(body);
        if let (Some(method), true) = (method, self.hub.is_modern()) {
            request = request.header(METHOD, method);
        }
        let response = self.target.send(request).await.map_err(ClientError::unreachable)?;
        if response.status() == StatusCode::NOT_FOUND && had_session {
            return Err(ClientError::SessionExpired);
        }
        check_status(response).await.map(drop)
    }

    fn send_detached(&self, body: Vec<u8>) {
        // A modern server gets no replies: it sends no requests.
        if !self.hub.is_modern() {
            deliver_detached(self.target.clone(), self.post(body));
        }
    }

    /// For a modern server the closed connection is the cancellation.
    fn cancel(&self, call: &PendingCall, reason: &str) {
        if call.head.is_none() {
            self.send_detached(encode::cancelled(&call.id.into(), reason));
        }
    }

    fn has_headers(&self) -> bool {
        true
    }

    fn take_answer(&self, call: &Arc<PendingCall>, frame: &[u8]) -> Option<ResponseResult> {
        Some(self.read_json(call, frame))
    }

    fn lose_session(&self) -> Option<ClientError> {
        self.has_session().then_some(ClientError::SessionExpired)
    }

    fn reset(&self) {
        let mut session = self.session.lock();
        session.ended.cancel();
        *session = SessionHeaders::default();
    }

    fn negotiated(&self, revision: ProtocolRevision) {
        self.session.lock().revision = Some(revision);
    }

    fn opened(&self) {
        if let Some(this) = self.this.upgrade() {
            let ended = this.session.lock().ended.clone();
            tokio::spawn(this.listen(ended));
        }
    }

    async fn close(&self) {
        if self.has_session() {
            let deletion = self.request(Method::DELETE).timeout(DETACHED_TIMEOUT / 2);
            // Servers may reject the deletion of a session; it then times out.
            self.target.send(deletion).await.ok();
        }
    }
}
