//! Tells subscribers what changes in all capsules, within what each of them reaches.
//!
//! Entries change only in stores that are open, so a capsule is followed from the moment it is opened, and a subscriber
//! opens nothing.

use std::{collections::HashMap, sync::Arc};

use capdeck_auth::inbound::is_capsule_key;
use capdeck_capsule::{Change, FileStore, Heard, Store as _};
use futures_util::stream;
use parking_lot::Mutex;
use tokio::{sync::broadcast, task::JoinHandle};

use super::LocalDesk;
use crate::capsules::{CapsuleCaller, CapsuleChange, CapsuleChanges};

/// Changes that wait for a slow subscriber.
const WAITING: usize = 1_024;

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
        change: Change,
    },
    /// Changes of the capsule with this key were too many to tell.
    Missed {
        key: Arc<str>,
    },
    Capsules,
}

impl Default for Hub {
    fn default() -> Self {
        Self { news: broadcast::Sender::new(WAITING), followed: Mutex::default() }
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
    /// Passes on what changes in the capsule with this id and this key from now on.
    pub(super) fn follow(&self, capsule: &str, key: &str, store: &FileStore) {
        let mut followed = self.followed.lock();
        if followed.get(key).is_some_and(|task| !task.is_finished()) {
            return;
        }
        let (news, mut changes) = (self.news.clone(), store.changes());
        let (id, of) = (Arc::<str>::from(capsule), Arc::<str>::from(key));
        let task = tokio::spawn(async move {
            while let Some(heard) = changes.next().await {
                let (capsule, key) = (Arc::clone(&id), Arc::clone(&of));
                // Nobody may be listening.
                let _nobody = news.send(match heard {
                    Heard::Change(change) => News::Entry { capsule, key, change },
                    Heard::Missed => News::Missed { key },
                });
            }
        });
        followed.insert(key.to_owned(), task);
    }

    /// Tells that capsules or shares were made, changed or taken away.
    pub(super) fn capsules_changed(&self) {
        let _nobody = self.news.send(News::Capsules);
    }
}

impl LocalDesk {
    /// What changes within the caller's reach. Shares are looked up with every change.
    pub(super) fn listen(&self, caller: CapsuleCaller) -> CapsuleChanges {
        let receiver = self.hub.news.subscribe();
        let start = (self.clone(), caller, receiver);
        CapsuleChanges::new(stream::unfold(start, |(desk, caller, mut receiver)| async move {
            loop {
                let told = match receiver.recv().await {
                    Ok(news) => desk.visible(&caller, news),
                    Err(broadcast::error::RecvError::Lagged(_)) => Some(CapsuleChange::Missed),
                    Err(broadcast::error::RecvError::Closed) => return None,
                };
                if let Some(change) = told {
                    return Some((change, (desk, caller, receiver)));
                }
            }
        }))
    }

    fn visible(&self, caller: &CapsuleCaller, news: News) -> Option<CapsuleChange> {
        let reaches = |key: &str, change: Option<&Change>| {
            self.admit(caller).reached.iter().any(|(info, access)| {
                is_capsule_key(key, &info.id, &info.uid)
                    && change.is_none_or(|change| access.scope.reaches(&change.uri))
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
