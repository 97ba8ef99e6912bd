//! Tells a client what changes in capsules: one at their endpoint, and one of a deck. What it may not see never gets
//! here.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use capdeck_host::{CapsuleChange, CapsuleChanges, Change, ChangeKind, EntryPlace, RawObject};
use capdeck_mcp::RpcError;
use parking_lot::Mutex;
use serde_json::value::to_raw_value;
use tokio_util::sync::CancellationToken;

use super::{client_streams::ClientStreams, seen_lists::List};

/// How many entries one client may watch.
const MOST_WATCHED: usize = 1_024;

/// Schemes whose entries are no prompts in any capsule.
const NO_PROMPTS: [&str; 5] = ["docs", "guidance", "notes", "config", "api-data"];

/// What a client wants to hear of. A list that a legacy client never read cannot be outdated.
#[derive(Debug, Default)]
pub(super) struct Watched {
    resources: AtomicBool,
    prompts: AtomicBool,
    entries: Mutex<Vec<WatchedEntry>>,
}

#[derive(Debug)]
struct WatchedEntry {
    /// What the client calls it.
    shown: String,
    place: EntryPlace,
}

/// One client that is told.
#[derive(Clone)]
pub(super) struct Listening {
    /// The id of the only capsule it is told of, where there is one.
    pub(super) capsule: Option<String>,
    pub(super) watched: Arc<Watched>,
    pub(super) streams: Arc<ClientStreams>,
}

impl Watched {
    pub(super) fn note_resources(&self) {
        self.resources.store(true, Ordering::Relaxed);
    }

    pub(super) fn note_prompts(&self) {
        self.prompts.store(true, Ordering::Relaxed);
    }

    /// Watches an entry once more. A client that listens on several streams may watch it on each.
    pub(super) fn watch(&self, shown: &str, place: EntryPlace) -> Result<(), RpcError> {
        let mut entries = self.entries.lock();
        if entries.len() >= MOST_WATCHED {
            let message = format!("no more than {MOST_WATCHED} entries can be watched");
            return Err(RpcError::new(RpcError::REFUSED, message));
        }
        entries.push(WatchedEntry { shown: shown.to_owned(), place });
        Ok(())
    }

    /// Watches it once less. False when it was not watched.
    pub(super) fn unwatch(&self, shown: &str) -> bool {
        let mut entries = self.entries.lock();
        let place = entries.iter().position(|entry| entry.shown == shown);
        place.map(|place| entries.swap_remove(place)).is_some()
    }

    /// True when the client watches it.
    pub(super) fn is_watched(&self, shown: &str) -> bool {
        self.entries.lock().iter().any(|entry| entry.shown == shown)
    }

    /// What the client calls the watched entries that are meant, each once.
    fn shown(&self, is_meant: impl Fn(&EntryPlace) -> bool) -> Vec<String> {
        let entries = self.entries.lock();
        let meant = entries.iter().filter(|entry| is_meant(&entry.place));
        let mut shown: Vec<String> = meant.map(|entry| entry.shown.clone()).collect();
        shown.sort();
        shown.dedup();
        shown
    }
}

impl Listening {
    /// Passes changes on until the session ends, or until there will be no more.
    pub(super) async fn follow(self, mut changes: CapsuleChanges, ended: CancellationToken) {
        loop {
            let change = tokio::select! {
                change = changes.next() => change,
                () = ended.cancelled() => return,
            };
            match change {
                Some(CapsuleChange::Entry { capsule: changed, change, .. }) => {
                    if self.capsule.as_ref().is_none_or(|capsule| *capsule == changed) {
                        self.tell_change(&changed, &change);
                    }
                }
                Some(CapsuleChange::Capsules) => self.tell_lists(true, true),
                Some(CapsuleChange::Missed) => self.tell_everything(),
                None => return,
            }
        }
    }

    /// Tells that the lists may be others than those that the client knows.
    pub(super) fn tell_lists(&self, resources: bool, prompts: bool) {
        let is_modern = self.streams.is_modern();
        if resources && (is_modern || self.watched.resources.load(Ordering::Relaxed)) {
            self.streams.tell(List::Resources.changed(), None);
        }
        if prompts && (is_modern || self.watched.prompts.load(Ordering::Relaxed)) {
            self.streams.tell(List::Prompts.changed(), None);
        }
    }

    fn tell_change(&self, capsule: &str, change: &Change) {
        let is_listed_anew = change.kind != ChangeKind::Updated;
        let is_prompt = !NO_PROMPTS.contains(&change.uri.scheme());
        self.tell_lists(is_listed_anew, is_prompt);
        let is_changed = |place: &EntryPlace| {
            place.uri == change.uri.as_str()
                && place.capsule.as_ref().is_none_or(|watched| watched == capsule)
        };
        self.tell_updated(self.watched.shown(is_changed));
    }

    /// Tells that anything may have changed.
    pub(super) fn tell_everything(&self) {
        self.tell_lists(true, true);
        self.tell_updated(self.watched.shown(|_| true));
    }

    fn tell_updated(&self, shown: Vec<String>) {
        for uri in shown {
            if let Ok(uri) = to_raw_value(&uri) {
                let params = RawObject::from_iter([("uri".to_owned(), uri)]);
                self.streams.tell("notifications/resources/updated", Some(params));
            }
        }
    }
}
