//! Tells a client what changes in its capsule. What it may not see never gets here.

use std::{
    collections::HashSet,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use capdeck_host::{CapsuleChange, CapsuleChanges, Change, ChangeKind, RawObject};
use capdeck_mcp::RpcError;
use parking_lot::Mutex;
use serde_json::value::to_raw_value;
use tokio_util::sync::CancellationToken;

use crate::mcp::{client_streams::ClientStreams, seen_lists::List};

/// How many entries one client may watch.
const MOST_WATCHED: usize = 1_024;

/// Longer addresses than any entry has.
const LONGEST_ADDRESS: usize = 1_024;

/// Schemes whose entries are no prompts in any capsule.
const NO_PROMPTS: [&str; 5] = ["docs", "guidance", "notes", "config", "api-data"];

/// What a legacy client wants to hear of. A list that it never read cannot be outdated.
#[derive(Debug, Default)]
pub(super) struct Watched {
    resources: AtomicBool,
    prompts: AtomicBool,
    uris: Mutex<HashSet<String>>,
}

impl Watched {
    pub(super) fn note_resources(&self) {
        self.resources.store(true, Ordering::Relaxed);
    }

    pub(super) fn note_prompts(&self) {
        self.prompts.store(true, Ordering::Relaxed);
    }

    pub(super) fn watch(&self, uri: &str) -> Result<(), RpcError> {
        check_address(uri)?;
        let mut uris = self.uris.lock();
        if uris.len() >= MOST_WATCHED && !uris.contains(uri) {
            let message = format!("no more than {MOST_WATCHED} entries can be watched");
            return Err(RpcError::new(RpcError::REFUSED, message));
        }
        uris.insert(uri.to_owned());
        Ok(())
    }

    pub(super) fn unwatch(&self, uri: &str) {
        self.uris.lock().remove(uri);
    }
}

/// Refuses what can be no address of an entry.
pub(super) fn check_address(uri: &str) -> Result<(), RpcError> {
    if uri.contains("://") && uri.len() <= LONGEST_ADDRESS {
        return Ok(());
    }
    Err(RpcError::invalid_params("`uri` must be the address of an entry, such as docs://api"))
}

/// One client that is told.
pub(super) struct Listening {
    /// The id of the only capsule it is told of, where there is one.
    pub(super) capsule: Option<String>,
    pub(super) watched: Arc<Watched>,
    pub(super) streams: Arc<ClientStreams>,
}

/// Passes changes on until the session ends.
pub(super) fn follow(mut changes: CapsuleChanges, client: Listening, ended: CancellationToken) {
    let Listening { capsule, watched, streams } = client;
    tokio::spawn(async move {
        loop {
            let change = tokio::select! {
                change = changes.next() => change,
                () = ended.cancelled() => return,
            };
            match change {
                Some(CapsuleChange::Entry { capsule: changed, change }) => {
                    if capsule.as_ref().is_none_or(|capsule| *capsule == changed) {
                        tell_change(&change, &watched, &streams);
                    }
                }
                Some(CapsuleChange::Capsules) => tell_lists(true, true, &watched, &streams),
                Some(CapsuleChange::Missed) => tell_everything(&watched, &streams),
                None => return,
            }
        }
    });
}

fn tell_change(change: &Change, watched: &Watched, streams: &ClientStreams) {
    let is_listed_anew = change.kind != ChangeKind::Updated;
    let is_prompt = !NO_PROMPTS.contains(&change.uri.scheme());
    tell_lists(is_listed_anew, is_prompt, watched, streams);
    let uri = change.uri.to_string();
    // A modern client names what it watches on each of its streams.
    if streams.is_modern() || watched.uris.lock().contains(&uri) {
        tell_updated(&uri, streams);
    }
}

fn tell_lists(resources: bool, prompts: bool, watched: &Watched, streams: &ClientStreams) {
    let is_modern = streams.is_modern();
    if resources && (is_modern || watched.resources.load(Ordering::Relaxed)) {
        streams.tell(List::Resources.changed(), None);
    }
    if prompts && (is_modern || watched.prompts.load(Ordering::Relaxed)) {
        streams.tell(List::Prompts.changed(), None);
    }
}

fn tell_everything(watched: &Watched, streams: &ClientStreams) {
    tell_lists(true, true, watched, streams);
    let mut uris: Vec<String> = watched.uris.lock().iter().cloned().collect();
    uris.extend(streams.watched_resources());
    for uri in uris {
        tell_updated(&uri, streams);
    }
}

fn tell_updated(uri: &str, streams: &ClientStreams) {
    if let Ok(uri) = to_raw_value(uri) {
        let params = RawObject::from_iter([("uri".to_owned(), uri)]);
        streams.tell("notifications/resources/updated", Some(params));
    }
}
