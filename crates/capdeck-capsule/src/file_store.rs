//! A capsule in plain files, readable with `cat` and `git`.

mod blobs;
mod capsule_files;
mod disk;
mod engine;
mod entry_cache;
mod factory;
mod frontmatter;
mod journal;
mod journal_record;
mod layout;
mod live_index;
mod memory_file;
mod recovery;
mod remove_entry;
mod scan;
mod schemes_file;
mod searching;
mod signal_log;
mod store_state;
mod version_files;
mod write_entry;

#[cfg(test)]
mod model_tests;
#[cfg(test)]
mod power_tests;

use std::{fs::File, path::Path, sync::Arc};

use async_trait::async_trait;
use jiff::civil::Date;
use tokio::sync::{Semaphore, broadcast, oneshot};

pub(crate) use disk::StoreDisk;
pub use disk::WriteDurability;
pub(crate) use engine::StoreEngine;
pub use factory::FileStoreFactory;
pub(crate) use scan::find_problems;
pub(crate) use signal_log::SignalLine;
pub(crate) use version_files::{LoadedVersion, VersionIntegrity};

use crate::{
    AuditLogLine, BlobCollection, BlobContent, BlobId, CapsuleAuthor, ChangeAuthor, ChangeEvent,
    DeletedEntry, Entry, EntryMeta, EntryScope, EntrySearchPage, EntryUri, IndexTiming, MemoryMap,
    MemoryOwner, PrunedLines, Scheme, SchemeCount, Signal, SignalPage, Store, StoreError,
    StoreOptions, StorePage, StoreResult, StoreWrite, VerifyProblem, VerifyReport, WriteOutcome,
    audit::ChainedAuditLog,
    blocking::{blocking, finished},
    service::{ListQuery, PollSignalsRequest, SearchQuery},
    verify::verify,
};

/// Threads that may wait for one capsule's disk at the same time.
const MAX_BLOCKING_THREADS: usize = 64;

/// A capsule in a folder. It is opened for writing only under the lock of the data folder: see [`crate::CapsuleRegistry`].
#[derive(Debug, Clone)]
pub struct FileStore {
    pub(crate) engine: Arc<StoreEngine>,
    running: Arc<Semaphore>,
}

impl FileStore {
    /// Opens the capsule in a `.capsol` folder. Blocks while the files are read. The lock is kept as long as anything
    /// is under way.
    pub(crate) fn open(
        root: &Path,
        options: StoreOptions,
        lock: Option<Arc<File>>,
    ) -> StoreResult<Self> {
        let indexing = options.indexing;
        let engine = Arc::new(StoreEngine::open(root, options)?);
        *engine.lock.lock() = lock;
        if indexing == IndexTiming::WhenOpened {
            engine.prepare_index();
        }
        Ok(Self { engine, running: Arc::new(Semaphore::new(MAX_BLOCKING_THREADS)) })
    }

    /// The capsule's audit; none where it is only read.
    fn audit(&self) -> Option<&Arc<ChainedAuditLog>> {
        self.engine.files.audit.as_ref()
    }

    /// Waits for everything in flight, takes nothing more, and lets go of the lock.
    async fn finish(&self) {
        let all = self.running.acquire_many(MAX_BLOCKING_THREADS as u32).await;
        self.running.close();
        drop(all);
        let engine = Arc::clone(&self.engine);
        let finish = move || {
            engine.index.stop();
            engine.files.finish()
        };
        let finished = tokio::task::spawn_blocking(finish).await;
        if let Ok(Err(error)) = finished {
            tracing::error!(%error, "the disk did not confirm what was written; the journal is kept");
        }
        if let Some(audit) = self.audit() {
            audit.close();
        }
        self.engine.lock.lock().take();
    }

    /// Does something on a thread that may block. It is finished even when its caller stops waiting. The index follows
    /// after the answer.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&StoreEngine) -> StoreResult<T> + Send + 'static,
    ) -> StoreResult<T> {
        let engine = Arc::clone(&self.engine);
        let permit = Arc::clone(&self.running).acquire_owned().await;
        let permit = permit.map_err(|_| StoreError::Closed)?;
        let (sender, receiver) = oneshot::channel();
        let running = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            // The caller may have stopped waiting.
            sender.send(work(&engine)).ok();
            engine.index.catch_up();
        });
        if let Ok(result) = receiver.await {
            return result;
        }
        finished(running.await).map_err(StoreError::io("work on the capsule"))?;
        Err(StoreError::Closed)
    }
}

#[async_trait]
impl Store for FileStore {
    async fn read(&self, uri: &EntryUri, version: Option<u64>) -> StoreResult<Entry> {
        // Another thread is asked only for what must be read from a file.
        if !self.running.is_closed()
            && let Some(entry) = self.engine.recent.get(uri, version)
        {
            return Ok(entry);
        }
        let uri = uri.clone();
        self.run(move |engine| engine.read(&uri, version)).await
    }

    async fn list(
        &self,
        query: &ListQuery,
        scope: &EntryScope,
    ) -> StoreResult<StorePage<EntryMeta>> {
        self.engine.state.read().list(query, scope)
    }

    async fn counts(&self, scope: &EntryScope) -> StoreResult<Vec<SchemeCount>> {
        Ok(self.engine.state.read().counts(scope))
    }

    async fn search(
        &self,
        query: &SearchQuery,
        scope: &EntryScope,
    ) -> StoreResult<EntrySearchPage> {
        let (query, scope) = (query.clone(), scope.clone());
        self.run(move |engine| engine.search(&query, &scope)).await
    }

    async fn write(&self, write: StoreWrite, by: &ChangeAuthor) -> StoreResult<WriteOutcome> {
        let by = by.clone();
        self.run(move |engine| engine.write(write, &by)).await
    }

    async fn dry_run(
        &self,
        write: StoreWrite,
        author: &CapsuleAuthor,
    ) -> StoreResult<WriteOutcome> {
        let author = author.clone();
        self.run(move |engine| engine.dry_run(write, &author)).await
    }

    async fn restore(
        &self,
        uri: &EntryUri,
        version: u64,
        if_version: Option<u64>,
        by: &ChangeAuthor,
    ) -> StoreResult<WriteOutcome> {
        let (uri, by) = (uri.clone(), by.clone());
        self.run(move |engine| engine.restore(&uri, version, if_version, &by)).await
    }

    async fn delete(
        &self,
        uri: &EntryUri,
        if_version: Option<u64>,
        by: &ChangeAuthor,
    ) -> StoreResult<DeletedEntry> {
        let (uri, by) = (uri.clone(), by.clone());
        self.run(move |engine| engine.delete(&uri, if_version, &by)).await
    }

    async fn deleted(&self, scope: &EntryScope) -> StoreResult<Vec<DeletedEntry>> {
        Ok(self.engine.state.read().deleted(scope))
    }

    async fn purge(&self, uri: &EntryUri, by: &ChangeAuthor) -> StoreResult<()> {
        let (uri, by) = (uri.clone(), by.clone());
        self.run(move |engine| engine.purge(&uri, &by)).await
    }

    async fn history(&self, uri: &EntryUri) -> StoreResult<Vec<EntryMeta>> {
        let uri = uri.clone();
        self.run(move |engine| engine.history(&uri)).await
    }

    async fn read_blob(&self, uri: &EntryUri, version: Option<u64>) -> StoreResult<BlobContent> {
        let uri = uri.clone();
        self.run(move |engine| engine.read_blob(&uri, version)).await
    }

    async fn has_blob(&self, id: &BlobId, scope: &EntryScope) -> StoreResult<bool> {
        Ok(self.engine.state.read().has_blob(id, scope))
    }

    async fn collect_blobs(&self) -> StoreResult<BlobCollection> {
        self.run(StoreEngine::collect_blobs).await
    }

    async fn schemes(&self) -> StoreResult<Vec<Scheme>> {
        Ok(self.engine.state.read().schemes.clone())
    }

    async fn add_scheme(&self, scheme: Scheme, by: &ChangeAuthor) -> StoreResult<()> {
        let by = by.clone();
        self.run(move |engine| engine.add_scheme(scheme, &by)).await
    }

    async fn remove_scheme(&self, name: &str, by: &ChangeAuthor) -> StoreResult<()> {
        let (name, by) = (name.to_owned(), by.clone());
        self.run(move |engine| engine.remove_scheme(&name, &by)).await
    }

    async fn send_signal(&self, signal: Signal, by: &ChangeAuthor) -> StoreResult<Signal> {
        let by = by.clone();
        self.run(move |engine| signal_log::send(&engine.files, signal, &by)).await
    }

    async fn poll_signals(
        &self,
        request: &PollSignalsRequest,
        scope: &EntryScope,
        author: &CapsuleAuthor,
    ) -> StoreResult<SignalPage> {
        let (request, scope, author) = (request.clone(), scope.clone(), author.clone());
        self.run(move |engine| signal_log::poll(&engine.files, &request, &scope, &author)).await
    }

    async fn acknowledge(&self, signal: &str, author: &CapsuleAuthor) -> StoreResult<()> {
        let (signal, author) = (signal.to_owned(), author.clone());
        self.run(move |engine| signal_log::acknowledge(&engine.files, &signal, &author)).await
    }

    async fn memory(&self, owner: &MemoryOwner) -> StoreResult<MemoryMap> {
        let owner = owner.clone();
        self.run(move |engine| memory_file::load(&engine.files, &owner)).await
    }

    async fn change_memory(
        &self,
        key: &str,
        value: Option<String>,
        by: &ChangeAuthor,
    ) -> StoreResult<()> {
        let (key, by) = (key.to_owned(), by.clone());
        self.run(move |engine| memory_file::change(&engine.files, &key, value, &by)).await
    }

    fn changes(&self) -> broadcast::Receiver<ChangeEvent> {
        self.engine.changes.subscribe()
    }

    fn record(&self, line: AuditLogLine) -> StoreResult<()> {
        self.audit().map_or(Ok(()), |audit| audit.record(line))
    }

    fn settle_audit(&self) -> StoreResult<()> {
        self.audit().map_or(Ok(()), |audit| audit.settle())
    }

    async fn prune_audit(&self, before: Date) -> StoreResult<PrunedLines> {
        let audit = Arc::clone(self.audit().ok_or(StoreError::ReadOnly)?);
        let pruned = blocking(move || audit.prune(before)).await;
        pruned.flatten().map_err(StoreError::io("prune the audit"))
    }

    async fn verify(&self) -> StoreResult<VerifyReport> {
        self.run(|engine| Ok(verify(engine))).await
    }

    fn left_out(&self) -> Vec<VerifyProblem> {
        self.engine.state.read().problems.clone()
    }

    async fn close(&self) {
        self.finish().await;
    }
}
