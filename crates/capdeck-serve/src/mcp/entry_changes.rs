//! Notifies a client of changes in capsules, at their endpoints and in a deck. Changes out of the client's reach are filtered
//! before.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use capdeck_host::{
    CapsuleChange, CapsuleChanges, ChangeEvent, ChangeKind, EntryAddress, RawMembers,
};
use capdeck_mcp::RpcError;
use parking_lot::Mutex;
use serde_json::value::to_raw_value;
use tokio_util::sync::CancellationToken;

use super::{client_streams::ClientStreams, seen_lists::ListKind};

/// Limit per client.
const MAX_WATCHED_ENTRIES: usize = 1_024;

/// Schemes whose entries are never prompts.
const NO_PROMPTS: [&str; 5] = ["docs", "guidance", "notes", "config", "api-data"];

/// A list that a legacy client never read cannot be outdated.
#[derive(Debug, Default)]
pub(super) struct EntrySubscriptions {
    resources: AtomicBool,
    prompts: AtomicBool,
    entries: Mutex<Vec<WatchedEntry>>,
}

#[derive(Debug)]
struct WatchedEntry {
    shown: String,
    place: EntryAddress,
}

#[derive(Clone)]
pub(super) struct EntryListener {
    /// The id of the only capsule to report, if any.
    pub(super) capsule: Option<String>,
    pub(super) watched: Arc<EntrySubscriptions>,
    pub(super) streams: Arc<ClientStreams>,
}

impl EntrySubscriptions {
    pub(super) fn mark_resources_read(&self) {
        self.resources.store(true, Ordering::Relaxed);
    }

    pub(super) fn mark_prompts_read(&self) {
        self.prompts.store(true, Ordering::Relaxed);
    }

    /// Adds a watch. A client can watch an entry on several streams.
    pub(super) fn watch(&self, shown: &str, place: EntryAddress) -> Result<(), RpcError> {
        let mut entries = self.entries.lock();
        if entries.len() >= MAX_WATCHED_ENTRIES {
            let message = format!(
                "this client already watches {MAX_WATCHED_ENTRIES} entries; unsubscribe from one first"
            );
            return Err(RpcError::new(RpcError::REFUSED, message));
        }
        entries.push(WatchedEntry { shown: shown.to_owned(), place });
        Ok(())
    }

    /// Removes one watch. Returns false if there is none.
    pub(super) fn unwatch(&self, shown: &str) -> bool {
        let mut entries = self.entries.lock();
        let place = entries.iter().position(|entry| entry.shown == shown);
        place.map(|place| entries.swap_remove(place)).is_some()
    }

    pub(super) fn is_watched(&self, shown: &str) -> bool {
        self.entries.lock().iter().any(|entry| entry.shown == shown)
    }

    /// The URIs of the matching watched entries, each once.
    fn watched_uris(&self, is_meant: impl Fn(&EntryAddress) -> bool) -> Vec<String> {
        let entries = self.entries.lock();
        let meant = entries.iter().filter(|entry| is_meant(&entry.place));
        let mut shown: Vec<String> = meant.map(|entry| entry.shown.clone()).collect();
        shown.sort();
        shown.dedup();
        shown
    }
}

impl EntryListener {
    /// Forwards changes until the session or the stream ends.
    pub(super) async fn follow(self, mut changes: CapsuleChanges, ended: CancellationToken) {
        loop {
            let change = tokio::select! {
                change = changes.next() => change,
                () = ended.cancelled() => return,
            };
            match change {
                Some(CapsuleChange::Entry { capsule: changed, change, .. }) => {
                    if self.capsule.as_ref().is_none_or(|capsule| *capsule == changed) {
                        self.notify_change(&changed, &change);
                    }
                }
                Some(CapsuleChange::Capsules) => self.notify_lists(true, true),
                Some(CapsuleChange::Missed) => self.notify_everything(),
                None => return,
            }
        }
    }

    pub(super) fn notify_lists(&self, resources: bool, prompts: bool) {
        let is_modern = self.streams.is_modern();
        if resources && (is_modern || self.watched.resources.load(Ordering::Relaxed)) {
            self.streams.notify(ListKind::Resources.changed(), None);
        }
        if prompts && (is_modern || self.watched.prompts.load(Ordering::Relaxed)) {
            self.streams.notify(ListKind::Prompts.changed(), None);
        }
    }

    fn notify_change(&self, capsule: &str, change: &ChangeEvent) {
        let is_listed_anew = change.kind != ChangeKind::Updated;
        let is_prompt = !NO_PROMPTS.contains(&change.uri.scheme());
        self.notify_lists(is_listed_anew, is_prompt);
        let is_changed = |place: &EntryAddress| {
            place.uri == change.uri.as_str()
                && place.capsule.as_ref().is_none_or(|watched| watched == capsule)
        };
        self.notify_updated(self.watched.watched_uris(is_changed));
    }

    pub(super) fn notify_everything(&self) {
        self.notify_lists(true, true);
        self.notify_updated(self.watched.watched_uris(|_| true));
    }

    fn notify_updated(&self, shown: Vec<String>) {
        for uri in shown {
            if let Ok(uri) = to_raw_value(&uri) {
                let params = RawMembers::from_iter([("uri".to_owned(), uri)]);
                self.streams.notify("notifications/resources/updated", Some(params));
            }
        }
    }
}
