//! Forwards changes to a client until its session ends, and tracks which lists it has read.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    sync::Arc,
};

use capdeck_host::{CapabilityId, HostEvent, Session as HostSession, tasks};
use futures_util::{StreamExt as _, stream::pending};
use parking_lot::Mutex;
use serde_json::value::RawValue;
use tokio::sync::broadcast::error::RecvError;
use tokio_util::sync::CancellationToken;

use super::{client_streams::ClientStreams, entry_changes::DeckEntryLists};

/// Notifies a client of the deck about changed lists and watched resources.
pub(super) fn deck(
    session: &Arc<HostSession>,
    seen: Arc<SeenLists>,
    entries: &Arc<DeckEntryLists>,
    streams: Arc<ClientStreams>,
    ended: CancellationToken,
) {
    let entries = Arc::downgrade(entries);
    follow(session, ended, move |session, event| {
        match event {
            Some(event @ HostEvent::ServerNotified { .. }) => {
                streams.notify_updated(session.watched_resource(event));
                return;
            }
            // The catalog reports changes of the deck.
            Some(HostEvent::TaskChanged { .. } | HostEvent::ListsChanged { .. }) => return,
            Some(HostEvent::CatalogChanged) | None => {}
        }
        if let Some(entries) = entries.upgrade() {
            entries.catalog_changed();
        }
        for list in seen.take_outdated(session) {
            streams.notify(list.changed(), None);
        }
        if event.is_none() {
            streams.notify_updated(session.watched_resources());
        }
    });
}

/// Notifies a client of one server about events on a shared connection.
pub(super) fn one_server(
    session: &Arc<HostSession>,
    id: CapabilityId,
    streams: Arc<ClientStreams>,
    ended: CancellationToken,
) {
    let notify_lists = {
        let streams = Arc::clone(&streams);
        move || ListKind::ALL.iter().for_each(|list| streams.notify(list.changed(), None))
    };
    follow(session, ended, move |session, event| {
        let is_visible = || session.snapshot().capability(id.as_str()).is_ok();
        match event {
            Some(HostEvent::CatalogChanged) => {}
            Some(HostEvent::ListsChanged { capability }) => {
                if *capability == id && is_visible() {
                    notify_lists();
                }
            }
            Some(event @ HostEvent::TaskChanged { capability, .. }) => {
                if *capability == id
                    && is_visible()
                    && let Some((method, task)) = tasks::notice(session, event)
                {
                    streams.notify(method, Some(task));
                }
            }
            // Events of the session's own connection arrive there.
            _ if !session.shares_connection(id.as_str()) => {}
            Some(event @ HostEvent::ServerNotified { capability, method, params, .. }) => {
                let concerns_client = || {
                    method.ends_with("/list_changed") || session.watched_resource(event).is_some()
                };
                if *capability == id && is_visible() && concerns_client() {
                    streams.notify(method, params.as_deref().cloned());
                }
            }
            None => {
                notify_lists();
                streams.notify_updated(session.watched_resources());
            }
        }
    });
}

/// Reacts to every event; `None` means missed events.
fn follow(
    session: &Arc<HostSession>,
    ended: CancellationToken,
    react: impl Fn(&HostSession, Option<&HostEvent>) + Send + 'static,
) {
    let mut events = session.host().events();
    let mut grants = session.grant_changes().unwrap_or_else(|| pending().boxed());
    let session = Arc::downgrade(session);
    tokio::spawn(async move {
        loop {
            let event = tokio::select! {
                event = events.recv() => event,
                // Changed grants mean another catalog.
                Some(()) = grants.next() => Ok(HostEvent::CatalogChanged),
                () = ended.cancelled() => return,
            };
            let event = match event {
                Ok(event) => Some(event),
                Err(RecvError::Lagged(_)) => None,
                Err(RecvError::Closed) => return,
            };
            let Some(session) = session.upgrade() else { return };
            react(&session, event.as_ref());
        }
    });
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ListKind {
    Tools,
    Resources,
    Prompts,
}

/// A digest per list. A list that was never read cannot be outdated.
#[derive(Debug, Default)]
pub(super) struct SeenLists(Mutex<[Option<u64>; 3]>);

impl ListKind {
    pub(super) const ALL: [Self; 3] = [Self::Tools, Self::Resources, Self::Prompts];

    pub(super) fn changed(self) -> &'static str {
        match self {
            Self::Tools => "notifications/tools/list_changed",
            Self::Resources => "notifications/resources/list_changed",
            Self::Prompts => "notifications/prompts/list_changed",
        }
    }

    fn read(self, session: &HostSession) -> u64 {
        let deck = session.snapshot();
        let view = deck.view();
        match self {
            Self::Tools => digest(&[view.tools()], false),
            Self::Resources => {
                let lists = [&*view.resources(), &*view.resource_templates()];
                digest(&lists, deck.offers_entries())
            }
            Self::Prompts => digest(&[&view.prompts()], deck.offers_entries()),
        }
    }
}

impl SeenLists {
    pub(super) fn record_read(&self, list: ListKind, session: &HostSession) {
        let now = list.read(session);
        if let Some(seen) = self.0.lock().get_mut(list as usize) {
            *seen = Some(now);
        }
    }

    /// The client listens for changes of this list, independent of what it reads.
    pub(super) fn record_subscription(&self, list: ListKind, session: &HostSession) {
        let now = list.read(session);
        if let Some(seen) = self.0.lock().get_mut(list as usize) {
            seen.get_or_insert(now);
        }
    }

    pub(super) fn take_outdated(&self, session: &HostSession) -> Vec<ListKind> {
        let mut outdated = Vec::new();
        for list in ListKind::ALL {
            let Some(before) = self.0.lock().get(list as usize).copied().flatten() else {
                continue;
            };
            if list.read(session) != before {
                outdated.push(list);
                self.record_read(list, session);
            }
        }
        outdated
    }
}

/// Detects a change without a copy of every list. Capsule entries report their own changes, so only their presence counts.
fn digest(lists: &[&RawValue], with_entries: bool) -> u64 {
    let mut hasher = DefaultHasher::new();
    with_entries.hash(&mut hasher);
    for list in lists {
        list.get().hash(&mut hasher);
    }
    hasher.finish()
}
