//! Forwards changes to a client until its session ends.

use std::sync::{Arc, Weak};

use capdeck_host::{CapabilityId, HostEvent, RawMembers, Session as HostSession};
use futures_util::{StreamExt as _, stream::pending};
use serde_json::value::to_raw_value;
use tokio::sync::broadcast::error::RecvError;
use tokio_util::sync::CancellationToken;

use super::{
    client_streams::ClientStreams,
    deck_entry_lists::DeckEntryLists,
    seen_lists::{ListKind, SeenLists},
};

const RESOURCE_UPDATED: &str = "notifications/resources/updated";

/// `None` means missed events.
trait EventReaction: Send + 'static {
    fn react(&self, session: &HostSession, event: Option<&HostEvent>);
}

struct DeckClientReaction {
    seen: Arc<SeenLists>,
    entries: Weak<DeckEntryLists>,
    streams: Arc<ClientStreams>,
}

struct ServerClientReaction {
    id: CapabilityId,
    streams: Arc<ClientStreams>,
}

/// Notifies a client of the deck about changed lists and watched resources.
pub(super) fn deck(
    session: &Arc<HostSession>,
    seen: Arc<SeenLists>,
    entries: &Arc<DeckEntryLists>,
    streams: Arc<ClientStreams>,
    ended: CancellationToken,
) {
    let entries = Arc::downgrade(entries);
    follow(session, DeckClientReaction { seen, entries, streams }, ended);
}

/// Notifies a client of one server about events on a shared connection.
pub(super) fn one_server(
    session: &Arc<HostSession>,
    id: CapabilityId,
    streams: Arc<ClientStreams>,
    ended: CancellationToken,
) {
    follow(session, ServerClientReaction { id, streams }, ended);
}

fn follow(session: &Arc<HostSession>, reaction: impl EventReaction, ended: CancellationToken) {
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
            reaction.react(&session, event.as_ref());
        }
    });
}

impl EventReaction for DeckClientReaction {
    fn react(&self, session: &HostSession, event: Option<&HostEvent>) {
        match event {
            Some(event @ HostEvent::ServerNotified { .. }) => {
                notify_resources(&self.streams, session.watched_resource(event));
                return;
            }
            // The catalog reports changes of the deck.
            Some(HostEvent::TaskChanged { .. } | HostEvent::ListsChanged { .. }) => return,
            Some(HostEvent::CatalogChanged) | None => {}
        }
        if let Some(entries) = self.entries.upgrade() {
            entries.catalog_changed();
        }
        for list in self.seen.take_outdated(session) {
            self.streams.notify(list.changed(), None);
        }
        if event.is_none() {
            notify_resources(&self.streams, session.watched_resources());
        }
    }
}

impl EventReaction for ServerClientReaction {
    fn react(&self, session: &HostSession, event: Option<&HostEvent>) {
        match event {
            Some(HostEvent::CatalogChanged) => {}
            Some(HostEvent::ListsChanged { capability }) => {
                if *capability == self.id
                    && session.snapshot().capability(capability.as_str()).is_ok()
                {
                    self.notify_lists();
                }
            }
            Some(event @ HostEvent::TaskChanged { capability, .. }) => {
                if *capability == self.id
                    && session.snapshot().capability(capability.as_str()).is_ok()
                    && let Some((method, task)) = session.task_notice(event)
                {
                    self.streams.notify(method, Some(task));
                }
            }
            // Events of the session's own connection arrive there.
            _ if !session.shares_connection(self.id.as_str()) => {}
            Some(event @ HostEvent::ServerNotified { capability, method, params, .. }) => {
                if *capability != self.id
                    || session.snapshot().capability(capability.as_str()).is_err()
                {
                    return;
                }
                let concerns_client =
                    method.ends_with("/list_changed") || session.watched_resource(event).is_some();
                if concerns_client {
                    self.streams.notify(method, params.as_deref().cloned());
                }
            }
            None => {
                self.notify_lists();
                notify_resources(&self.streams, session.watched_resources());
            }
        }
    }
}

impl ServerClientReaction {
    fn notify_lists(&self) {
        for list in ListKind::ALL {
            self.streams.notify(list.changed(), None);
        }
    }
}

fn notify_resources(streams: &ClientStreams, resources: impl IntoIterator<Item = String>) {
    for uri in resources {
        if let Ok(uri) = to_raw_value(&uri) {
            let params = RawMembers::from_iter([("uri".to_owned(), uri)]);
            streams.notify(RESOURCE_UPDATED, Some(params));
        }
    }
}
