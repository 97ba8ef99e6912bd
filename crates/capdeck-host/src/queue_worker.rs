//! A thread that works through a queue. It is started with the first item, and waited for at the end:
//! a one-shot command exits right after its call.

use std::{
    sync::mpsc::{Receiver, SyncSender, sync_channel},
    thread,
};

use parking_lot::Mutex;

pub(crate) struct QueueWorker<T> {
    capacity: usize,
    running: Mutex<Option<(SyncSender<T>, thread::JoinHandle<()>)>>,
}

impl<T: Send + 'static> QueueWorker<T> {
    pub(crate) fn new(capacity: usize) -> Self {
        Self { capacity, running: Mutex::default() }
    }

    /// Hands over an item. False when the thread is too slow for it.
    pub(crate) fn send<W>(&self, item: T, work: impl FnOnce() -> W) -> bool
    where
        W: FnOnce(Receiver<T>) + Send + 'static,
    {
        let mut running = self.running.lock();
        let (queue, _) = running.get_or_insert_with(|| {
            let (queue, items) = sync_channel(self.capacity);
            let work = work();
            (queue, thread::spawn(move || work(items)))
        });
        queue.try_send(item).is_ok()
    }
}

impl<T> Drop for QueueWorker<T> {
    fn drop(&mut self) {
        if let Some((queue, thread)) = self.running.get_mut().take() {
            drop(queue);
            drop(thread.join());
        }
    }
}
