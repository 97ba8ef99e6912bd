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

/// Everything that happens in all capsules.
#[derive(Debug)]
pub(super) struct Hub {
    news: broadcast::Sender<News>,
    followed: Mutex<HashMap<String, JoinHandle<()>>>,
}

#[derive(Debug, Clone)]
enum News {
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

impl Default for Hub {
    fn default() -> Self {
        Self { news: broadcast::Sender::new(MAX_WAITING), followed: Mutex::default() }
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        for (_, task) in self.followed.lock().drain() {
            task.abort();
        }
    }
}

impl Hub {
    /// Passes on what changes in the capsule from now on.
    pub(super) fn follow(&self, capsule: &CapsuleInfo, store: &dyn Store) {
        let key = capsule.key();
        let mut followed = self.followed.lock();
        if followed.get(&key).is_some_and(|task| !task.is_finished()) {
            return;
        }
        let (news, mut changes) = (self.news.clone(), store.changes());
        let (id, of) = (Arc::<str>::from(&*capsule.id), Arc::<str>::from(&*key));
        let task = tokio::spawn(async move {
            loop {
                let (capsule, key) = (Arc::clone(&id), Arc::clone(&of));
                let event = match changes.recv().await {
                    Ok(change) => News::Entry { capsule, key, change },
                    Err(RecvError::Lagged(_)) => News::Missed { key },
                    Err(RecvError::Closed) => return,
                };
                // There may be no subscriber.
                let _unread = news.send(event);
            }
        });
        followed.insert(key, task);
    }

    /// Sends that capsules or shares were made, changed or removed.
    pub(super) fn capsules_changed(&self) {
        let _unread = self.news.send(News::Capsules);
    }
}

impl LocalCapsuleService {
    /// What changes within the caller's reach. Shares are looked up with every change.
    pub(super) fn listen(&self, caller: CapsuleCaller) -> CapsuleChanges {
        let receiver = self.hub.news.subscribe();
        let start = (self.clone(), caller, receiver);
        CapsuleChanges::new(stream::unfold(start, |(service, caller, mut receiver)| async move {
            loop {
                let change = match receiver.recv().await {
                    Ok(news) => service.visible(&caller, news),
                    Err(RecvError::Lagged(_)) => Some(CapsuleChange::Missed),
                    Err(RecvError::Closed) => return None,
                };
                if let Some(change) = change {
                    return Some((change, (service, caller, receiver)));
                }
            }
        }))
    }

    fn visible(&self, caller: &CapsuleCaller, news: News) -> Option<CapsuleChange> {
        let reaches = |key: &str, change: Option<&ChangeEvent>| {
            self.resolve(caller).reached.iter().any(|(info, access)| {
                info.has_key(key) && change.is_none_or(|change| access.scope.reaches(&change.uri))
            })
        };
        match news {
            News::Entry { capsule, key, change } => reaches(&key, Some(&change)).then(|| {
                CapsuleChange::Entry { capsule: capsule.to_string(), key: key.to_string(), change }
            }),
            News::Missed { key } => reaches(&key, None).then_some(CapsuleChange::Missed),
            News::Capsules => Some(CapsuleChange::Capsules),
        }
    }
}
