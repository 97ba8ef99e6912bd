//! The index of a capsule while it is used: made once from the files, then changed with every write.
//!
//! Only searches wait for it, while it is made and for a write to be taken in, which is done after its
//! writer was answered. A search takes in first what is left.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
};

use parking_lot::{Mutex, RwLock};

use crate::{EntryMeta, EntryUri, search::EntryIndex};

#[derive(Debug, Default)]
pub(super) struct LiveIndex {
    index: RwLock<Option<EntryIndex>>,
    /// What changed and is not in the index yet, in order. `None` until making one has started.
    late: Mutex<Option<Vec<IndexUpdate>>>,
    /// Held while it is made.
    making: Mutex<()>,
    is_stopped: AtomicBool,
    beside: Mutex<Option<JoinHandle<()>>>,
}

/// A change that the index does not have yet.
#[derive(Debug)]
enum IndexUpdate {
    Put(Arc<EntryMeta>, String),
    Remove(EntryUri),
}

impl LiveIndex {
    /// An entry is in a new version, which is on the disk by now.
    pub(super) fn put(&self, meta: &Arc<EntryMeta>, body: String) {
        if let Some(late) = self.late.lock().as_mut() {
            late.push(IndexUpdate::Put(Arc::clone(meta), body));
        }
    }

    pub(super) fn remove(&self, uri: &EntryUri) {
        if let Some(late) = self.late.lock().as_mut() {
            late.push(IndexUpdate::Remove(uri.clone()));
        }
    }

    /// Takes in what changed, unless another thread does already.
    pub(super) fn catch_up(&self) {
        if self.is_behind()
            && let Some(mut index) = self.index.try_write()
            // An index that is still being built adds it when it is done.
            && let Some(index) = index.as_mut()
        {
            self.apply_updates(index);
        }
    }

    /// Asks the index, which is made first if there is none.
    pub(super) fn query<T>(
        &self,
        make: impl FnOnce() -> EntryIndex,
        ask: impl Fn(&EntryIndex) -> T,
    ) -> T {
        if let Some(answer) = self.query_current(&ask) {
            return answer;
        }
        let _making = self.making.lock();
        // Another thread may have been quicker.
        if let Some(answer) = self.query_current(&ask) {
            return answer;
        }
        self.begin();
        let made = make();
        let mut place = self.index.write();
        let index = place.insert(made);
        self.apply_updates(index);
        ask(index)
    }

    /// Makes it beside everything else, unless another thread does already. `make` gives up when it is stopped.
    pub(super) fn make_beside(&self, make: impl FnOnce() -> Option<EntryIndex>) {
        let Some(_making) = self.making.try_lock() else { return };
        if self.index.read().is_some() {
            return;
        }
        self.begin();
        match make() {
            Some(index) => self.apply_updates(self.index.write().insert(index)),
            None => *self.late.lock() = None,
        }
    }

    /// From here on no write passes unseen; what was written before is on the disk.
    fn begin(&self) {
        *self.late.lock() = Some(Vec::new());
    }

    /// The answer of an index that has everything which was written before.
    fn query_current<T>(&self, ask: impl Fn(&EntryIndex) -> T) -> Option<T> {
        if self.is_behind()
            && let Some(index) = self.index.write().as_mut()
        {
            self.apply_updates(index);
        }
        // A thread that takes something in holds the index from before it empties the queue, and is waited for here.
        self.index.read().as_ref().map(ask)
    }

    fn is_behind(&self) -> bool {
        self.late.lock().as_ref().is_some_and(|late| !late.is_empty())
    }

    fn apply_updates(&self, index: &mut EntryIndex) {
        let late = self.late.lock().as_mut().map(std::mem::take).unwrap_or_default();
        for change in late {
            match change {
                IndexUpdate::Put(meta, body) => index.put(&meta, &body),
                IndexUpdate::Remove(uri) => index.remove(&uri),
            }
        }
    }

    /// Keeps the thread that makes it, so that it can be waited for.
    pub(super) fn keep(&self, thread: JoinHandle<()>) {
        *self.beside.lock() = Some(thread);
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::Relaxed)
    }

    /// Gives up making it, and waits until that has ended. Blocks.
    pub(super) fn stop(&self) {
        self.is_stopped.store(true, Ordering::Relaxed);
        let beside = self.beside.lock().take();
        // A panic there has been reported already, and costs only the index.
        beside.map(JoinHandle::join);
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::mpsc, thread};

    use super::*;
    use crate::{
        CapsuleAuthor, ChangeAuthor, EntryScope, FileStore, Role, SearchQuery, Store as _,
        StoreOptions, StoreWrite,
    };

    fn store(folder: &std::path::Path) -> FileStore {
        FileStore::open(folder, StoreOptions::default(), None).unwrap()
    }

    fn by() -> ChangeAuthor {
        ChangeAuthor { author: Arc::new(CapsuleAuthor::client("test")), role: Role::Owner }
    }

    async fn write(store: &FileStore, uri: &str, body: &str) {
        let write = StoreWrite::replace(EntryUri::parse(uri).unwrap(), body.to_owned());
        store.write(write, &by()).await.unwrap();
    }

    async fn found(store: &FileStore, query: &str) -> Vec<String> {
        let page = store.search(&SearchQuery::words(query), &EntryScope::default()).await.unwrap();
        page.hits.iter().map(|hit| hit.info.uri.to_string()).collect()
    }

    #[tokio::test]
    async fn what_changes_while_it_is_made_is_found_and_writers_do_not_wait() {
        let folder = tempfile::tempdir().unwrap();
        let store = store(folder.path());
        for (uri, body) in [("docs://a", "apple"), ("docs://b", "banana"), ("docs://c", "cherry")] {
            write(&store, uri, body).await;
        }
        let engine = Arc::clone(&store.engine);
        let (begun, has_begun) = mpsc::channel();
        let (go_on, may_go_on) = mpsc::channel::<()>();
        let making = thread::spawn(move || {
            engine.index.make_beside(|| {
                let index = engine.build_index(|| false);
                begun.send(()).unwrap();
                may_go_on.recv().unwrap();
                index
            });
        });
        has_begun.recv().unwrap();
        // The index that is being made knows nothing of these, and no search waits for it.
        write(&store, "docs://a", "apricot").await;
        write(&store, "docs://d", "damson").await;
        let uri = EntryUri::parse("docs://b").unwrap();
        store.delete(&uri, None, &by()).await.unwrap();
        go_on.send(()).unwrap();
        making.join().unwrap();
        assert_eq!(found(&store, "apple").await, Vec::<String>::new());
        assert_eq!(found(&store, "apricot").await, ["docs://a"]);
        assert_eq!(found(&store, "banana").await, Vec::<String>::new());
        assert_eq!(found(&store, "cherry").await, ["docs://c"]);
        assert_eq!(found(&store, "damson").await, ["docs://d"]);
    }

    #[tokio::test]
    async fn one_that_was_stopped_is_made_by_the_first_search() {
        let folder = tempfile::tempdir().unwrap();
        let store = store(folder.path());
        write(&store, "docs://a", "apple").await;
        store.engine.index.stop();
        let engine = &store.engine;
        engine.index.make_beside(|| engine.build_index(|| engine.index.is_stopped()));
        write(&store, "docs://b", "apple too").await;
        assert_eq!(found(&store, "apple").await.len(), 2);
    }
}
