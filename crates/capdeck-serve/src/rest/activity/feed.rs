//! Collects events of all sources and distributes them, with a short history for reconnects.

use std::{collections::VecDeque, sync::Arc};

use bytes::Bytes;
use capdeck_auth::inbound::{Registry, RegistryEvent};
use capdeck_host::{CapsuleAuthor, CapsuleCaller, CapsuleChanges, Host};
use jiff::Timestamp;
use parking_lot::Mutex;
use tokio::sync::{
    OnceCell,
    broadcast::{self, error::RecvError},
};
use tokio_util::sync::CancellationToken;

use super::{MISSED_FRAME, event::ActivityEvent};

const MAX_HISTORY: usize = 1_000;
/// How far a watcher can fall behind.
const CHANNEL_CAPACITY: usize = 1_024;

/// Collects nothing before the first watcher.
pub(in crate::rest) struct ActivityFeed {
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
    pub(in crate::rest) fn new(host: Host, registry: Option<Registry>) -> Self {
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

    pub(in crate::rest) fn close(&self) {
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
        told: &Result<T, RecvError>,
        make: impl FnOnce(u64, &T) -> Option<ActivityEvent>,
    ) -> bool {
        match told {
            Ok(told) => self.publish(|sequence| make(sequence, told)),
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
    async fn what_the_capsules_lost_is_told_to_everybody_and_remembered() {
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
    async fn lines_that_came_too_fast_are_told_as_missed() {
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
