//! The older HTTP+SSE transport: one event stream, another address for posts.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE};
use url::Url;

use super::{
    ClientError, HttpTarget,
    call::{ClientTransport, PendingCall, ResponseResult},
    message_hub::{MessageHub, MessageOrigin},
    sse_reader::SseReader,
    streamable_http::{check_status, deliver_detached},
};

struct LegacySse {
    hub: Arc<MessageHub>,
    target: HttpTarget,
    endpoint: Url,
}

pub(super) async fn open(
    target: HttpTarget,
    hub: &Arc<MessageHub>,
) -> Result<Arc<dyn ClientTransport>, ClientError> {
    let request = target.http.get(target.url.clone()).headers(target.headers.clone());
    let request = request.header(ACCEPT, "text/event-stream");
    let response = target.send(request).await.map_err(ClientError::unreachable)?;
    let response = check_status(response).await?;
    let mut events = SseReader::new(response);
    let endpoint = loop {
        match events.next().await? {
            Some(event) if event.name.as_deref() == Some("endpoint") => {
                break parse_endpoint(&target.url, &event.data)?;
            }
            Some(_) => {}
            None => {
                let message = "the event stream ended before the `endpoint` event";
                return Err(ClientError::protocol(message));
            }
        }
    };
    let transport: Arc<dyn ClientTransport> =
        Arc::new(LegacySse { hub: Arc::clone(hub), target, endpoint });
    let (hub, replies) = (Arc::clone(hub), Arc::clone(&transport));
    tokio::spawn(async move {
        loop {
            let event = tokio::select! {
                event = events.next() => event,
                () = hub.stopped() => return,
            };
            match event {
                Ok(Some(event)) if event.is_message() => {
                    hub.receive(
                        &event.data,
                        events.take_room(),
                        MessageOrigin::Connection,
                        &replies,
                    );
                }
                Ok(Some(_)) => {}
                Ok(None) => return hub.end("the server closed the event stream"),
                Err(error) => {
                    hub.fail_calls(&error);
                    return hub.end(error.to_string());
                }
            }
        }
    });
    Ok(transport)
}

/// An endpoint at another origin could send our credentials to another site.
fn parse_endpoint(base: &Url, data: &[u8]) -> Result<Url, ClientError> {
    let endpoint = std::str::from_utf8(data)
        .ok()
        .and_then(|text| base.join(text.trim()).ok())
        .ok_or_else(|| ClientError::protocol("the `endpoint` event holds no address"))?;
    if endpoint.origin() != base.origin() {
        let message = format!(
            "the `endpoint` event points to another origin: `{}`",
            endpoint.origin().ascii_serialization()
        );
        return Err(ClientError::protocol(message));
    }
    Ok(endpoint)
}

impl LegacySse {
    fn post(&self, body: Vec<u8>) -> reqwest::RequestBuilder {
        self.target
            .http
            .post(self.endpoint.clone())
            .headers(self.target.headers.clone())
            .header(CONTENT_TYPE, "application/json")
            .body(Bytes::from(body))
    }
}

#[async_trait]
impl ClientTransport for LegacySse {
    async fn exchange(&self, call: &Arc<PendingCall>, body: Vec<u8>) -> ResponseResult {
        let outcome = call.outcome();
        tokio::pin!(outcome);
        // The response may arrive before the reply to the post.
        let sent = self.send(None, body);
        tokio::pin!(sent);
        tokio::select! {
            biased;
            outcome = &mut outcome => return outcome.unwrap_or_else(|_| Err(self.hub.closed_error())),
            sent = &mut sent => sent?,
        }
        outcome.await.unwrap_or_else(|_| Err(self.hub.closed_error()))
    }

    async fn send(&self, _method: Option<&str>, body: Vec<u8>) -> Result<(), ClientError> {
        let response = self.target.send(self.post(body)).await.map_err(ClientError::unreachable)?;
        check_status(response).await.map(drop)
    }

    fn send_detached(&self, body: Vec<u8>) {
        deliver_detached(self.target.clone(), self.post(body));
    }

    /// The stream is the session.
    fn lose_session(&self) -> Option<ClientError> {
        self.hub.end("the server forgot the session");
        Some(self.hub.closed_error())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_is_relative_or_of_the_same_origin() {
        let base = Url::parse("http://127.0.0.1:1/a/sse").unwrap();
        let found = |text: &str| parse_endpoint(&base, text.as_bytes()).map(String::from);
        assert_eq!(found("/message?s=1").unwrap(), "http://127.0.0.1:1/message?s=1");
        assert_eq!(found("http://127.0.0.1:1/m\n").unwrap(), "http://127.0.0.1:1/m");
        for elsewhere in ["http://127.0.0.1:2/m", "https://127.0.0.1:1/m", "//evil.example/m"] {
            assert!(found(elsewhere).is_err(), "{elsewhere}");
        }
    }
}
