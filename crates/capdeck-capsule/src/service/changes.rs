//! What subscribers get.

use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll},
};

use futures_util::{Stream, StreamExt as _};
use serde::{Deserialize, Serialize};

use crate::ChangeEvent;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "changed", rename_all = "snake_case")]
pub enum CapsuleChange {
    /// An entry of the capsule with this id and this key.
    Entry { capsule: String, key: String, change: ChangeEvent },
    /// Which capsules the caller reaches, or what they are called, or which part of them is open.
    Capsules,
    /// The subscriber was too slow, or the process that has the capsules is another one now: anything may have changed.
    Missed,
}

/// Changes within the reach of one caller, from the moment of subscribing.
pub struct CapsuleChanges(Pin<Box<dyn Stream<Item = CapsuleChange> + Send>>);

impl CapsuleChanges {
    pub fn new(stream: impl Stream<Item = CapsuleChange> + Send + 'static) -> Self {
        Self(Box::pin(stream))
    }

    /// Waits for the next change; `None` when there will be no more. Dropping the future loses nothing.
    pub async fn next(&mut self) -> Option<CapsuleChange> {
        self.0.next().await
    }
}

impl Stream for CapsuleChanges {
    type Item = CapsuleChange;

    fn poll_next(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<CapsuleChange>> {
        self.0.as_mut().poll_next(context)
    }
}

impl fmt::Debug for CapsuleChanges {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("CapsuleChanges")
    }
}
