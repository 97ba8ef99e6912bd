//! `GET /api/activity`: live events, filtered by what the watcher can see.
//!
//! Every event is serialized once and shared by all watchers; a watcher costs one channel receiver.

use std::{collections::VecDeque, convert::Infallible, sync::Arc, time::Duration};

use axum::{
    body::Body,
    extract::Request,
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use capdeck_auth::inbound::{
    OperatorRole, OperatorSession, Registry, RegistryEvent, capsule_id_of,
};
use capdeck_host::{
    CapsuleAuthor, CapsuleCaller, CapsuleChange, CapsuleChanges, ChangeKind, Host, TrailLine,
};
use futures_util::stream;
use http::{HeaderMap, header};
use jiff::Timestamp;
use parking_lot::Mutex;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::{
    OnceCell,
    broadcast::{self, error::RecvError},
};
use tokio_util::sync::CancellationToken;

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
            let received = tokio::select! {
                received = tokio::time::timeout(KEEP_ALIVE_INTERVAL, self.watching.news.recv()) => received,
                () = self.watching.closed.cancelled() => return None,
            };
            match received {
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

/// Serialized once for all watchers.
#[derive(Debug)]
pub(super) struct ActivityEvent {
    pub(super) sequence: u64,
    pub(super) frame: Bytes,
    /// `None`: for all watchers.
    about: Option<ActivitySubject>,
}

#[derive(Debug, Default)]
struct ActivitySubject {
    source: ActivitySource,
    capsule: Option<String>,
    /// The principals that caused it or are affected.
    principals: Vec<String>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum ActivitySource {
    #[default]
    Deck,
    Capsules,
    Registry,
}

impl ActivityEvent {
    /// The members of the message follow its sequence and source; those that are null are left out.
    fn new(sequence: u64, about: ActivitySubject, members: Value) -> Self {
        let mut message = json!({ "seq": sequence, "source": about.source });
        if let (Value::Object(message), Value::Object(members)) = (&mut message, members) {
            message.extend(members.into_iter().filter(|(_, value)| !value.is_null()));
        }
        let frame = format!("id: {sequence}\nevent: audit\ndata: {message}\n\n");
        Self { sequence, frame: frame.into(), about: Some(about) }
    }

    /// Reports lost events to all watchers.
    pub(super) fn missed(sequence: u64) -> Self {
        let frame = format!("id: {sequence}\nevent: missed\ndata: {{}}\n\n");
        Self { sequence, frame: frame.into(), about: None }
    }

    /// From a line of the deck's audit trail.
    pub(super) fn of_deck(sequence: u64, line: &str) -> Option<Self> {
        let line: TrailLine = serde_json::from_str(line).ok()?;
        let members = json!({
            "at": line.at,
            "action": line.method,
            "outcome": line.outcome,
            "capability": line.capability,
            "tool": line.tool,
            "client": line.client,
            "elapsed_ms": line.elapsed_ms,
        });
        Some(Self::new(sequence, ActivitySubject::default(), members))
    }

    pub(super) fn of_capsules(sequence: u64, change: &CapsuleChange) -> Self {
        let (capsule, key, change) = match change {
            CapsuleChange::Entry { capsule, key, change } => (capsule, key, change),
            CapsuleChange::Capsules => {
                let source = ActivitySource::Capsules;
                let about = ActivitySubject { source, ..ActivitySubject::default() };
                let now = Timestamp::now();
                let members = json!({ "at": now, "action": "capsules.changed", "outcome": "ok" });
                return Self::new(sequence, about, members);
            }
            CapsuleChange::Missed => return Self::missed(sequence),
        };
        let action = match change.kind {
            ChangeKind::Created => "entry.created",
            ChangeKind::Updated => "entry.updated",
            ChangeKind::Deleted => "entry.deleted",
            ChangeKind::Purged => "entry.purged",
        };
        let members = json!({
            "at": change.at,
            "action": action,
            "outcome": "ok",
            "capsule": capsule,
            "uri": change.uri.to_string(),
            "version": change.version,
        });
        let about = ActivitySubject {
            source: ActivitySource::Capsules,
            capsule: Some(key.clone()),
            principals: Vec::new(),
        };
        Self::new(sequence, about, members)
    }

    pub(super) fn of_registry(sequence: u64, event: &RegistryEvent) -> Self {
        let outcome = match (event.error_code, event.is_refused) {
            (None, _) => "ok",
            (Some(_), true) => "denied",
            (Some(_), false) => "error",
        };
        let subject = &event.subject;
        let members = json!({
            "at": event.at,
            "action": event.action,
            "outcome": outcome,
            "error_code": event.error_code,
            "capsule": subject.capsule.as_deref().map(capsule_id_of),
            "actor": Some(&event.actor).filter(|actor| !actor.is_empty()),
            "principal": subject.principal,
            "id": subject.id,
        });
        let principals = [Some(event.actor.clone()), subject.principal.clone()];
        let about = ActivitySubject {
            source: ActivitySource::Registry,
            capsule: subject.capsule.clone(),
            principals: principals.into_iter().flatten().filter(|id| !id.is_empty()).collect(),
        };
        Self::new(sequence, about, members)
    }

    /// Admins see everything, approvers what they can decide, others what they own and what concerns them.
    pub(super) fn is_for(&self, rest: &RestApi, actor: &RequestActor) -> bool {
        let Some(ActivitySubject { source, capsule, principals }) = &self.about else {
            return true;
        };
        let registry = rest.http_state.registry();
        let owns = |id: &str| {
            let capsule = capsule.as_deref();
            let owner = capsule.and_then(|capsule| registry?.capsules().owner(capsule));
            owner.as_deref() == Some(id)
        };
        match actor {
            RequestActor::Owner => true,
            RequestActor::Operator(operator) => match operator.role {
                OperatorRole::Admin => true,
                OperatorRole::Approver if *source == ActivitySource::Registry => true,
                OperatorRole::Approver | OperatorRole::Member => {
                    owns(&operator.id) || principals.contains(&operator.id)
                }
            },
            RequestActor::Credential(client) => principals.contains(&client.principal),
            RequestActor::Share(_) => false,
        }
    }
}

const MAX_HISTORY: usize = 1_000;
/// How far a watcher can fall behind.
const CHANNEL_CAPACITY: usize = 1_024;

/// Collects nothing before the first watcher.
pub(super) struct ActivityFeed {
    host: Host,
    registry: Option<Registry>,
    shared: Arc<FeedState>,
    gathering: OnceCell<()>,
    closed: CancellationToken,
}

#[derive(Debug)]
struct FeedState {
    news: broadcast::Sender<Arc<ActivityEvent>>,
    memory: Mutex<FeedHistory>,
}

#[derive(Debug)]
struct FeedHistory {
    /// Increases across restarts, too.
    next: u64,
    events: VecDeque<Arc<ActivityEvent>>,
}

pub(super) struct FeedSubscription {
    pub(super) greeting: Option<Bytes>,
    pub(super) waiting: VecDeque<Arc<ActivityEvent>>,
    pub(super) news: broadcast::Receiver<Arc<ActivityEvent>>,
    pub(super) closed: CancellationToken,
}

impl ActivityFeed {
    pub(super) fn new(host: Host, registry: Option<Registry>) -> Self {
        // Larger than any count of an earlier run, and still exact as a JavaScript number.
        let started = u64::try_from(Timestamp::now().as_millisecond()).unwrap_or_default();
        let memory = FeedHistory { next: started * 1_000, events: VecDeque::new() };
        let news = broadcast::Sender::new(CHANNEL_CAPACITY);
        Self {
            host,
            registry,
            shared: Arc::new(FeedState { news, memory: Mutex::new(memory) }),
            gathering: OnceCell::new(),
            closed: CancellationToken::new(),
        }
    }

    pub(super) async fn watch(&self, last: Option<u64>) -> FeedSubscription {
        self.gathering.get_or_init(|| self.gather()).await;
        let memory = self.shared.memory.lock();
        // Under the lock, no event falls between the history and the subscription.
        let news = self.shared.news.subscribe();
        let (mut waiting, mut has_missed) = (VecDeque::new(), false);
        if let Some(last) = last {
            waiting.extend(memory.events.iter().filter(|event| event.sequence > last).cloned());
            let oldest = memory.events.front().map_or(memory.next, |event| event.sequence);
            has_missed = last.saturating_add(1) < oldest;
        }
        drop(memory);
        // Send something immediately, so that the client sees an open stream.
        let greeting = if has_missed { MISSED_FRAME } else { b": watching\n\n" };
        FeedSubscription {
            greeting: Some(Bytes::from_static(greeting)),
            waiting,
            news,
            closed: self.closed.clone(),
        }
    }

    pub(super) fn close(&self) {
        self.closed.cancel();
    }

    async fn gather(&self) {
        let mut sources = FeedSources {
            lines: self.host.audited(),
            registry: self.registry.as_ref().map(Registry::changes),
            capsules: capsule_changes(&self.host).await,
        };
        let (shared, closed) = (Arc::clone(&self.shared), self.closed.clone());
        tokio::spawn(async move { while sources.publish_next(&shared, &closed).await {} });
    }
}

struct FeedSources {
    lines: broadcast::Receiver<Arc<str>>,
    registry: Option<broadcast::Receiver<RegistryEvent>>,
    capsules: Option<CapsuleChanges>,
}

impl FeedSources {
    /// Publishes the next event; false at the end of all sources.
    async fn publish_next(&mut self, shared: &FeedState, closed: &CancellationToken) -> bool {
        tokio::select! {
            line = self.lines.recv() => shared.publish_received(&line, |sequence, line| ActivityEvent::of_deck(sequence, line)),
            event = next_event(&mut self.registry) => {
                shared.publish_received(&event, |sequence, event| Some(ActivityEvent::of_registry(sequence, event)))
            }
            change = next_capsule(&mut self.capsules) => {
                match change {
                    Some(change) => shared.publish(|sequence| Some(ActivityEvent::of_capsules(sequence, &change))),
                    None => self.capsules = None,
                }
                true
            }
            () = closed.cancelled() => false,
        }
    }
}

impl FeedState {
    fn publish(&self, make: impl FnOnce(u64) -> Option<ActivityEvent>) {
        let mut memory = self.memory.lock();
        let Some(event) = make(memory.next).map(Arc::new) else { return };
        memory.next += 1;
        memory.events.push_back(Arc::clone(&event));
        if memory.events.len() > MAX_HISTORY {
            memory.events.pop_front();
        }
        // There may be no watchers.
        drop(self.news.send(event));
    }

    /// Publishes an event of a channel, or that some were lost. False at the end.
    fn publish_received<T>(
        &self,
        received: &Result<T, RecvError>,
        make: impl FnOnce(u64, &T) -> Option<ActivityEvent>,
    ) -> bool {
        match received {
            Ok(received) => self.publish(|sequence| make(sequence, received)),
            Err(RecvError::Lagged(_)) => {
                self.publish(|sequence| Some(ActivityEvent::missed(sequence)));
            }
            Err(RecvError::Closed) => return false,
        }
        true
    }
}

async fn capsule_changes(host: &Host) -> Option<CapsuleChanges> {
    let caller = CapsuleCaller::local(CapsuleAuthor::client("capdeck"));
    let changes = host.capsules()?.changes(caller).await;
    changes.inspect_err(|error| tracing::warn!(%error, "cannot follow changes of capsules")).ok()
}

async fn next_event<T: Clone>(
    changes: &mut Option<broadcast::Receiver<T>>,
) -> Result<T, RecvError> {
    match changes {
        Some(changes) => changes.recv().await,
        None => std::future::pending().await,
    }
}

async fn next_capsule(changes: &mut Option<CapsuleChanges>) -> Option<capdeck_host::CapsuleChange> {
    match changes {
        Some(changes) => changes.next().await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use capdeck_host::CapsuleChange;
    use futures_util::stream;

    use super::*;

    fn shared() -> FeedState {
        let memory = FeedHistory { next: 1, events: VecDeque::new() };
        FeedState { news: broadcast::Sender::new(CHANNEL_CAPACITY), memory: Mutex::new(memory) }
    }

    fn frames(shared: &FeedState) -> Vec<String> {
        let memory = shared.memory.lock();
        let text = |event: &Arc<ActivityEvent>| String::from_utf8_lossy(&event.frame).into_owned();
        memory.events.iter().map(text).collect()
    }

    #[tokio::test]
    async fn what_the_capsules_lost_is_reported_to_all_and_remembered() {
        let (shared, closed) = (shared(), CancellationToken::new());
        let mut watching = shared.news.subscribe();
        let (_keeps_open, lines) = broadcast::channel(1);
        let lost = stream::iter([CapsuleChange::Missed, CapsuleChange::Capsules]);
        let capsules = Some(CapsuleChanges::new(lost));
        let mut sources = FeedSources { lines, registry: None, capsules };
        for _ in 0..3 {
            assert!(sources.publish_next(&shared, &closed).await);
        }
        assert!(sources.capsules.is_none(), "their end is not the end of the others");
        assert_eq!(frames(&shared)[0], "id: 1\nevent: missed\ndata: {}\n\n");
        assert!(frames(&shared)[1].contains("capsules.changed"));
        assert_eq!(watching.try_recv().unwrap().sequence, 1);
    }

    #[tokio::test]
    async fn lines_that_came_too_fast_are_reported_as_missed() {
        let (shared, closed) = (shared(), CancellationToken::new());
        let (sender, lines) = broadcast::channel(1);
        for _ in 0..3 {
            sender.send(Arc::from("{}")).unwrap();
        }
        let mut sources = FeedSources { lines, registry: None, capsules: None };
        assert!(sources.publish_next(&shared, &closed).await);
        assert_eq!(frames(&shared), ["id: 1\nevent: missed\ndata: {}\n\n"]);
        closed.cancel();
        drop(sender);
        // Deliver what is left in the channel, then end.
        while sources.publish_next(&shared, &closed).await {}
    }
}
