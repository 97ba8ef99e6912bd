//! A thread that works through a queue. It is started with the first item, and waited for at the end:
//! a one-shot command exits right after its call.

use std::{
    sync::{
        Arc,
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread,
};

use parking_lot::Mutex;

pub(crate) struct QueueWorker<T> {
    capacity: usize,
    work: Arc<dyn Fn(Receiver<T>) + Send + Sync>,
    running: Mutex<Option<(SyncSender<T>, thread::JoinHandle<()>)>>,
}

impl<T: Send + 'static> QueueWorker<T> {
    pub(crate) fn new(capacity: usize, work: impl Fn(Receiver<T>) + Send + Sync + 'static) -> Self {
        Self { capacity, work: Arc::new(work), running: Mutex::default() }
    }

    /// Hands over an item. False when the thread is too slow for it.
    pub(crate) fn send(&self, item: T) -> bool {
        let mut running = self.running.lock();
        let (queue, _) = running.get_or_insert_with(|| {
            let (queue, items) = sync_channel(self.capacity);
            let work = self.work.clone();
            (queue, thread::spawn(move || work(items)))
        });
        queue.try_send(item).is_ok()
    }
}

impl<T> QueueWorker<T> {
    /// Waits until everything sent so far is done. A later item starts another thread.
    pub(crate) fn finish(&self) {
        let running = self.running.lock().take();
        if let Some((queue, thread)) = running {
            drop(queue);
            drop(thread.join());
        }
    }
}

impl<T> Drop for QueueWorker<T> {
    fn drop(&mut self) {
        self.finish();
    }
}
