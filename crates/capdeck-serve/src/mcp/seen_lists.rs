//! Tracks which lists a client has read and whether they have changed.

use std::hash::{DefaultHasher, Hash, Hasher};

use capdeck_host::Session as HostSession;
use parking_lot::Mutex;
use serde_json::value::RawValue;

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
        let view = session.view();
        match self {
            Self::Tools => digest(&[view.tools()], false),
            Self::Resources => {
                let lists = [&*view.resources(), &*view.resource_templates()];
                digest(&lists, session.offers_entries())
            }
            Self::Prompts => digest(&[&view.prompts()], session.offers_entries()),
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
