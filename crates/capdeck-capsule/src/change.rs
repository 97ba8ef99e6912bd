//! Which entries changed, as it happens.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use tokio::sync::broadcast;

use crate::{EntryScope, EntryUri};

/// An entry is not what it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeEvent {
    pub uri: EntryUri,
    pub version: u64,
    pub kind: ChangeKind,
    pub at: Timestamp,
}

/// What happened to an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChangeKind {
    Created,
    Updated,
    Deleted,
    Purged,
}

impl ChangeKind {
    /// The kind of the signal about it.
    pub(crate) fn signal(self) -> &'static str {
        match self {
            Self::Created => "entry.created",
            Self::Updated => "entry.updated",
            Self::Deleted => "entry.deleted",
            Self::Purged => "entry.purged",
        }
    }
}

/// What a subscriber hears next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SubscriptionEvent {
    Change(ChangeEvent),
    /// The subscriber was too slow for some changes; anything may have changed.
    Lagged,
}

/// Changes within what one subscriber reaches, from the moment of subscribing.
#[derive(Debug)]
pub struct ChangeSubscription {
    receiver: broadcast::Receiver<ChangeEvent>,
    scopes: Vec<EntryScope>,
}

impl ChangeSubscription {
    pub(crate) fn new(receiver: broadcast::Receiver<ChangeEvent>) -> Self {
        Self { receiver, scopes: Vec::new() }
    }

    /// Only changes that this scope reaches, too.
    pub fn within(mut self, scope: EntryScope) -> Self {
        self.scopes.push(scope);
        self
    }

    /// Waits for the next change; `None` when the store is gone. Dropping the future loses nothing.
    pub async fn next(&mut self) -> Option<SubscriptionEvent> {
        loop {
            match self.receiver.recv().await {
                Ok(change) if self.scopes.iter().all(|scope| scope.reaches(&change.uri)) => {
                    return Some(SubscriptionEvent::Change(change));
                }
                Ok(_) => {}
                Err(broadcast::error::RecvError::Lagged(_)) => {
                    return Some(SubscriptionEvent::Lagged);
                }
                Err(broadcast::error::RecvError::Closed) => return None,
            }
        }
    }
}
