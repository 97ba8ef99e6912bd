//! What happens, as it happens: `GET /api/activity`, for everyone as far as they may see it.
//!
//! Every event is written once and shared by all who watch; each of them has a place in one channel and nothing more.

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

pub(super) use self::feed::Feed;
use self::feed::Watching;
use super::{Rest, problem::ApiError};
use crate::actor::Actor;

/// How long nothing may be sent.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// Keeps proxies from closing a silent stream.
const ALIVE: &[u8] = b": alive\n\n";
/// Some events are lost to whoever reads this.
const MISSED: &[u8] = b"event: missed\ndata: {}\n\n";

/// One who watches.
struct Watcher {
    rest: Arc<Rest>,
    actor: Actor,
    /// The id of the session that they came with, for those who came with a cookie.
    session: Option<String>,
    watching: Watching,
}

/// Answers with events until whoever watches goes away, may no longer watch, or the host stops.
pub(super) async fn watch(rest: Arc<Rest>, request: Request) -> Response {
    let Some(actor) = request.extensions().get::<Actor>().cloned() else {
        return ApiError::forbidden("nobody is signed in").answer("");
    };
    if let Actor::Share(_) = actor {
        return ApiError::forbidden("a share has nothing to watch here").answer("");
    }
    let session = request.extensions().get::<Arc<OperatorSession>>();
    let session = session.map(|session| session.id.clone());
    let watching = rest.feed.watch(last_event(request.headers())).await;
    let watcher = Watcher { rest, actor, session, watching };
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

/// The last event that whoever comes back has seen.
fn last_event(headers: &HeaderMap) -> Option<u64> {
    headers.get("last-event-id")?.to_str().ok()?.trim().parse().ok()
}

impl Watcher {
    /// The next bytes to send; `None` at the end.
    async fn next(&mut self) -> Option<Bytes> {
        if let Some(first) = self.watching.greeting.take() {
            return Some(first);
        }
        loop {
            if let Some(event) = self.watching.waiting.pop_front() {
                // Asked with every event, also those of others: the one that ends their right to watch is among them.
                if !self.is_still_in() {
                    return None;
                }
                if event.is_for(&self.rest, &self.actor) {
                    return Some(event.frame.clone());
                }
                continue;
            }
            let told = tokio::select! {
                told = tokio::time::timeout(KEEP_ALIVE, self.watching.news.recv()) => told,
                () = self.watching.closed.cancelled() => return None,
            };
            match told {
                Ok(Ok(event)) => self.watching.waiting.push_back(event),
                Ok(Err(RecvError::Lagged(_))) => return Some(Bytes::from_static(MISSED)),
                Ok(Err(RecvError::Closed)) => return None,
                Err(_silence) if self.is_still_in() => return Some(Bytes::from_static(ALIVE)),
                Err(_silence) => return None,
            }
        }
    }

    /// Whether whoever watches would still be let in, as who they were when they came.
    fn is_still_in(&self) -> bool {
        let registry = self.rest.http_state.registry();
        match &self.actor {
            Actor::Owner => true,
            Actor::Operator(known) => registry.is_some_and(|registry| {
                let now = match &self.session {
                    Some(session) => registry.operator_of_session(session),
                    None => registry.operator_standing(&known.id),
                };
                now.is_some_and(|now| now.role == known.role)
            }),
            Actor::Credential(client) => {
                registry.is_some_and(|registry| registry.access(&client.credential).is_some())
            }
            Actor::Share(_) => false,
        }
    }
}
