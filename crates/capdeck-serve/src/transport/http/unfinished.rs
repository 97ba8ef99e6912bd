//! Limits requests that are not completely received, per address. Above the limit the oldest is dropped, so that other clients
//! at an attacker's address still get through.

use std::{
    collections::{HashMap, VecDeque},
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
};

use futures_util::task::AtomicWaker;
use parking_lot::Mutex;

/// Clones share the table.
#[derive(Clone)]
pub(super) struct UnfinishedRequests {
    max_per_address: usize,
    table: Arc<Mutex<HashMap<IpAddr, VecDeque<Arc<UnfinishedSlot>>>>>,
}

/// One unfinished request, counted until dropped.
pub(super) struct UnfinishedRequest {
    address: IpAddr,
    slot: Arc<UnfinishedSlot>,
    table: Arc<Mutex<HashMap<IpAddr, VecDeque<Arc<UnfinishedSlot>>>>>,
}

#[derive(Default)]
struct UnfinishedSlot {
    is_given_up: AtomicBool,
    waker: AtomicWaker,
}

impl UnfinishedRequests {
    pub(super) fn new(max_per_address: usize) -> Self {
        Self { max_per_address: max_per_address.max(1), table: Arc::default() }
    }

    /// Counts a request. Above the limit, the oldest of the address is dropped.
    pub(super) fn begin(&self, address: IpAddr) -> UnfinishedRequest {
        let slot = Arc::<UnfinishedSlot>::default();
        let given_up = {
            let mut table = self.table.lock();
            let slots = table.entry(address).or_default();
            let is_full = slots.len() >= self.max_per_address;
            let oldest = if is_full { slots.pop_front() } else { None };
            slots.push_back(Arc::clone(&slot));
            oldest
        };
        if let Some(oldest) = given_up {
            oldest.is_given_up.store(true, Ordering::Release);
            oldest.waker.wake();
        }
        UnfinishedRequest { address, slot, table: Arc::clone(&self.table) }
    }
}

impl UnfinishedRequest {
    /// Ready when this request was dropped for a newer one.
    pub(super) fn poll_given_up(&self, context: &Context<'_>) -> Poll<()> {
        self.slot.waker.register(context.waker());
        if self.slot.is_given_up.load(Ordering::Acquire) { Poll::Ready(()) } else { Poll::Pending }
    }
}

impl Drop for UnfinishedRequest {
    fn drop(&mut self) {
        let mut table = self.table.lock();
        let Some(slots) = table.get_mut(&self.address) else { return };
        slots.retain(|slot| !Arc::ptr_eq(slot, &self.slot));
        if slots.is_empty() {
            table.remove(&self.address);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_of_an_address_makes_room_and_nothing_is_remembered() {
        let requests = UnfinishedRequests::new(2);
        let (here, there) = (IpAddr::from([192, 0, 2, 1]), IpAddr::from([192, 0, 2, 2]));
        let context = Context::from_waker(std::task::Waker::noop());
        let first = requests.begin(here);
        let second = requests.begin(here);
        let other = requests.begin(there);
        assert!(first.poll_given_up(&context).is_pending());
        let third = requests.begin(here);
        assert!(first.poll_given_up(&context).is_ready());
        for kept in [&second, &third, &other] {
            assert!(kept.poll_given_up(&context).is_pending());
        }
        drop(second);
        let fourth = requests.begin(here);
        assert!(third.poll_given_up(&context).is_pending(), "there was room");
        drop((first, third, other, fourth));
        assert!(requests.table.lock().is_empty());
    }
}
