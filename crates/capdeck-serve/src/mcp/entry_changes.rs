//! Capsule entries in sessions: in the lists of a deck, and with notifications of their changes, at endpoints of capsules and in
//! a deck. Changes out of the client's reach are filtered before.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use capdeck_host::{
    CallError, CapsuleChange, CapsuleChanges, ChangeEvent, ChangeKind, EntryAddress, EntryPage,
    ErrorCode, RawMembers, Session as HostSession, unknown_cursor,
};
use capdeck_mcp::RpcError;
use parking_lot::Mutex;
use serde_json::{Value, json, value::RawValue};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::{
    client_streams::ClientStreams,
    event_reaction::ListKind,
    page::{append_items, is_last},
    params::{self, MethodResult, raw},
};

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
        self.streams.notify_updated(self.watched.watched_uris(is_changed));
    }

    pub(super) fn notify_everything(&self) {
        self.notify_lists(true, true);
        self.streams.notify_updated(self.watched.watched_uris(|_| true));
    }
}

/// Capsules are not read before the client asks for entries.
pub(super) struct DeckEntryLists {
    session: Arc<HostSession>,
    pub(super) listening: EntryListener,
    is_wanted: AtomicBool,
    following: tokio::sync::Mutex<Option<JoinHandle<()>>>,
    ended: CancellationToken,
}

impl DeckEntryLists {
    pub(super) fn new(
        session: Arc<HostSession>,
        streams: Arc<ClientStreams>,
        ended: CancellationToken,
    ) -> Arc<Self> {
        let listening =
            EntryListener { capsule: None, watched: Arc::<EntrySubscriptions>::default(), streams };
        let (is_wanted, following) = (AtomicBool::new(false), tokio::sync::Mutex::default());
        Arc::new(Self { session, listening, is_wanted, following, ended })
    }

    /// A page of resources when the cursor belongs to entries.
    pub(super) async fn page(
        &self,
        params: Option<&RawMembers>,
    ) -> Result<Option<Box<RawValue>>, RpcError> {
        let cursor = params.map(params::cursor).transpose()?.flatten();
        let Some(cursor) = cursor.filter(|cursor| EntryPage::is_entry_uri(cursor)) else {
            return Ok(None);
        };
        let page = match self.session.snapshot().entries() {
            Some(entries) => entries.resources(Some(&cursor)).await,
            None => Err(unknown_cursor()),
        };
        let page = page.map_err(|error| RpcError::invalid_params(error.message))?;
        append_items("resources", raw(&json!({ "resources": [] }))?, &page).map(Some)
    }

    /// The deck's page of a list; the first entries follow its last page.
    pub(super) async fn append_to(&self, key: &str, own: Box<RawValue>) -> MethodResult {
        let Some(entries) = self.session.snapshot().entries().filter(|_| is_last(&own)) else {
            return Ok(own);
        };
        let is_prompts = key == "prompts";
        self.follow_lists(!is_prompts, is_prompts).await;
        let page = match key {
            "resources" => entries.resources(None).await.unwrap_or_default(),
            "resourceTemplates" => into_page(entries.templates().await),
            _ => into_page(entries.prompts().await),
        };
        append_items(key, own, &page)
    }

    /// Watches an entry. Returns false if the URI is not an entry.
    pub(super) async fn watch(&self, uri: &str, once: bool) -> Result<bool, CallError> {
        let Some(entries) = self.session.snapshot().entries() else { return Ok(false) };
        let Some(place) = entries.to_watch(uri).await else { return Ok(false) };
        self.follow().await;
        let watched = &self.listening.watched;
        if once && watched.is_watched(uri) {
            return Ok(true);
        }
        let watching = watched.watch(uri, place);
        watching.map_err(|error| CallError::new(ErrorCode::RequestInvalid, error.message))?;
        Ok(true)
    }

    /// Returns false if no watched entry has this URI.
    pub(super) fn unwatch(&self, uri: &str) -> bool {
        self.listening.watched.unwatch(uri)
    }

    pub(super) async fn follow_lists(&self, resources: bool, prompts: bool) {
        if resources {
            self.listening.watched.mark_resources_read();
        }
        if prompts {
            self.listening.watched.mark_prompts_read();
        }
        self.follow().await;
    }

    /// New capsules may exist since the client started to listen.
    pub(super) fn catalog_changed(self: &Arc<Self>) {
        if self.is_wanted.load(Ordering::Relaxed) && self.session.snapshot().offers_entries() {
            let entries = Arc::clone(self);
            tokio::spawn(async move {
                // Changes before the subscription are reported immediately.
                if entries.follow().await {
                    entries.listening.notify_everything();
                }
            });
        }
    }

    /// Subscribes to changes if there are entries. Returns true if the subscription is new.
    async fn follow(&self) -> bool {
        self.is_wanted.store(true, Ordering::Relaxed);
        let mut following = self.following.lock().await;
        if following.as_ref().is_some_and(|task| !task.is_finished()) {
            return false;
        }
        let Some(entries) = self.session.snapshot().entries() else { return false };
        match entries.changes().await {
            Ok(changes) => {
                let task = self.listening.clone().follow(changes, self.ended.clone());
                *following = Some(tokio::spawn(task));
                true
            }
            Err(failure) => {
                tracing::warn!(%failure, "cannot follow changes of capsules");
                false
            }
        }
    }
}

/// Entries that are all on one page.
fn into_page(resources: Vec<Value>) -> EntryPage {
    EntryPage { resources, next_cursor: None }
}
