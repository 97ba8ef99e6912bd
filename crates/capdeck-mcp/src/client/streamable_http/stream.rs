//! Reads the response to one request: JSON, or an event stream that may break and be resumed. Also listens on the GET
//! stream for messages that a server sends on its own.

use std::{sync::Arc, time::Duration};

use http::{HeaderValue, Method, StatusCode, header::ACCEPT};
use reqwest::Response;

use tokio_util::sync::CancellationToken;

use super::{
    StreamableHttp,
    response::{ResponseForm, check_status, form, read_message},
};
use crate::{
    RpcFrame, RpcMessage,
    client::{
        ClientError,
        call::{PendingCall, ResponseResult},
        message_hub::{MessageOrigin, excerpt},
        sse_reader::SseReader,
    },
    request_head::LAST_EVENT_ID,
    sse::SseEvent,
};

const DEFAULT_RETRY: Duration = Duration::from_secs(1);

const MAX_EMPTY_RESUMES: u32 = 3;

#[derive(Debug, Default)]
struct StreamPosition {
    last_event: Option<HeaderValue>,
    retry: Option<Duration>,
}

impl StreamPosition {
    fn note(&mut self, event: &SseEvent) {
        if let Some(id) = &event.id {
            self.last_event = HeaderValue::from_str(id).ok().filter(|id| !id.is_empty());
        }
        self.retry = event.retry.or(self.retry);
    }

    fn retry(&self) -> Duration {
        self.retry.unwrap_or(DEFAULT_RETRY)
    }
}

enum StreamReadResult {
    Answer(ResponseResult),
    /// The stream ended first; true when it had at least one event.
    Ended(bool),
}

impl StreamableHttp {
    pub(super) async fn read_answer(
        &self,
        call: &Arc<PendingCall>,
        response: Response,
    ) -> ResponseResult {
        let response = check_status(response).await?;
        match form(&response) {
            ResponseForm::Events => self.read_events(call, response).await,
            ResponseForm::Json => {
                let (body, room) = read_message(response).await?;
                call.keep_room(room);
                self.read_json(call, &body)
            }
            ResponseForm::Other if response.status() == StatusCode::ACCEPTED => {
                Err(ClientError::protocol(format!(
                    "`{}` was accepted like a notification, without an answer",
                    call.method
                )))
            }
            ResponseForm::Other => Err(ClientError::protocol(format!(
                "the answer to `{}` is neither JSON nor an event stream",
                call.method
            ))),
        }
    }

    pub(super) fn read_json(&self, call: &Arc<PendingCall>, body: &[u8]) -> ResponseResult {
        self.take_messages(call, body).unwrap_or_else(|| {
            Err(ClientError::protocol(format!(
                "the answer to `{}` is for another request: {}",
                call.method,
                excerpt(body)
            )))
        })
    }

    async fn read_events(&self, call: &Arc<PendingCall>, response: Response) -> ResponseResult {
        let mut position = StreamPosition::default();
        let mut fruitless = 0;
        let mut reading = self.read_stream(call, response, &mut position).await;
        loop {
            match reading {
                StreamReadResult::Answer(outcome) => return outcome,
                StreamReadResult::Ended(true) => fruitless = 0,
                StreamReadResult::Ended(false) => fruitless += 1,
            }
            // A modern request is not resumed: the closed connection cancelled it at the server.
            let resumable = position.last_event.clone().filter(|_| call.head.is_none());
            let Some(last_event) = resumable else {
                return Err(ClientError::protocol(format!(
                    "the event stream ended before the answer to `{}`",
                    call.method
                )));
            };
            if fruitless >= MAX_EMPTY_RESUMES {
                return Err(ClientError::protocol(format!(
                    "the event stream broke before the answer to `{}` and could not be resumed",
                    call.method
                )));
            }
            if let Some(events) = &call.events {
                events.paused();
            }
            tokio::time::sleep(position.retry()).await;
            reading = match self.resume(last_event).await {
                Ok(response) => self.read_stream(call, response, &mut position).await,
                Err(ClientError::Unreachable { .. }) => StreamReadResult::Ended(false),
                Err(error) => return Err(error),
            };
        }
    }

    async fn resume(&self, last_event: HeaderValue) -> Result<Response, ClientError> {
        let request = self.request(Method::GET).header(ACCEPT, "text/event-stream");
        let request = request.header(LAST_EVENT_ID, last_event);
        let response = self.target.send(request).await.map_err(ClientError::unreachable)?;
        let response = check_status(response).await?;
        if form(&response) == ResponseForm::Events {
            Ok(response)
        } else {
            Err(ClientError::protocol("a resumed stream is not an event stream"))
        }
    }

    async fn read_stream(
        &self,
        call: &Arc<PendingCall>,
        response: Response,
        position: &mut StreamPosition,
    ) -> StreamReadResult {
        let mut events = SseReader::new(response);
        let mut any = false;
        loop {
            let event = match events.next().await {
                Ok(Some(event)) => event,
                Err(error @ ClientError::TooLarge { .. }) => {
                    return StreamReadResult::Answer(Err(error));
                }
                // A broken connection is resumed like an ended one.
                Ok(None) | Err(_) => return StreamReadResult::Ended(any),
            };
            any = true;
            position.note(&event);
            if event.is_message()
                && let Some(outcome) = self.take_messages(call, &event.data)
            {
                call.keep_room(events.take_room());
                return StreamReadResult::Answer(outcome);
            }
        }
    }

    /// Dispatches the messages of a frame, and returns the answer to the call or what is wrong with it.
    fn take_messages(&self, call: &Arc<PendingCall>, frame: &[u8]) -> Option<ResponseResult> {
        let Some(transport) = self.as_transport() else {
            return Some(Err(self.hub.closed_error()));
        };
        let messages = match RpcFrame::parse(frame) {
            Ok(RpcFrame::Single(message)) => vec![Ok(message)],
            Ok(RpcFrame::Batch(parts)) => parts,
            Err(malformed) => vec![Err(malformed)],
        };
        let mut answer = None;
        for message in messages {
            match message {
                Ok(RpcMessage::Response { id, outcome }) if id.as_counter() == Some(call.id) => {
                    answer = Some(outcome.map_err(ClientError::Rpc));
                }
                Ok(message) => {
                    let origin = MessageOrigin::Call(call);
                    self.hub.receive_message(message, None, origin, &transport);
                }
                Err(malformed) => {
                    let message = format!(
                        "the answer to `{}` cannot be read: {}: {}",
                        call.method,
                        malformed.error.message,
                        excerpt(frame)
                    );
                    return Some(Err(ClientError::Protocol { message }));
                }
            }
        }
        answer
    }
}

const MAX_DELAY: Duration = Duration::from_secs(60);

impl StreamableHttp {
    /// Listens until the session has ended. A server without such a stream rejects the request, which is not an error.
    pub(super) async fn listen(self: Arc<Self>, ended: CancellationToken) {
        let mut position = StreamPosition::default();
        let mut failures = 0_u32;
        while !ended.is_cancelled() {
            let mut request = self.request(Method::GET).header(ACCEPT, "text/event-stream");
            if let Some(id) = &position.last_event {
                request = request.header(LAST_EVENT_ID, id.clone());
            }
            let response = tokio::select! {
                response = self.target.send(request) => response,
                () = self.hub.stopped() => return,
                () = ended.cancelled() => return,
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
                        () = ended.cancelled() => return,
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
                () = ended.cancelled() => return,
            }
        }
    }

    async fn read_session_stream(
        self: &Arc<Self>,
        response: Response,
        position: &mut StreamPosition,
    ) {
        let Some(transport) = self.as_transport() else { return };
        let mut events = SseReader::new(response);
        loop {
            match events.next().await {
                Ok(Some(event)) => {
                    position.note(&event);
                    if event.is_message() {
                        let room = events.take_room();
                        self.hub.receive(&event.data, room, MessageOrigin::Session, &transport);
                    }
                }
                Err(ClientError::TooLarge { .. }) => {
                    tracing::warn!("the server sent a message over the limit on its own stream");
                    return;
                }
                Ok(None) | Err(_) => return,
            }
        }
    }
}
