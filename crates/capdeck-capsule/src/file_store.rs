//! A capsule in plain files, readable with `cat` and `git`.

mod blobs;
mod checking;
mod commit;
mod disk;
mod engine;
mod entry_cache;
mod frontmatter;
mod history;
mod journal;
mod journal_record;
mod layout;
mod listing;
mod live_index;
mod memory_file;
mod quota;
mod recorder;
mod recovery;
mod remove_entry;
mod scan;
mod schemes_file;
mod searching;
mod signal_log;
mod signalling;
mod write_entry;

#[cfg(test)]
mod model_tests;
#[cfg(test)]
mod power_tests;

use std::{fs::File, path::Path, sync::Arc};

use async_trait::async_trait;
use tokio::sync::{Semaphore, oneshot};

pub use disk::WriteDurability;
pub(crate) use disk::{StoreDisk, make_private_folder};
pub(crate) use engine::{StoreEngine, VersionIntegrity};
pub(crate) use recorder::ChangeRecorder;
pub(crate) use signal_log::SignalLine;

use crate::{
    BlobCollection, BlobContent, BlobId, CapsuleAuthor, ChangeSubscription, DeletedEntry, Entry,
    EntryMeta, EntryScope, EntrySearchPage, EntrySearchRequest, EntryUri, IndexTiming, ListRequest,
    MemoryItem, MemoryOwner, PollRequest, Role, Scheme, SchemeCount, Signal, SignalDraft,
    SignalPage, Store, StoreError, StoreOptions, StorePage, StoreWrite, WriteOutcome,
    audit::ChainedAuditLog,
};

/// Threads that may wait for one capsule's disk at the same time.
const MAX_BLOCKING_THREADS: usize = 64;

/// A capsule in a folder. Whoever opens it for writing holds the lock of the data folder: see [`crate::CapsuleRegistry`].
#[derive(Debug, Clone)]
pub struct FileStore {
    engine: Arc<StoreEngine>,
    running: Arc<Semaphore>,
    /// Who is named in the audit for what is changed through this clone. Without one, whoever changes something records it.
    recorder: Option<Arc<ChangeRecorder>>,
}

impl FileStore {
    /// Opens the capsule in a `.capsol` folder. Blocks while the files are read. The lock is kept as long as anything
    /// is under way.
    pub(crate) fn open(
        root: &Path,
        options: StoreOptions,
        lock: Option<Arc<File>>,
    ) -> Result<Self, StoreError> {
        let indexing = options.indexing;
        let engine = Arc::new(StoreEngine::open(root, options)?);
        *engine.lock.lock() = lock;
        if indexing == IndexTiming::WhenOpened {
            engine.prepare_index();
        }
        Ok(Self { engine, running: Arc::new(Semaphore::new(MAX_BLOCKING_THREADS)), recorder: None })
    }

    /// The same capsule, with the lines of changes written together with the changes.
    pub(crate) fn recorded_as(&self, author: CapsuleAuthor, role: Role) -> Self {
        let recorder = Some(Arc::new(ChangeRecorder { author: Arc::new(author), role }));
        Self { recorder, ..self.clone() }
    }

    pub(crate) fn engine(&self) -> &StoreEngine {
        &self.engine
    }

    /// The capsule's audit; none where it is only read.
    pub(crate) fn audit(&self) -> Option<Arc<ChainedAuditLog>> {
        self.engine.audit.clone()
    }

    /// Waits for everything under way, takes nothing more, and lets go of the lock.
    pub(crate) async fn close(&self) {
        let all = self.running.acquire_many(MAX_BLOCKING_THREADS as u32).await;
        self.running.close();
        drop(all);
        let engine = Arc::clone(&self.engine);
        let finish = move || {
            engine.index.stop();
            engine.finish()
        };
        let finished = tokio::task::spawn_blocking(finish).await;
        if let Ok(Err(error)) = finished {
            tracing::error!(%error, "the disk did not confirm what was written; the journal is kept");
        }
        self.engine.lock.lock().take();
    }

    /// Does something on a thread that may block. It is finished even when nobody waits for it any more. The index follows
    /// after the answer.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&StoreEngine) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let engine = Arc::clone(&self.engine);
        let permit = Arc::clone(&self.running).acquire_owned().await;
        let permit = permit.map_err(|_| StoreError::Closed)?;
        let (tell, told) = oneshot::channel();
        let running = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            // Nobody may be waiting for it any more.
            tell.send(work(&engine)).ok();
            engine.index.catch_up();
        });
        if let Ok(result) = told.await {
            return result;
        }
        match running.await {
            Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            Err(error) => Err(StoreError::io("work on the capsule")(std::io::Error::other(error))),
            Ok(()) => Err(StoreError::Closed),
        }
    }
}

#[async_trait]
impl Store for FileStore {
    async fn read(&self, uri: &EntryUri, version: Option<u64>) -> Result<Entry, StoreError> {
        // Another thread is asked only for what must be read from a file.
        if !self.running.is_closed()
            && let Some(entry) = self.engine.recall(uri, version)
        {
            return Ok(entry);
        }
        let uri = uri.clone();
        self.run(move |engine| engine.read(&uri, version)).await
    }

    async fn list(&self, request: &ListRequest) -> Result<StorePage<EntryMeta>, StoreError> {
        self.engine.list(request)
    }

    async fn counts(&self, scope: &EntryScope) -> Result<Vec<SchemeCount>, StoreError> {
        Ok(self.engine.counts(scope))
    }

    async fn search(&self, request: &EntrySearchRequest) -> Result<EntrySearchPage, StoreError> {
        let request = request.clone();
        self.run(move |engine| engine.search(&request)).await
    }

    async fn write(
        &self,
        write: StoreWrite,
        author: &CapsuleAuthor,
    ) -> Result<WriteOutcome, StoreError> {
        let author = author.clone();
        let recorder = self.recorder.clone();
        self.run(move |engine| engine.write(write, &author, recorder.as_deref())).await
    }

    async fn dry_run(
        &self,
        write: StoreWrite,
        author: &CapsuleAuthor,
    ) -> Result<WriteOutcome, StoreError> {
        let author = author.clone();
        self.run(move |engine| engine.rehearse(write, &author)).await
    }

    async fn restore(
        &self,
        uri: &EntryUri,
        version: u64,
        if_version: Option<u64>,
        author: &CapsuleAuthor,
    ) -> Result<WriteOutcome, StoreError> {
        let (uri, author) = (uri.clone(), author.clone());
        let recorder = self.recorder.clone();
        let restore = move |engine: &StoreEngine| {
            engine.restore(&uri, version, if_version, &author, recorder.as_deref())
        };
        self.run(restore).await
    }

    async fn delete(
        &self,
        uri: &EntryUri,
        if_version: Option<u64>,
        author: &CapsuleAuthor,
    ) -> Result<DeletedEntry, StoreError> {
        let (uri, author) = (uri.clone(), author.clone());
        let recorder = self.recorder.clone();
        self.run(move |engine| engine.delete(&uri, if_version, &author, recorder.as_deref())).await
    }

    async fn deleted(&self, scope: &EntryScope) -> Result<Vec<DeletedEntry>, StoreError> {
        Ok(self.engine.deleted(scope))
    }

    async fn purge(&self, uri: &EntryUri, author: &CapsuleAuthor) -> Result<(), StoreError> {
        let (uri, author) = (uri.clone(), author.clone());
        let recorder = self.recorder.clone();
        self.run(move |engine| engine.purge(&uri, &author, recorder.as_deref())).await
    }

    async fn history(&self, uri: &EntryUri) -> Result<Vec<EntryMeta>, StoreError> {
        let uri = uri.clone();
        self.run(move |engine| engine.history(&uri)).await
    }

    async fn read_blob(
        &self,
        uri: &EntryUri,
        version: Option<u64>,
    ) -> Result<BlobContent, StoreError> {
        let uri = uri.clone();
        self.run(move |engine| engine.read_blob(&uri, version)).await
    }

    async fn has_blob(&self, id: &BlobId, scope: &EntryScope) -> Result<bool, StoreError> {
        Ok(self.engine.has_blob(id, scope))
    }

    async fn collect_blobs(&self) -> Result<BlobCollection, StoreError> {
        self.run(StoreEngine::collect_blobs).await
    }

    async fn schemes(&self) -> Result<Vec<Scheme>, StoreError> {
        Ok(self.engine.schemes())
    }

    async fn add_scheme(&self, scheme: Scheme) -> Result<(), StoreError> {
        let recorder = self.recorder.clone();
        self.run(move |engine| engine.add_scheme(scheme, recorder.as_deref())).await
    }

    async fn remove_scheme(&self, name: &str) -> Result<(), StoreError> {
        let name = name.to_owned();
        let recorder = self.recorder.clone();
        self.run(move |engine| engine.remove_scheme(&name, recorder.as_deref())).await
    }

    async fn send_signal(
        &self,
        signal: SignalDraft,
        author: &CapsuleAuthor,
    ) -> Result<Signal, StoreError> {
        let author = author.clone();
        let recorder = self.recorder.clone();
        self.run(move |engine| engine.send_signal(signal, &author, recorder.as_deref())).await
    }

    async fn poll_signals(
        &self,
        request: &PollRequest,
        author: &CapsuleAuthor,
    ) -> Result<SignalPage, StoreError> {
        let (request, author) = (request.clone(), author.clone());
        self.run(move |engine| engine.poll_signals(&request, &author)).await
    }

    async fn acknowledge(&self, signal: &str, author: &CapsuleAuthor) -> Result<(), StoreError> {
        let (signal, author) = (signal.to_owned(), author.clone());
        self.run(move |engine| engine.acknowledge(&signal, &author)).await
    }

    async fn memory_get(&self, owner: &MemoryOwner, key: &str) -> Result<String, StoreError> {
        let (owner, key) = (owner.clone(), key.to_owned());
        self.run(move |engine| engine.memory_get(&owner, &key)).await
    }

    async fn memory_set(
        &self,
        owner: &MemoryOwner,
        key: &str,
        value: &str,
    ) -> Result<(), StoreError> {
        let (owner, key, value) = (owner.clone(), key.to_owned(), value.to_owned());
        let recorder = self.recorder.clone();
        self.run(move |engine| engine.memory_set(&owner, &key, &value, recorder.as_deref())).await
    }

    async fn memory_delete(&self, owner: &MemoryOwner, key: &str) -> Result<(), StoreError> {
        let (owner, key) = (owner.clone(), key.to_owned());
        let recorder = self.recorder.clone();
        self.run(move |engine| engine.memory_delete(&owner, &key, recorder.as_deref())).await
    }

    async fn memory_list(&self, owner: &MemoryOwner) -> Result<Vec<MemoryItem>, StoreError> {
        let owner = owner.clone();
        self.run(move |engine| engine.memory_list(&owner)).await
    }

    async fn memory_search(
        &self,
        owner: &MemoryOwner,
        query: &str,
    ) -> Result<Vec<MemoryItem>, StoreError> {
        let (owner, query) = (owner.clone(), query.to_owned());
        self.run(move |engine| engine.memory_search(&owner, &query)).await
    }

    fn changes(&self) -> ChangeSubscription {
        ChangeSubscription::new(self.engine.changes.subscribe())
    }
}
