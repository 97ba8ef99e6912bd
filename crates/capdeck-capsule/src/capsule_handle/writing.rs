//! Calls that change entries, schemes, signals and the caller's own memory.

use super::{AuditNote, CapsuleHandle, scoped_store::ScopedStore};
use crate::{
    BlobCollection, DeletedEntry, EntryUri, MemoryItem, Role, Scheme, Signal, SignalPage,
    StoreError, StoreWrite, WriteContent, WriteOutcome,
    service::{PollSignalsRequest, SendSignalRequest},
    store::check_key,
};

impl CapsuleHandle {
    /// How a body is written when the caller does not say: those who may only add, add.
    pub fn default_content(&self, body: String) -> WriteContent {
        if self.access().role >= Role::Writer {
            WriteContent::Replace(body)
        } else {
            WriteContent::Create(body)
        }
    }

    pub async fn write(&self, write: StoreWrite) -> Result<WriteOutcome, StoreError> {
        let uri = write.uri.clone();
        let (action, bytes) = (write.content.action(), write.content.bytes());
        let work = |entries: ScopedStore, _| async move {
            entries.may_write(&write).await?;
            let written = entries.store.write(write, &entries.by).await;
            entries.seen(written).await
        };
        let note = move |written: &WriteOutcome| AuditNote {
            version: Some(written.version),
            bytes,
            // What was done before is not done again.
            is_recorded: !written.repeated,
        };
        self.audited_at(action, &uri, work, note).await
    }

    /// Writes an old version again, as a new one.
    pub async fn restore(
        &self,
        uri: &EntryUri,
        version: u64,
        if_version: Option<u64>,
    ) -> Result<WriteOutcome, StoreError> {
        let work = move |entries: ScopedStore, uri| async move {
            entries.require(Role::Writer, "restore versions")?;
            entries.reach(&uri, Some(version)).await?;
            let restored = entries.store.restore(&uri, version, if_version, &entries.by).await;
            entries.seen(restored).await
        };
        self.audited_at("restore", uri, work, AuditNote::recorded).await
    }

    pub async fn delete(
        &self,
        uri: &EntryUri,
        if_version: Option<u64>,
    ) -> Result<DeletedEntry, StoreError> {
        let work = move |entries: ScopedStore, uri| async move {
            entries.require(Role::Owner, "delete entries")?;
            entries.reach(&uri, None).await?;
            let deleted = entries.store.delete(&uri, if_version, &entries.by).await;
            entries.seen(deleted).await
        };
        self.audited_at("delete", uri, work, AuditNote::recorded).await
    }

    /// What was deleted and can be restored.
    pub async fn deleted(&self) -> Result<Vec<DeletedEntry>, StoreError> {
        let work = |entries: ScopedStore| async move {
            entries.require(Role::Writer, "list deleted entries")?;
            entries.store.deleted(&entries.access.scope).await
        };
        self.audited("trash.list", work, AuditNote::plain).await
    }

    pub async fn purge(&self, uri: &EntryUri) -> Result<(), StoreError> {
        let work = |entries: ScopedStore, uri| async move {
            entries.require(Role::Owner, "purge entries")?;
            entries.reach(&uri, None).await?;
            let purged = entries.store.purge(&uri, &entries.by).await;
            entries.seen(purged).await
        };
        self.audited_at("purge", uri, work, AuditNote::recorded).await
    }

    pub async fn collect_blobs(&self) -> Result<BlobCollection, StoreError> {
        let work = |entries: ScopedStore| async move {
            entries.require(Role::Owner, "collect blobs")?;
            entries.store.collect_blobs().await
        };
        self.audited("blob.collect", work, |done| AuditNote::of_bytes(done.bytes)).await
    }

    pub async fn add_scheme(&self, scheme: Scheme) -> Result<(), StoreError> {
        let work = |entries: ScopedStore| async move {
            entries.require_whole_owner("add schemes")?;
            entries.store.add_scheme(scheme, &entries.by).await
        };
        self.audited("scheme.add", work, AuditNote::recorded).await
    }

    pub async fn remove_scheme(&self, name: &str) -> Result<(), StoreError> {
        let name = name.to_owned();
        let work = |entries: ScopedStore| async move {
            entries.require_whole_owner("remove schemes")?;
            entries.store.remove_scheme(&name, &entries.by).await
        };
        self.audited("scheme.remove", work, AuditNote::recorded).await
    }

    pub async fn send_signal(&self, request: SendSignalRequest) -> Result<Signal, StoreError> {
        let address = request.uri.as_deref().map(EntryUri::parse).transpose();
        let (entries, uri) = (self.entries.clone(), address.clone().ok().flatten());
        let work = async move {
            let uri = address?;
            if let Some(uri) = &uri {
                entries.reach_to_write(uri).await?;
            }
            request.check()?;
            let SendSignalRequest { kind, text, to, data, .. } = request;
            let from = (*entries.by.author).clone();
            let signal = Signal { text, uri, to, data, ..Signal::new(kind, from) };
            entries.store.send_signal(signal, &entries.by).await
        };
        self.finish("signal.send", uri, work, AuditNote::recorded).await
    }

    /// Signals for this caller, from its last acknowledged one on.
    pub async fn poll_signals(
        &self,
        request: PollSignalsRequest,
    ) -> Result<SignalPage, StoreError> {
        let work = |entries: ScopedStore| async move {
            let scope = &entries.access.scope;
            entries.store.poll_signals(&request, scope, &entries.by.author).await
        };
        self.audited("signal.poll", work, AuditNote::plain).await
    }

    pub async fn acknowledge(&self, signal: &str) -> Result<(), StoreError> {
        let signal = signal.to_owned();
        let work = |entries: ScopedStore| async move {
            entries.store.acknowledge(&signal, &entries.by.author).await
        };
        self.audited("signal.ack", work, AuditNote::plain).await
    }

    pub async fn memory_get(&self, key: &str) -> Result<String, StoreError> {
        let key = key.to_owned();
        let work = |entries: ScopedStore| async move {
            check_key(&key)?;
            let mut memory = entries.store.memory(&entries.by.author.owner()).await?;
            memory.remove(&key).ok_or(StoreError::NoSuchKey { key })
        };
        self.audited("memory.get", work, |value| AuditNote::of_bytes(value.len() as u64)).await
    }

    pub async fn memory_set(&self, key: &str, value: &str) -> Result<(), StoreError> {
        self.change_memory("memory.set", key, Some(value.to_owned())).await
    }

    pub async fn memory_delete(&self, key: &str) -> Result<(), StoreError> {
        self.change_memory("memory.delete", key, None).await
    }

    async fn change_memory(
        &self,
        action: &'static str,
        key: &str,
        value: Option<String>,
    ) -> Result<(), StoreError> {
        let key = key.to_owned();
        let work = |entries: ScopedStore| async move {
            entries.store.change_memory(&key, value, &entries.by).await
        };
        self.audited(action, work, AuditNote::recorded).await
    }

    pub async fn memory_list(&self) -> Result<Vec<MemoryItem>, StoreError> {
        let work = |entries: ScopedStore| async move { entries.memory().await };
        self.audited("memory.list", work, AuditNote::plain).await
    }

    /// Items that hold all words of a question; those whose key does come first.
    pub async fn memory_search(&self, query: &str) -> Result<Vec<MemoryItem>, StoreError> {
        let words: Vec<String> = query.split_whitespace().map(str::to_lowercase).collect();
        let work = |entries: ScopedStore| async move {
            if words.is_empty() {
                return Err(StoreError::invalid("query", "it has no words"));
            }
            let holds = |text: &str| words.iter().all(|word| text.contains(word));
            let mut found = entries.memory().await?;
            found.retain(|MemoryItem { key, value }| {
                holds(&format!("{}\n{}", key.to_lowercase(), value.to_lowercase()))
            });
            found.sort_by_key(|item| !holds(&item.key.to_lowercase()));
            Ok(found)
        };
        self.audited("memory.search", work, AuditNote::plain).await
    }
}
