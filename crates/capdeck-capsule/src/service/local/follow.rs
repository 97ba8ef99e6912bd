//! Sends to subscribers what changes in all capsules, within what each of them reaches.
//!
//! Entries change only in stores that are open, so a capsule is followed from the moment it is opened, and a subscriber
//! opens nothing.

use std::{collections::HashMap, sync::Arc};

use futures_util::stream;
use parking_lot::Mutex;
use tokio::{
    sync::broadcast::{self, error::RecvError},
    task::JoinHandle,
};

use super::LocalCapsuleService;
use crate::{
    CapsuleInfo, ChangeEvent, Store,
    service::{CapsuleCaller, CapsuleChange, CapsuleChanges},
};

/// Changes that wait for a slow subscriber.
const MAX_WAITING: usize = 1_024;

/// Sends the changes of all capsules to their subscribers.
#[derive(Debug)]
pub(super) struct ChangeBroadcaster {
    events: broadcast::Sender<CapsuleEvent>,
    followed: Mutex<HashMap<String, JoinHandle<()>>>,
}

#[derive(Debug, Clone)]
enum CapsuleEvent {
    Entry {
        capsule: Arc<str>,
        key: Arc<str>,
        change: ChangeEvent,
    },
    /// Changes of the capsule with this key were too many to send.
    Missed {
        key: Arc<str>,
    },
    Capsules,
}

impl Default for ChangeBroadcaster {
    fn default() -> Self {
        Self { events: broadcast::Sender::new(MAX_WAITING), followed: Mutex::default() }
    }
}

impl Drop for ChangeBroadcaster {
    fn drop(&mut self) {
        for (_, task) in self.followed.lock().drain() {
            task.abort();
        }
    }
}

impl ChangeBroadcaster {
    /// Passes on what changes in the capsule from now on.
    pub(super) fn follow(&self, capsule: &CapsuleInfo, store: &dyn Store) {
        let key = capsule.key();
        let mut followed = self.followed.lock();
        if followed.get(&key).is_some_and(|task| !task.is_finished()) {
            return;
        }
        let (events, mut changes) = (self.events.clone(), store.changes());
        let (id, of) = (Arc::<str>::from(&*capsule.id), Arc::<str>::from(&*key));
        let task = tokio::spawn(async move {
            loop {
                let (capsule, key) = (Arc::clone(&id), Arc::clone(&of));
                let event = match changes.recv().await {
                    Ok(change) => CapsuleEvent::Entry { capsule, key, change },
                    Err(RecvError::Lagged(_)) => CapsuleEvent::Missed { key },
                    Err(RecvError::Closed) => return,
                };
                // There may be no subscriber.
                let _unread = events.send(event);
            }
        });
        followed.insert(key, task);
    }

    /// Sends that capsules or shares were made, changed or removed.
    pub(super) fn capsules_changed(&self) {
        let _unread = self.events.send(CapsuleEvent::Capsules);
    }
}

impl LocalCapsuleService {
    /// What changes within the caller's reach. Shares are looked up with every change.
    pub(super) fn listen(&self, caller: CapsuleCaller) -> CapsuleChanges {
        let receiver = self.broadcaster.events.subscribe();
        let start = (self.clone(), caller, receiver);
        CapsuleChanges::new(stream::unfold(start, |(service, caller, mut receiver)| async move {
            loop {
                let change = match receiver.recv().await {
                    Ok(event) => service.visible(&caller, event),
                    Err(RecvError::Lagged(_)) => Some(CapsuleChange::Missed),
                    Err(RecvError::Closed) => return None,
                };
                if let Some(change) = change {
                    return Some((change, (service, caller, receiver)));
                }
            }
        }))
    }

    fn visible(&self, caller: &CapsuleCaller, event: CapsuleEvent) -> Option<CapsuleChange> {
        let reaches = |key: &str, change: Option<&ChangeEvent>| {
            self.resolve(caller).reached.iter().any(|(info, access)| {
                info.has_key(key) && change.is_none_or(|change| access.scope.reaches(&change.uri))
            })
        };
        match event {
            CapsuleEvent::Entry { capsule, key, change } => {
                reaches(&key, Some(&change)).then(|| CapsuleChange::Entry {
                    capsule: capsule.to_string(),
                    key: key.to_string(),
                    change,
                })
            }
            CapsuleEvent::Missed { key } => reaches(&key, None).then_some(CapsuleChange::Missed),
            CapsuleEvent::Capsules => Some(CapsuleChange::Capsules),
        }
    }
}
