//! Calls that change entries, schemes, signals and the caller's own memory.

use base64::{Engine as _, engine::general_purpose::STANDARD};

use super::{AuditNote, CapsuleHandle, scoped_store::ScopedStore};
use crate::{
    BlobId, BlobSource, CommitRef, EntryUri, MemoryItem, Role, Signal, StoreError, StoreResult,
    StoreWrite, WriteContent, WriteOutcome, blocking::blocking, service::*, store::check_key,
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

    pub async fn write(&self, request: WriteRequest) -> StoreResult<WriteResponse> {
        let mode = request.mode.or(request.patch.is_some().then_some(WriteMode::Patch));
        let action = match mode {
            Some(WriteMode::Create) => "write.create",
            Some(WriteMode::Replace) | None => "write.replace",
            Some(WriteMode::Patch) => "write.patch",
        };
        let has_commit = request.commit.is_some();
        let mut write = self.checked(action, self.parse_write(mode, request))?;
        if !has_commit && let Some(project) = self.entries.project.clone() {
            write.commit = blocking(move || project.head()).await.ok().flatten();
        }
        Ok(WriteResponse { capsule: self.entries.id(), outcome: self.put(write).await? })
    }

    fn parse_write(
        &self,
        mode: Option<WriteMode>,
        request: WriteRequest,
    ) -> StoreResult<StoreWrite> {
        let uri = EntryUri::parse(&request.uri)?;
        let content = match (mode, request.content, request.patch) {
            (Some(WriteMode::Patch), None, Some(steps)) => Ok(WriteContent::Patch(steps)),
            (Some(WriteMode::Patch), ..) => Err("`patch` takes steps in `patch` and no `content`"),
            (_, _, Some(_)) => Err("steps in `patch` go with the mode `patch` only"),
            (_, None, None) => Err("`content` is missing"),
            (Some(WriteMode::Create), Some(body), None) => Ok(WriteContent::Create(body)),
            (Some(WriteMode::Replace), Some(body), None) => Ok(WriteContent::Replace(body)),
            (None, Some(body), None) => Ok(self.default_content(body)),
        };
        let content = content.map_err(|reason| StoreError::invalid("content", reason))?;
        Ok(StoreWrite {
            if_version: request.if_version,
            title: request.title,
            tags: request.tags,
            risk_class: request.risk_class,
            file_anchors: request.file_anchors,
            idempotency_key: request.idempotency_key,
            commit: request.commit.as_deref().map(CommitRef::claimed).transpose()?,
            blob: request.blob.map(blob_source).transpose()?,
            ..StoreWrite::new(uri, content)
        })
    }

    /// Writes an entry. The store writes its audit line together with the change.
    pub async fn put(&self, write: StoreWrite) -> StoreResult<WriteOutcome> {
        let uri = write.uri.clone();
        let (action, bytes) = (write.content.action(), write.content.bytes());
        let entries = self.entries.clone();
        let work = async move {
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
        self.finish(action, Some(uri), work, note).await
    }

    /// Writes an old version again, as a new one.
    pub async fn restore(&self, request: RestoreRequest) -> StoreResult<WriteResponse> {
        let RestoreRequest { uri, version, if_version } = request;
        let work = move |entries: ScopedStore, uri| async move {
            entries.require(Role::Writer, "restore versions")?;
            entries.reach(&uri, Some(version)).await?;
            let restored = entries.store.restore(&uri, version, if_version, &entries.by).await;
            Ok(WriteResponse { capsule: entries.id(), outcome: entries.seen(restored).await? })
        };
        self.audited_at("restore", &uri, work, AuditNote::recorded).await
    }

    pub async fn delete(&self, request: DeleteRequest) -> StoreResult<DeleteResponse> {
        let DeleteRequest { uri, if_version } = request;
        let work = move |entries: ScopedStore, uri| async move {
            entries.require(Role::Owner, "delete entries")?;
            entries.reach(&uri, None).await?;
            let deleted = entries.store.delete(&uri, if_version, &entries.by).await;
            Ok(DeleteResponse { capsule: entries.id(), entry: entries.seen(deleted).await? })
        };
        self.audited_at("delete", &uri, work, AuditNote::recorded).await
    }

    /// What was deleted and can be restored.
    pub async fn deleted(&self, _: DeletedRequest) -> StoreResult<DeletedResponse> {
        let work = |entries: ScopedStore| async move {
            entries.require(Role::Writer, "list deleted entries")?;
            let deleted = entries.store.deleted(&entries.access.scope).await?;
            Ok(DeletedResponse { capsule: entries.id(), deleted })
        };
        self.audited("trash.list", work, AuditNote::plain).await
    }

    pub async fn purge(&self, request: PurgeRequest) -> StoreResult<PurgeResponse> {
        let work = |entries: ScopedStore, uri| async move {
            entries.require(Role::Owner, "purge entries")?;
            entries.reach(&uri, None).await?;
            let purged = entries.store.purge(&uri, &entries.by).await;
            entries.seen(purged).await?;
            Ok(PurgeResponse { capsule: entries.id(), uri, purged: true })
        };
        self.audited_at("purge", &request.uri, work, AuditNote::recorded).await
    }

    pub async fn collect_blobs(&self, _: CollectBlobsRequest) -> StoreResult<CollectBlobsResponse> {
        let work = |entries: ScopedStore| async move {
            entries.require(Role::Owner, "collect blobs")?;
            let collection = entries.store.collect_blobs().await?;
            Ok(CollectBlobsResponse { capsule: entries.id(), collection })
        };
        let note = |done: &CollectBlobsResponse| AuditNote::of_bytes(done.collection.bytes);
        self.audited("blob.collect", work, note).await
    }

    pub async fn add_scheme(&self, request: AddSchemeRequest) -> StoreResult<SchemeResponse> {
        let work = |entries: ScopedStore| async move {
            entries.require_whole_owner("add schemes")?;
            let scheme = request.scheme.name.clone();
            entries.store.add_scheme(request.scheme, &entries.by).await?;
            Ok(SchemeResponse { capsule: entries.id(), scheme, added: true, removed: false })
        };
        self.audited("scheme.add", work, AuditNote::recorded).await
    }

    pub async fn remove_scheme(&self, request: RemoveSchemeRequest) -> StoreResult<SchemeResponse> {
        let RemoveSchemeRequest { name: scheme } = request;
        let work = |entries: ScopedStore| async move {
            entries.require_whole_owner("remove schemes")?;
            entries.store.remove_scheme(&scheme, &entries.by).await?;
            Ok(SchemeResponse { capsule: entries.id(), scheme, added: false, removed: true })
        };
        self.audited("scheme.remove", work, AuditNote::recorded).await
    }

    pub async fn send_signal(&self, request: SendSignalRequest) -> StoreResult<SignalResponse> {
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
            let signal = entries.store.send_signal(signal, &entries.by).await?;
            Ok(SignalResponse { capsule: entries.id(), signal })
        };
        self.finish("signal.send", uri, work, AuditNote::recorded).await
    }

    /// Signals for this caller, from its last acknowledged one on.
    pub async fn poll_signals(
        &self,
        request: PollSignalsRequest,
    ) -> StoreResult<PollSignalsResponse> {
        let work = |entries: ScopedStore| async move {
            let scope = &entries.access.scope;
            let page = entries.store.poll_signals(&request, scope, &entries.by.author).await?;
            Ok(PollSignalsResponse { capsule: entries.id(), page })
        };
        self.audited("signal.poll", work, AuditNote::plain).await
    }

    pub async fn acknowledge(
        &self,
        request: AcknowledgeRequest,
    ) -> StoreResult<AcknowledgeResponse> {
        let AcknowledgeRequest { signal: acknowledged } = request;
        let work = |entries: ScopedStore| async move {
            entries.store.acknowledge(&acknowledged, &entries.by.author).await?;
            Ok(AcknowledgeResponse { capsule: entries.id(), acknowledged })
        };
        self.audited("signal.ack", work, AuditNote::plain).await
    }

    pub async fn memory_get(&self, request: MemoryGetRequest) -> StoreResult<MemoryGetResponse> {
        let MemoryGetRequest { key } = request;
        let work = |entries: ScopedStore| async move {
            check_key(&key)?;
            let mut memory = entries.store.memory(&entries.by.author.owner()).await?;
            match memory.remove(&key) {
                Some(value) => Ok(MemoryGetResponse { capsule: entries.id(), key, value }),
                None => Err(StoreError::NoSuchKey { key }),
            }
        };
        let note = |found: &MemoryGetResponse| AuditNote::of_bytes(found.value.len() as u64);
        self.audited("memory.get", work, note).await
    }

    pub async fn memory_set(&self, request: MemorySetRequest) -> StoreResult<MemorySetResponse> {
        let MemorySetRequest { key, value } = request;
        let work = |entries: ScopedStore| async move {
            entries.store.change_memory(&key, Some(value), &entries.by).await?;
            Ok(MemorySetResponse { capsule: entries.id(), key, stored: true })
        };
        self.audited("memory.set", work, AuditNote::recorded).await
    }

    pub async fn memory_delete(
        &self,
        request: MemoryDeleteRequest,
    ) -> StoreResult<MemoryDeleteResponse> {
        let MemoryDeleteRequest { key } = request;
        let work = |entries: ScopedStore| async move {
            entries.store.change_memory(&key, None, &entries.by).await?;
            Ok(MemoryDeleteResponse { capsule: entries.id(), key, deleted: true })
        };
        self.audited("memory.delete", work, AuditNote::recorded).await
    }

    pub async fn memory_list(&self, _: MemoryListRequest) -> StoreResult<MemoryItemsResponse> {
        let work = |entries: ScopedStore| async move {
            Ok(MemoryItemsResponse { capsule: entries.id(), items: entries.memory().await? })
        };
        self.audited("memory.list", work, AuditNote::plain).await
    }

    /// Items that hold all words of a question; those whose key does come first.
    pub async fn memory_search(
        &self,
        request: MemorySearchRequest,
    ) -> StoreResult<MemoryItemsResponse> {
        let words: Vec<String> = request.query.split_whitespace().map(str::to_lowercase).collect();
        let work = |entries: ScopedStore| async move {
            if words.is_empty() {
                return Err(StoreError::invalid("query", "it has no words"));
            }
            let holds = |text: &str| words.iter().all(|word| text.contains(word));
            let mut items = entries.memory().await?;
            items.retain(|MemoryItem { key, value }| {
                holds(&format!("{}\n{}", key.to_lowercase(), value.to_lowercase()))
            });
            items.sort_by_key(|item| !holds(&item.key.to_lowercase()));
            Ok(MemoryItemsResponse { capsule: entries.id(), items })
        };
        self.audited("memory.search", work, AuditNote::plain).await
    }
}

fn blob_source(blob: WriteBlob) -> StoreResult<BlobSource> {
    Ok(match blob {
        WriteBlob::Bytes { data, mime } => {
            let bytes = STANDARD.decode(data).map_err(|error| {
                StoreError::invalid("blob", format!("the data is no base64: {error}"))
            })?;
            BlobSource::Bytes { bytes, mime }
        }
        WriteBlob::Pointer { id, mime } => BlobSource::Pointer { id: BlobId::parse(&id)?, mime },
        WriteBlob::Remove => BlobSource::Remove,
    })
}
