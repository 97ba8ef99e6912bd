//! The GET stream for messages that a server sends on its own.

use std::{sync::Arc, time::Duration};

use http::{Method, StatusCode, header::ACCEPT};
use reqwest::Response;

use super::{
    LAST_EVENT_ID, StreamableHttp,
    response::{ResponseForm, form},
    stream::StreamPosition,
};
use crate::{MAX_MESSAGE_BYTES, client::message_hub::MessageOrigin, sse::SseParser};

const MAX_DELAY: Duration = Duration::from_secs(60);

impl StreamableHttp {
    /// Listens while this session lasts. A server without such a stream rejects the request, which is not an error.
    pub(super) async fn listen(self: Arc<Self>) {
        let generation = self.session.lock().generation;
        let mut position = StreamPosition::default();
        let mut failures = 0_u32;
        while self.session.lock().generation == generation {
            let mut request = self.request(Method::GET).header(ACCEPT, "text/event-stream");
            if let Some(id) = &position.last_event {
                request = request.header(LAST_EVENT_ID, id.clone());
            }
            let response = tokio::select! {
                response = self.target.send(request) => response,
                () = self.hub.stopped() => return,
            };
            match response {
                Ok(response)
                    if response.status() == StatusCode::OK
                        && form(&response) == ResponseForm::Events =>
                {
                    failures = 0;
                    tokio::select! {
                        () = self.read_session_stream(response, &mut position) => {}
                        () = self.hub.stopped() => return,
                    }
                }
                Ok(response) if !response.status().is_server_error() => {
                    tracing::debug!(status = %response.status(), "the server offers no stream to listen on");
                    return;
                }
                Ok(_) | Err(_) => failures = failures.saturating_add(1),
            }
            let delay = position.retry().saturating_mul(2_u32.saturating_pow(failures.min(6)));
            tokio::select! {
                () = tokio::time::sleep(delay.min(MAX_DELAY)) => {}
                () = self.hub.stopped() => return,
            }
        }
    }

    async fn read_session_stream(
        self: &Arc<Self>,
        mut response: Response,
        position: &mut StreamPosition,
    ) {
        let Some(transport) = self.as_transport() else { return };
        let mut parser = SseParser::new(MAX_MESSAGE_BYTES);
        while let Ok(Some(chunk)) = response.chunk().await {
            if parser.push(&chunk).is_err() {
                tracing::warn!("the server sent a message over the limit on its own stream");
                return;
            }
            while let Some(event) = parser.pop() {
                position.note(&event);
                if event.is_message() {
                    self.hub.receive(&event.data, MessageOrigin::Session, &transport);
                }
            }
        }
    }
}
