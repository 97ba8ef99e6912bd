//! How many requests of somebody are under way.

use std::{
    collections::HashMap,
    hash::Hash,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use axum::body::{Body, HttpBody};
use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;
use hyper::body::{Frame, SizeHint};
use parking_lot::Mutex;

/// Places for requests, some for each key.
pub(super) struct RequestSlots<K> {
    each: u32,
    taken: Arc<Mutex<HashMap<K, u32>>>,
}

/// A place that is taken until this is dropped.
pub(super) struct SlotGuard<K: Eq + Hash> {
    key: K,
    taken: Arc<Mutex<HashMap<K, u32>>>,
}

impl<K: Eq + Hash + Clone> RequestSlots<K> {
    pub(super) fn new(each: u32) -> Self {
        Self { each: each.max(1), taken: Arc::default() }
    }

    /// A place, if there is one.
    pub(super) fn try_acquire(&self, key: &K) -> Option<SlotGuard<K>> {
        let mut taken = self.taken.lock();
        let count = taken.entry(key.clone()).or_insert(0);
        if *count >= self.each {
            return None;
        }
        *count += 1;
        Some(SlotGuard { key: key.clone(), taken: Arc::clone(&self.taken) })
    }
}

impl<K: Eq + Hash> Drop for SlotGuard<K> {
    fn drop(&mut self) {
        let mut taken = self.taken.lock();
        let left = taken.get_mut(&self.key).map(|count| {
            *count = count.saturating_sub(1);
            *count
        });
        // Whoever asks for nothing is not remembered.
        if left == Some(0) {
            taken.remove(&self.key);
        }
    }
}

/// A body that keeps a place until it is read or dropped.
pub(super) struct SlotGuardBody<K: Eq + Hash> {
    body: UnsyncBoxBody<Bytes, axum::Error>,
    _held: SlotGuard<K>,
}

impl<K: Eq + Hash> SlotGuardBody<K> {
    pub(super) fn new(body: Body, held: SlotGuard<K>) -> Self {
        Self { body: UnsyncBoxBody::new(body), _held: held }
    }
}

impl<K: Eq + Hash + Unpin> HttpBody for SlotGuardBody<K> {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_free_again_when_it_is_dropped() {
        let places = RequestSlots::new(2);
        let first = places.try_acquire(&"a");
        let second = places.try_acquire(&"a");
        assert!(first.is_some() && second.is_some());
        assert!(places.try_acquire(&"a").is_none());
        assert!(places.try_acquire(&"b").is_some(), "others are not affected");
        drop(first);
        assert!(places.try_acquire(&"a").is_some());
        drop(second);
        assert!(places.taken.lock().is_empty(), "nobody is remembered");
    }
}
