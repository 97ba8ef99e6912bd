//! Which lists a client has read, and whether they are still the same.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    sync::Arc,
};

use capdeck_host::{HostEvent, Session as HostSession};
use capdeck_mcp::server::Peer;
use parking_lot::Mutex;
use serde_json::value::RawValue;
use tokio::sync::broadcast::error::RecvError;
use tokio_util::sync::CancellationToken;

/// The lists that can change under a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum List {
    Tools,
    Resources,
    Prompts,
}

/// What a client was last given of each list. A list it never read cannot be outdated.
#[derive(Debug, Default)]
pub(super) struct SeenLists(Mutex<[Option<u64>; 3]>);

impl List {
    const ALL: [Self; 3] = [Self::Tools, Self::Resources, Self::Prompts];

    fn changed(self) -> &'static str {
        match self {
            Self::Tools => "notifications/tools/list_changed",
            Self::Resources => "notifications/resources/list_changed",
            Self::Prompts => "notifications/prompts/list_changed",
        }
    }

    fn read(self, session: &HostSession) -> u64 {
        let view = session.view();
        match self {
            Self::Tools => digest(&[view.tools()]),
            Self::Resources => digest(&[&view.resources(), &view.resource_templates()]),
            Self::Prompts => digest(&[&view.prompts()]),
        }
    }
}

impl SeenLists {
    /// The client is being given this list as it is now.
    pub(super) fn note(&self, list: List, session: &HostSession) {
        let now = list.read(session);
        if let Some(seen) = self.0.lock().get_mut(list as usize) {
            *seen = Some(now);
        }
    }

    /// The lists that differ from what the client read; they count as read from now on.
    fn outdated(&self, session: &HostSession) -> Vec<List> {
        let mut outdated = Vec::new();
        for list in List::ALL {
            let Some(before) = self.0.lock().get(list as usize).copied().flatten() else {
                continue;
            };
            if list.read(session) != before {
                outdated.push(list);
                self.note(list, session);
            }
        }
        outdated
    }
}

/// Tells the client when a list it has read is no longer the same, until the session ends.
pub(super) fn tell_about_changes(
    session: &Arc<HostSession>,
    seen: Arc<SeenLists>,
    peer: Peer,
    ended: CancellationToken,
) {
    let mut events = session.host().events();
    let session = Arc::downgrade(session);
    tokio::spawn(async move {
        loop {
            let event = tokio::select! {
                event = events.recv() => event,
                () = ended.cancelled() => return,
            };
            match event {
                Ok(HostEvent::CatalogChanged) | Err(RecvError::Lagged(_)) => {}
                Ok(HostEvent::ServerNotified { .. }) => continue,
                Err(RecvError::Closed) => return,
            }
            let Some(session) = session.upgrade() else { return };
            for list in seen.outdated(&session) {
                peer.notify(list.changed(), None);
            }
        }
    });
}

/// Enough to notice a change without keeping a second copy of every list.
fn digest(lists: &[&RawValue]) -> u64 {
    let mut hasher = DefaultHasher::new();
    for list in lists {
        list.get().hash(&mut hasher);
    }
    hasher.finish()
}
