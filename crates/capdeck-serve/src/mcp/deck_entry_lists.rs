//! Capsule entries in a session of the deck: appended to the deck's lists, with change notifications.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use capdeck_host::{
    CallError, EntryPage, ErrorCode, RawMembers, Session as HostSession, unknown_cursor,
};
use capdeck_mcp::RpcError;
use serde_json::value::RawValue;
use tokio::{sync::Mutex, task::JoinHandle};
use tokio_util::sync::CancellationToken;

use super::{
    client_streams::ClientStreams,
    entry_changes::{EntryListener, EntrySubscriptions},
    page::{ListContinuation, append_items, is_last},
    params,
};

/// Capsules are not read before the client asks for entries.
pub(super) struct DeckEntryLists {
    session: Arc<HostSession>,
    listening: EntryListener,
    is_wanted: AtomicBool,
    following: Mutex<Option<JoinHandle<()>>>,
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
        let (is_wanted, following) = (AtomicBool::new(false), Mutex::default());
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
        let page = match self.session.entries() {
            Some(entries) => entries.resources(Some(&cursor)).await,
            None => Err(unknown_cursor()),
        };
        let page = page.map_err(|error| RpcError::invalid_params(error.message))?;
        let empty = RawValue::from_string("{\"resources\":[]}".to_owned()).unwrap_or_default();
        append_items("resources", empty, &into_continuation(page)).map(Some)
    }

    /// The deck's page of resources; the first entries follow its last page.
    pub(super) async fn after_resources(
        &self,
        own: Box<RawValue>,
    ) -> Result<Box<RawValue>, RpcError> {
        let Some(entries) = self.session.entries().filter(|_| is_last(&own)) else {
            return Ok(own);
        };
        self.follow_lists(true, false).await;
        let page = entries.resources(None).await.unwrap_or_default();
        append_items("resources", own, &into_continuation(page))
    }

    pub(super) async fn after_templates(
        &self,
        own: Box<RawValue>,
    ) -> Result<Box<RawValue>, RpcError> {
        let Some(entries) = self.session.entries().filter(|_| is_last(&own)) else {
            return Ok(own);
        };
        self.follow_lists(true, false).await;
        let items = entries.templates().await;
        append_items("resourceTemplates", own, &ListContinuation { items, next_cursor: None })
    }

    pub(super) async fn after_prompts(
        &self,
        own: Box<RawValue>,
    ) -> Result<Box<RawValue>, RpcError> {
        let Some(entries) = self.session.entries().filter(|_| is_last(&own)) else {
            return Ok(own);
        };
        self.follow_lists(false, true).await;
        let items = entries.prompts().await;
        append_items("prompts", own, &ListContinuation { items, next_cursor: None })
    }

    /// Watches an entry. Returns false if the URI is not an entry.
    pub(super) async fn watch(&self, uri: &str, once: bool) -> Result<bool, CallError> {
        let Some(entries) = self.session.entries() else { return Ok(false) };
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

    /// Notifies that short addresses now belong to another capsule.
    pub(super) fn notify_mount_change(&self) {
        self.listening.notify_lists(true, false);
    }

    /// New capsules may exist since the client started to listen.
    pub(super) fn catalog_changed(self: &Arc<Self>) {
        if self.is_wanted.load(Ordering::Relaxed) && self.session.offers_entries() {
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
        let Some(entries) = self.session.entries() else { return false };
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

fn into_continuation(page: EntryPage) -> ListContinuation {
    ListContinuation { items: page.resources, next_cursor: page.next_cursor }
}
