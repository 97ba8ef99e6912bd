//! `GET /api/activity`: live events, filtered by what the watcher can see.
//!
//! Every event is serialized once and shared by all watchers; a watcher costs one channel receiver.

mod event;
mod feed;

use std::{convert::Infallible, sync::Arc, time::Duration};

use axum::{
    body::Body,
    extract::Request,
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use capdeck_auth::inbound::OperatorSession;
use futures_util::stream;
use http::{HeaderMap, header};
use tokio::sync::broadcast::error::RecvError;

pub(super) use self::feed::ActivityFeed;
use self::feed::FeedSubscription;
use super::{ApiError, RestApi};
use crate::request_actor::RequestActor;

const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(15);
/// Keeps proxies from closing a silent stream.
const KEEP_ALIVE_FRAME: &[u8] = b": alive\n\n";
/// Sent when events were lost.
const MISSED_FRAME: &[u8] = b"event: missed\ndata: {}\n\n";

struct ActivityWatcher {
    rest: Arc<RestApi>,
    actor: RequestActor,
    /// The session id, for watchers with a cookie.
    session: Option<String>,
    watching: FeedSubscription,
}

/// Streams events until the watcher disconnects, loses access, or the host stops.
pub(super) async fn watch(rest: Arc<RestApi>, request: Request) -> Response {
    let Some(actor) = request.extensions().get::<RequestActor>().cloned() else {
        return ApiError::forbidden("sign in first").into_response("");
    };
    if let RequestActor::Share(_) = actor {
        return ApiError::forbidden("a share token cannot watch activity").into_response("");
    }
    let session = request.extensions().get::<Arc<OperatorSession>>();
    let session = session.map(|session| session.id.clone());
    let watching = rest.feed.watch(last_event(request.headers())).await;
    let watcher = ActivityWatcher { rest, actor, session, watching };
    let frames = stream::unfold(watcher, |mut watcher| async move {
        let frame = watcher.next().await?;
        Some((Ok::<_, Infallible>(frame), watcher))
    });
    let headers = [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, "no-store"),
        (header::HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    (headers, Body::from_stream(frames)).into_response()
}

fn last_event(headers: &HeaderMap) -> Option<u64> {
    headers.get("last-event-id")?.to_str().ok()?.trim().parse().ok()
}

impl ActivityWatcher {
    async fn next(&mut self) -> Option<Bytes> {
        if let Some(first) = self.watching.greeting.take() {
            return Some(first);
        }
        loop {
            if let Some(event) = self.watching.waiting.pop_front() {
                // Checked with every event, also hidden ones: one of them may end the watcher's access.
                if !self.is_still_authorized() {
                    return None;
                }
                if event.is_for(&self.rest, &self.actor) {
                    return Some(event.frame.clone());
                }
                continue;
            }
            let told = tokio::select! {
                told = tokio::time::timeout(KEEP_ALIVE_INTERVAL, self.watching.news.recv()) => told,
                () = self.watching.closed.cancelled() => return None,
            };
            match told {
                Ok(Ok(event)) => self.watching.waiting.push_back(event),
                Ok(Err(RecvError::Lagged(_))) => return Some(Bytes::from_static(MISSED_FRAME)),
                Ok(Err(RecvError::Closed)) => return None,
                Err(_silence) if self.is_still_authorized() => {
                    return Some(Bytes::from_static(KEEP_ALIVE_FRAME));
                }
                Err(_silence) => return None,
            }
        }
    }

    /// True while the watcher has the same access as at the start.
    fn is_still_authorized(&self) -> bool {
        let registry = self.rest.http_state.registry();
        match &self.actor {
            RequestActor::Owner => true,
            RequestActor::Operator(known) => registry.is_some_and(|registry| {
                let now = match &self.session {
                    Some(session) => registry.sessions().operator_of(session),
                    None => registry.operators().standing(&known.id),
                };
                now.is_some_and(|now| now.role == known.role)
            }),
            RequestActor::Credential(client) => {
                registry.is_some_and(|registry| registry.access(&client.credential).is_some())
            }
            RequestActor::Share(_) => false,
        }
    }
}
